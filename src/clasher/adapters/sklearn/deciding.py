"""What a model says of documents, in the forms that scikit-learn knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from clasher.adapters.sklearn.targets import MATRIX, SINGLE, Values, name_of
from clasher.labels import LabelSets

LEAST = float(np.finfo(np.float32).tiny)  # a probability of 0 has no logarithm
MOST = 1.0 - float(np.finfo(np.float32).epsneg) / 2.0
BARELY = float(np.finfo(np.float64).tiny)  # above 0


class Decided:
    """The labels that a model gives to documents, and their probabilities.

    Parameters
    ----------
    kind
        The form that y had.
    classes
        What scikit-learn calls the labels, in the order of its columns.
    labels, probabilities
        What ``Clasher.decide_many`` says.
    names
        The labels of the model, in the order of the columns of ``probabilities``.
    threshold
        The probability above which a label is given.
    is_sparse
        Whether a matrix of labels is a sparse one.
    """

    def __init__(
        self,
        kind: str,
        classes: Values,
        labels: LabelSets,
        probabilities: npt.NDArray[np.float32],
        names: list[str],
        threshold: float,
        is_sparse: bool,
    ) -> None:
        self.kind, self.classes, self.labels = kind, classes, labels
        self.threshold, self.is_sparse = threshold, is_sparse
        self._places = {name_of(value): place for place, value in enumerate(classes)}
        self._probabilities = np.zeros((len(labels), len(classes)))
        self._probabilities[:, [self._places[name] for name in names]] = probabilities

    def predicted(self) -> Any:
        """The labels, in the form that y had."""
        if self.kind == SINGLE:
            return self.classes[np.argmax(self._probabilities, axis=1)]
        if self.kind == MATRIX:
            rows = self._chosen().astype(np.int64)
            return csr_matrix(rows) if self.is_sparse else rows
        sets = np.empty(len(self.labels), object)
        for document, own in enumerate(self.labels):
            sets[document] = {self.classes[self._places[name]].item() for name in own}
        return sets

    def probabilities(self) -> npt.NDArray[np.float64]:
        """A probability for each label."""
        if self.kind != SINGLE:
            return self._probabilities
        probabilities = np.maximum(self._probabilities, LEAST)
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def decisions(self) -> npt.NDArray[np.float64]:
        """Log-odds of each label, of one of two labels against the other."""
        if self.kind == SINGLE:
            if len(self.classes) != 2:
                return _log_odds(self._probabilities)
            one, other = np.log(np.maximum(self._probabilities, LEAST)).T
            return np.asarray(other - one)
        odds = _log_odds(self._probabilities) - _log_odds(np.array(self.threshold))
        # the best label may be given though it is below the threshold, and no words are no reason
        chosen = self._chosen()
        return np.where(chosen, np.maximum(odds, BARELY), np.minimum(odds, 0.0))

    def _chosen(self) -> npt.NDArray[np.bool_]:
        chosen = np.zeros(self._probabilities.shape, np.bool_)
        places = np.array([self._places.get(name, -1) for name in self.labels.names], np.int64)
        chosen[self.labels.documents, places[self.labels.ids]] = True
        return chosen


def _log_odds(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    within = np.clip(probabilities, LEAST, MOST)
    return np.asarray(np.log(within) - np.log1p(-within))
