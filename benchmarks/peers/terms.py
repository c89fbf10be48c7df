"""Count the terms that clasher hashes exactly, each term with its own number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from clasher import Analyzer
from clasher.kernels.hashing import ONE_WORD, PAIR
from clasher.text.hashing import Hasher
from clasher.text.tokens import Analysis, as_buffers

compiled: Any = njit(nogil=True, cache=True)
"""Compile a loop over arrays. It must not call clasher's kernels: it would miss their changes."""


class Counted(NamedTuple):
    """Counts of the terms of documents, each term once, in order of first appearance.

    Document ``d`` has ``counts[indptr[d]:indptr[d + 1]]`` of ``terms[indptr[d]:indptr[d + 1]]``.
    """

    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]

    def to_sparse(self, columns: int) -> Any:
        """Make a sparse array of SciPy from the first ``columns`` terms."""
        from scipy.sparse import csr_array

        known = self.terms < columns
        bounds = np.concatenate(([0], np.cumsum(known)))[self.indptr].astype(np.int32)
        return csr_array(
            (self.counts[known], self.terms[known], bounds), shape=(len(bounds) - 1, columns)
        )


class Terms:
    """A vocabulary that grows: each new term gets the next number.

    It splits words as clasher does, and identifies them by their 64-bit hash, which no two words of
    any known stream share. It identifies pairs of words by the numbers of both.

    Parameters
    ----------
    analyzer
        How to split text into words, without n-grams.

    Examples
    --------
    >>> terms = Terms(Analyzer())
    >>> terms.count(["wheat and corn", "corn, corn and oil"]).terms.tolist()
    [0, 1, 2, 2, 1, 3]
    >>> terms.count(["oil oil"]).counts.tolist(), len(terms)
    ([2.0], 4)
    """

    def __init__(self, analyzer: Analyzer) -> None:
        if analyzer.word_sizes != (1, 1) or analyzer.char_ngrams:
            raise ValueError("Terms counts no n-grams: pass an Analyzer without them")
        self._analysis = Analysis(analyzer, Hasher(2, analyzer=analyzer).initial)
        self._words: dict[int, int] = {}
        self._pairs: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._words) + len(self._pairs)

    def count(self, texts: Any) -> Counted:
        """Count the terms of documents; new ones become part of the vocabulary."""
        cleaned, _ = self._analysis.clean(as_buffers(texts))
        words = self._analysis.words(cleaned)
        sizes = np.diff(words.indptr)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        terms = self._numbered(self._words, words.keys)
        weights = np.full(len(terms), ONE_WORD)
        if limit := self._analysis.grams.pairs:  # shorter documents give pairs too
            first = np.flatnonzero((rows[:-1] == rows[1:]) & (sizes < limit)[rows[:-1]])
            pairs = self._numbered(self._pairs, terms[first] << 32 | terms[first + 1])
            rows = np.concatenate([rows, rows[first]])
            order = np.argsort(rows, kind="stable")  # the pairs of a document after its words
            rows, terms = rows[order], np.concatenate([terms, pairs])[order]
            weights = np.concatenate([weights, np.full(len(pairs), PAIR)])[order]
        slots = np.zeros(len(self), np.int64)
        indptr = np.zeros(len(sizes) + 1, np.int64)
        own, counts = np.empty(len(terms), np.int32), np.zeros(len(terms), np.float32)
        used = fold(rows, terms, weights, slots, indptr, own, counts)
        return Counted(indptr, own[:used], counts[:used])

    def _numbered(self, known: dict[int, int], keys: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the numbers of keys."""
        encoded = pa.array(keys).dictionary_encode()
        numbers = [known.setdefault(key, len(self)) for key in encoded.dictionary.to_pylist()]
        each: npt.NDArray[np.int64] = np.array(numbers, np.int64)[encoded.indices.to_numpy()]
        return each


@compiled
def fold(rows, terms, weights, slots, indptr, own, counts):  # type: ignore[no-untyped-def]
    """Add up the weights of each term of each row; return how many terms remain.

    ``slots[term]`` is one more than the term's place among all, if it has one in this row.
    """
    filled, at = 0, 0
    for row in range(indptr.shape[0] - 1):
        indptr[row] = filled
        while at < rows.shape[0] and rows[at] == row:
            term = terms[at]
            if slots[term] <= indptr[row]:
                own[filled] = term
                filled += 1
                slots[term] = filled
            counts[slots[term] - 1] += weights[at]
            at += 1
    indptr[-1] = filled
    return filled
