"""From words to signed buckets: the frozen hash.

A word's hash starts from the seed, absorbs its lower-case code points one by one and is finalised
with SplitMix64. The upper half of the bits gives the bucket h(w), the lowest one the sign ξ(w),
so both are independent. None of this can ever change: models depend on it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError
from clasher.kernels.documents import hash_documents, hash_documents_and_words
from clasher.kernels.hashing import Records, finalise, place
from clasher.kernels.text import scan
from clasher.text import Analyzer, Buffers, as_buffers, code_points, one_buffer

WORD_BUFFER = 4096  # words scanned at a time


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
        return cls(
            np.zeros(documents + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint64),
            np.empty(0, np.int64), np.empty(0, np.int64), np.frombuffer(b"", np.uint8),
        )  # fmt: skip

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


class Word(NamedTuple):
    """One word of a document, and where it goes."""

    text: str
    start: int
    stop: int
    bucket: int
    sign: int


class Hasher:
    """Hashes documents; needs no other state, so it may run ahead of the model in other threads.

    >>> hasher = Hasher(dimensions=1024)
    >>> hasher.hash_many(["wheat and grain", "grain grain"]).counts.tolist()
    [1.0, 1.0, -1.0, -2.0]

    With ``keep_words`` it also tells the distinct words of each document:

    >>> words = Hasher(dimensions=1024, keep_words=True).hash_one("grain, wheat, grain").words
    >>> [bytes(words.data[a:b]).decode() for a, b in zip(words.starts, words.stops)]
    ['grain', 'wheat']
    """

    def __init__(
        self,
        dimensions: int,
        seed: int = 0,
        analyzer: Analyzer | None = None,
        keep_words: bool = False,
    ) -> None:
        self.dimensions = dimensions
        self.analyzer = analyzer if analyzer is not None else Analyzer()
        self.keep_words = keep_words
        self.analysis = _fingerprint(dimensions, seed, self.analyzer)
        with np.errstate(over="ignore"):
            self.initial = np.uint64(finalise(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)))
        self._local = threading.local()

    def hash_one(self, text: str) -> Hashed:
        """Hash one document."""
        return self._hash(one_buffer(text))

    def hash_many(self, texts: Any) -> Hashed:
        """Hash a column of documents; what is hashed already passes through."""
        return texts if isinstance(texts, Hashed) else self._hash(as_buffers(texts))

    def batches(self, texts: Any, size: int) -> Iterator[Hashed]:
        """Hash documents in batches, each while the one before it is being used."""
        source = texts if isinstance(texts, Hashed | Buffers) else as_buffers(texts)
        bounds = [(at, min(at + size, source.documents)) for at in range(0, source.documents, size)]
        if isinstance(source, Hashed):
            self._check(source)
            yield from (source.part(*bound) for bound in bounds)
        elif len(bounds) == 1:
            yield self._hash(source)
        elif bounds:
            with ThreadPoolExecutor(1) as ahead:
                job = ahead.submit(self._hash, source.part(*bounds[0]))
                for bound in bounds[1:]:
                    hashed = job.result()
                    job = ahead.submit(self._hash, source.part(*bound))
                    yield hashed
                yield job.result()

    def words(self, text: str) -> list[Word]:
        """The words of a document with their character offsets, buckets and signs."""
        data, _ = one_buffer(text)
        hashes, starts, stops, _ = self._scratch()
        raw = data.tobytes()
        found: list[Word] = []
        position, characters, at = 0, 0, 0
        while position < len(data):
            count, position = scan(
                data, position, len(data), code_points(), self.analyzer.min_length,
                self.initial, hashes, starts, stops,
            )  # fmt: skip
            for i in range(count):
                characters += len(raw[at : starts[i]].decode("utf-8", "surrogatepass"))
                at = int(starts[i])
                word = raw[at : stops[i]].decode("utf-8", "surrogatepass")
                bucket, sign = place(hashes[i], self.dimensions)
                found.append(
                    Word(word.lower(), characters, characters + len(word), int(bucket), int(sign))
                )
        return found

    def _hash(self, texts: Buffers) -> Hashed:
        # at most two words in three bytes: a letter of one byte, then a symbol of two, and so on
        words = (2 * np.diff(texts.offsets) + 2) // 3
        room = int(np.minimum(words, self.dimensions).sum())
        indptr = np.empty(texts.documents + 1, np.int64)
        buckets = np.empty(room, np.int32)
        counts = np.zeros(room, np.float32)
        hashes, starts, stops, slots = self._scratch()
        given = (
            texts.data, texts.offsets, code_points(), self.analyzer.min_length, self.initial,
            self.dimensions, slots, hashes, starts, stops, indptr, buckets, counts,
        )  # fmt: skip
        if self.keep_words:
            records = _room_for_words(texts.documents, int(words.sum()), room)
            hash_documents_and_words(*given, records)
            kept = _trimmed(records, texts.data)
        else:
            hash_documents(*given)
            kept = HashedWords.none(texts.documents)
        used = int(indptr[-1])
        return Hashed(indptr, buckets[:used], counts[:used], kept, self.analysis)

    def _check(self, hashed: Hashed) -> None:
        """Refuse what would be misread; compiled kernels would even read beyond their arrays."""
        if hashed.analysis != self.analysis:
            raise SettingError(
                "the documents were hashed with other dimensions, another seed or another "
                "analyzer; hash them with hash_many of this model, or of one with these settings"
            )
        buckets = hashed.buckets
        if len(buckets) and not (buckets.min() >= 0 and buckets.max() < self.dimensions):
            raise SettingError(
                f"the documents were hashed to more than {self.dimensions} dimensions; hash them "
                f"with hash_many of a model with the same settings"
            )
        if self.keep_words and len(buckets) and not len(hashed.words.keys):
            raise SettingError(
                "the documents were hashed without their words, which this model needs; hash them "
                "with hash_many of this model, or of one with the same settings"
            )

    def _scratch(self) -> tuple[npt.NDArray[Any], ...]:
        """Buffers of this thread: word hashes, starts, stops, and the slot of each bucket."""
        if not hasattr(self._local, "buffers"):
            self._local.buffers = (
                np.empty(WORD_BUFFER, np.uint64),
                np.empty(WORD_BUFFER, np.int64),
                np.empty(WORD_BUFFER, np.int64),
                np.zeros(self.dimensions, np.int32),
            )
        buffers: tuple[npt.NDArray[Any], ...] = self._local.buffers
        return buffers


def _fingerprint(dimensions: int, seed: int, analyzer: Analyzer) -> str:
    """Tells documents apart that were hashed differently."""
    made_by = json.dumps([dimensions, seed, asdict(analyzer)], sort_keys=True)
    return hashlib.blake2b(made_by.encode(), digest_size=8).hexdigest()


def _room_for_words(documents: int, words: int, buckets: int) -> Records:
    return Records(
        np.empty(documents + 1, np.int64), np.empty(words, np.int32), np.empty(words, np.uint64),
        np.empty(words, np.int64), np.empty(words, np.int64), np.zeros(buckets, np.int64),
        np.empty(words, np.int64),
    )  # fmt: skip


def _trimmed(records: Records, data: npt.NDArray[np.uint8]) -> HashedWords:
    """What was noted, in no more memory than it takes."""
    indptr, places, keys, starts, stops, _, _ = records
    noted = slice(0, int(indptr[-1]))
    return HashedWords(
        indptr, places[noted].copy(), keys[noted].copy(), starts[noted].copy(),
        stops[noted].copy(), data,
    )  # fmt: skip
