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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.analysis import Analysis, most_grams, most_words
from clasher.analyzer import Analyzer
from clasher.errors import SettingError, TextError
from clasher.hashed import NO_RECORDS, HashedWords, room_for_words, trimmed
from clasher.hashed import Hashed as Hashed
from clasher.kernels.documents import hash_documents, hash_documents_and_words
from clasher.kernels.features import fold_values
from clasher.kernels.grams import WHOLE, Words, emit, fold_documents, pairs_of
from clasher.kernels.hashing import PAIR, Records, finalise, place
from clasher.spans import Offsets
from clasher.text import Buffers, as_buffers, one_buffer

WORD_BUFFER = 4096  # words scanned at a time


class Word(NamedTuple):
    """One word of a document, and where it goes; the sign of a pair of words is ±½.

    ``key`` is its hash: words of one key are one word to a model, however they are written.
    """

    text: str
    start: int
    stop: int
    bucket: int
    sign: float
    key: int


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
        self._steps = Analysis(self.analyzer, self.initial)
        self._by_scan = self.analyzer.by_scan
        self._local = threading.local()

    def hash_one(self, text: str) -> Hashed:
        """Hash one document."""
        return self._hash(one_buffer(text))

    def one(self, buckets: npt.NDArray[np.int32], counts: npt.NDArray[np.float32]) -> Hashed:
        """A document that this hasher made before, from what was kept of it: not its words."""
        indptr = np.array([0, len(buckets)], np.int64)
        return Hashed(indptr, buckets, counts, HashedWords.none(1), self.analysis)

    def hash_many(self, texts: Any) -> Hashed:
        """Hash a column of documents; what is hashed already passes through."""
        if isinstance(texts, Hashed):
            return texts
        return self._hash(texts if isinstance(texts, Buffers) else as_buffers(texts))

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
        """All that a document is taken for, with character offsets, buckets and signs.

        Words as they are written, n-grams as the stretch of text that they cover.
        """
        self._check_text()
        cleaned, origin = self._steps.clean(one_buffer(text), tracing=True)
        words = self._steps.words(cleaned)
        at_character = Offsets(text, words, cleaned, origin)
        hashes, starts, stops, _ = self._scratch()
        first, last = 0, len(words.keys)
        found: list[Word] = []
        word, at = first, WHOLE
        while word < last:
            count, word, at = emit(
                words, first, last, word, at, self._steps.letters, self._steps.grams,
                hashes, starts, stops,
            )  # fmt: skip
            for i in range(count):
                bucket, sign = place(hashes[i], self.dimensions)
                span = at_character(int(starts[i]), int(stops[i]))
                found.append(Word(*span, int(bucket), int(sign), int(hashes[i])))
        if last < self._steps.grams.pairs:
            for i in range(pairs_of(words, first, last, hashes, starts, stops)):
                bucket, sign = place(hashes[i], self.dimensions)
                span = at_character(int(starts[i]), int(stops[i]))
                weight = float(PAIR) * int(sign)
                found.append(Word(*span, int(bucket), weight, int(hashes[i])))
        return found

    def fold(self, words: Words, values: npt.NDArray[np.float32]) -> Hashed:
        """Fold words into buckets that count what they are told to, not one each."""
        documents, most = len(words.indptr) - 1, len(words.keys)
        indptr, buckets, counts = _room(documents, most)
        records = room_for_words(documents, most, most) if self.keep_words else NO_RECORDS
        fold_values(
            words, values, self.dimensions, self._scratch()[-1], indptr, buckets, counts,
            self.keep_words, records,
        )  # fmt: skip
        return self._hashed(indptr, buckets, counts, records, words.data)

    def _hash(self, texts: Buffers) -> Hashed:
        self._check_text()
        cleaned, _ = self._steps.clean(texts)
        if self._by_scan:
            return self._hash_by_scan(cleaned)
        words = self._steps.words(cleaned)
        most = most_grams(words, self._steps.grams)
        room = int(np.minimum(most, self.dimensions).sum())
        indptr, buckets, counts = _room(cleaned.documents, room)
        records = NO_RECORDS
        if self.keep_words:
            records = room_for_words(cleaned.documents, int(most.sum()), room)
        hashes, starts, stops, slots = self._scratch()
        fold_documents(
            words, self._steps.letters, self._steps.grams, self.dimensions, slots,
            hashes, starts, stops, indptr, buckets, counts, self.keep_words, records,
        )  # fmt: skip
        return self._hashed(indptr, buckets, counts, records, words.data)

    def _hash_by_scan(self, texts: Buffers) -> Hashed:
        """The same in one pass over the bytes, where all there is to do is to cut them."""
        most = most_words(texts, self.analyzer.marks)
        most += np.minimum(most, self.analyzer.pairs)
        room = int(np.minimum(most, self.dimensions).sum())
        indptr, buckets, counts = _room(texts.documents, room)
        hashes, starts, stops, slots = self._scratch()
        given = (
            texts.data, texts.offsets, self._steps.table, self.analyzer.min_length, self.initial,
            self.analyzer.pairs, self.dimensions, slots, hashes, starts, stops, indptr, buckets,
            counts,
        )  # fmt: skip
        if not self.keep_words:
            hash_documents(*given)
            return self._hashed(indptr, buckets, counts, NO_RECORDS, texts.data)
        records = room_for_words(texts.documents, int(most.sum()), room)
        hash_documents_and_words(*given, records)
        return self._hashed(indptr, buckets, counts, records, texts.data)

    def _hashed(
        self, indptr: Any, buckets: Any, counts: Any, records: Records, data: Any
    ) -> Hashed:
        used = int(indptr[-1])
        documents = len(indptr) - 1
        kept = trimmed(records, data) if self.keep_words else HashedWords.none(documents)
        return Hashed(indptr, buckets[:used], counts[:used], kept, self.analysis)

    def _check_text(self) -> None:
        if self.analyzer.features:
            raise TextError(
                "the model learns from features, not from text; give it what its hash_features "
                "makes of names and values"
            )

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
    made_by = json.dumps([dimensions, seed, analyzer.to_dict()], sort_keys=True)
    return hashlib.blake2b(made_by.encode(), digest_size=8).hexdigest()


def _room(documents: int, buckets: int) -> tuple[Any, Any, Any]:
    """Room for so many buckets of documents: where each begins, which they are, their counts."""
    indptr = np.empty(documents + 1, np.int64)
    return indptr, np.empty(buckets, np.int32), np.zeros(buckets, np.float32)
