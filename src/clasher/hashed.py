"""Documents that have been hashed: what the model learns from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.kernels.hashing import Records

_NO_WORDS = (
    np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64),
    np.frombuffer(b"", np.uint8),
)  # fmt: skip


class HashedWords(NamedTuple):
    """The distinct words of documents, in the order in which each document has them.

    The words of document ``d`` are ``indptr[d]`` to ``indptr[d + 1]``; there are none unless the
    :class:`Hasher` was told to keep them.

    Attributes
    ----------
    places
        Where the word's bucket is among the buckets of its document.
    keys
        The word's hash before it is finalised: what further hash functions start from.
    starts, stops
        ``data[start:stop]`` is the word as its document has it first.
    data
        The text, in UTF-8.
    """

    indptr: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]
    keys: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]

    @classmethod
    def none(cls, documents: int) -> HashedWords:
        """The words of so many documents when they are not kept."""
        return cls(np.zeros(documents + 1, np.int64), *_NO_WORDS)

    def part(self, start: int, stop: int) -> HashedWords:
        """The words of documents ``start`` to ``stop``, without a copy of them."""
        bounds = self.indptr[start : stop + 1]
        inside = slice(int(bounds[0]), int(bounds[-1]))
        return HashedWords(
            bounds - bounds[0], self.places[inside], self.keys[inside], self.starts[inside],
            self.stops[inside], self.data,
        )  # fmt: skip


class Hashed(NamedTuple):
    """Documents as signed counts of buckets (Algorithm 2).

    Document ``d`` has ``counts[indptr[d]:indptr[d + 1]]`` in ``buckets[indptr[d]:indptr[d + 1]]``,
    each bucket once, in the order of its first word. Buckets whose signs cancel are kept.
    ``words`` are the words behind them where they are kept, and ``analysis`` is the fingerprint of
    what made them: a model takes those that it could have made itself.
    """

    indptr: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    words: HashedWords
    analysis: str

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.indptr) - 1

    def part(self, start: int, stop: int) -> Hashed:
        """Documents ``start`` to ``stop``, without a copy of their buckets."""
        bounds = self.indptr[start : stop + 1]
        inside = slice(int(bounds[0]), int(bounds[-1]))
        return Hashed(
            bounds - bounds[0], self.buckets[inside], self.counts[inside],
            self.words.part(start, stop), self.analysis,
        )  # fmt: skip


def room_for_words(documents: int, words: int, buckets: int) -> Records:
    """Room to note so many words, which share so many buckets."""
    return Records(
        np.zeros(documents + 1, np.int64), np.empty(words, np.int32), np.empty(words, np.uint64),
        np.empty(words, np.int64), np.empty(words, np.int64), np.zeros(buckets, np.int64),
        np.empty(words, np.int64),
    )  # fmt: skip


NO_RECORDS = room_for_words(0, 0, 0)


def trimmed(records: Records, data: npt.NDArray[np.uint8]) -> HashedWords:
    """What was noted, in no more memory than it takes."""
    indptr, places, keys, starts, stops, _, _ = records
    noted = slice(0, int(indptr[-1]))
    return HashedWords(
        indptr, places[noted].copy(), keys[noted].copy(), starts[noted].copy(),
        stops[noted].copy(), data,
    )  # fmt: skip
