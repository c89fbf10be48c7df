"""Online logistic regression over dense features, one model per label."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]

EPSILON = np.float32(1e-3)
"""Added to the squared gradients under the root. On the embeddings of reuters21578 1e-4 and 1e-6
are as good; 1e-2 and 1e-1 cost macro F1."""


class OnlineLogistic:
    """One-versus-rest logistic regression by AdaGrad; a label exists from its first document.

    Parameters
    ----------
    features
        The length of a document's vector.
    rate
        AdaGrad's learning rate.
    bias
        The initial bias of a new label, low because most documents do not have the label.

    >>> model = OnlineLogistic(2, rate=0.3, bias=-2.0)
    >>> for _ in range(20):
    ...     model.learn(np.array([1, 0], np.float32), ["oil"])
    ...     model.learn(np.array([0, 1], np.float32), ["gas", "trade"])
    >>> model.predict(np.array([0, 1], np.float32))
    ['gas', 'trade']
    """

    def __init__(self, features: int, rate: float, bias: float) -> None:
        self.rate, self.bias = rate, bias
        self.numbers: dict[str, int] = {}
        self._weights: FloatArray = np.zeros((0, features + 1), np.float32)  # the bias is the last
        self._squares: FloatArray = np.zeros_like(self._weights)

    def predict(self, vector: FloatArray) -> list[str]:
        """Return the labels with a probability above one half."""
        scores = self._weights @ _with_one(vector)
        return [label for label, score in zip(self.numbers, scores, strict=True) if score > 0]

    def learn(self, vector: FloatArray, labels: Iterable[str]) -> None:
        """Take one step towards these labels and away from all others."""
        rows = [self._number(label) for label in labels]
        x = _with_one(vector)
        errors = (1 + np.tanh(self._weights @ x / 2)) / 2  # the logistic function, without overflow
        errors[rows] -= 1
        gradient = np.outer(errors, x)
        self._squares += gradient**2
        self._weights -= self.rate * gradient / np.sqrt(self._squares + EPSILON)

    def _number(self, label: str) -> int:
        if label not in self.numbers:
            self.numbers[label] = len(self.numbers)
            row = np.zeros((1, self._weights.shape[1]), np.float32)
            self._squares = np.concatenate((self._squares, row))
            row[0, -1] = self.bias
            self._weights = np.concatenate((self._weights, row))
        return self.numbers[label]


def _with_one(vector: FloatArray) -> FloatArray:
    return np.append(vector, np.float32(1))
