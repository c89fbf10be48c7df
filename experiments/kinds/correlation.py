"""Section 6.2: do inner products survive hashing? Figure 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import SEED, Corpus
from benchmarks.tables import markdown
from clasher import Analyzer
from clasher.hashing import Hasher
from clasher.kernels import kernel

PAIRS = 2_000_000
POWERS = range(4, 19)
CURVES = {
    "tf": "TF and φ(TF)",
    "mixed": "TF-IDF and φ(TF)",
    "tfidf": "TF-IDF and φ(TF-IDF)",
}

Floats = npt.NDArray[np.float64]


def correlations(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Pearson's ρ between inner products of documents before and after hashing."""
    words = Hasher(2, analyzer=Analyzer(), keep_words=True).hash_many(stream.texts).words
    raise NotImplementedError
