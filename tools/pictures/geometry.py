"""Inner products of documents before hashing and after."""

from __future__ import annotations

import numpy as np

from clasher.datasets.synthetic import Stream
from clasher.text.hashing import Hasher
from clasher.theory.distortion import Sample, Vectors
from tools.pictures.axes import Axes
from tools.pictures.svg import FAINT, Picture

SIZES = (5, 8, 11)  # powers of two
PAIRS = 300


def draw() -> Picture:
    """Draw one panel per number of dimensions; on the diagonal, hashing changes nothing."""
    sample = Sample((text for text, _ in Stream(documents=200, labels=8, seed=3)), idf=False)
    pairs = sample.pairs[:PAIRS]
    exact = sample.exact.products(pairs) / _lengths(sample.exact, pairs)
    picture = Picture("Cosines of pairs of documents, before and after hashing", 760, 300)
    picture.text(
        20, 30, f"cosines of {PAIRS} pairs of documents: exact (→) and hashed (↑)", bold=True
    )
    for panel, size in enumerate(SIZES):
        hashed = Hasher(2**size).hash_many(sample.texts)
        signed = Vectors(
            hashed.indptr, hashed.buckets.astype(np.int64), hashed.counts.astype(np.float64)
        )
        found = signed.products(pairs) / _lengths(signed, pairs)
        axes = Axes(picture, 50 + panel * 240, 70, 190, 190, 1.0, 1.0, low=-0.5)
        axes.frame((-0.5, 0, 0.5, 1), (-0.5, 0, 0.5, 1))
        picture.line(*axes.place(-0.5, -0.5), *axes.place(1, 1), colour=FAINT, dashes="4 3")
        picture.dots(axes.place(x, y) for x, y in zip(exact, found, strict=True))
        picture.text(145 + panel * 240, 60, f"{2**size:,} dimensions", at="middle", size=13)
    return picture


def _lengths(vectors: Vectors, pairs: np.ndarray) -> np.ndarray:
    squared = np.maximum(vectors.squared_lengths(), np.finfo(np.float64).tiny)
    return np.sqrt(squared[pairs].prod(axis=1))
