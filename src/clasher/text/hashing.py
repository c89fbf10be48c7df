"""Hash documents to signed buckets.

A word's hash starts from the seed, absorbs its lower-case code points one by one and is finalised
with SplitMix64. The upper half of the bits gives the bucket h(w), the lowest bit the sign ξ(w), so
both are independent. This can never change: models depend on it.

Documents may also be features, names with values: ``{"wheat": 2, "corn": 1}`` is the text *wheat
corn wheat*. Names are hashed as they are, in any order; a name that is not text is printed.

=================  ==========================================
value              meaning
=================  ==========================================
a number           the count, may be a fraction or negative
``True``           1
0, ``False``       the feature is absent
``None``, NaN      the feature is unknown: the same
text               the feature ``name=text`` counts 1
=================  ==========================================

The columns of a sparse matrix are buckets already.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError, TextError
from clasher.kernels.hashing import PAIR, Records, finalise, fold_values, place
from clasher.kernels.scan import (
    WHOLE,
    Words,
    emit,
    fold_documents,
    hash_documents,
    hash_texts,
    pairs_of,
)
from clasher.text.analyzer import Analyzer
from clasher.text.tokens import (
    Analysis,
    Buffers,
    Offsets,
    as_buffers,
    letters,
    most_grams,
    most_words,
    one_buffer,
)

_NO_WORDS = (
    np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64),
    np.frombuffer(b"", np.uint8),
)  # fmt: skip


class HashedWords(NamedTuple):
    """The distinct words of documents, in order of appearance, if the :class:`Hasher` keeps them.

    Document ``d`` has words ``indptr[d]`` to ``indptr[d + 1]``.

    Attributes
    ----------
    places
        The place of the word's bucket among those of its document.
    keys
        The word's hash before it is finalised, from which further hash functions start.
    starts, stops
        ``data[start:stop]`` is the first occurrence of the word.
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
        """Return no words, for this many documents."""
        return cls(np.zeros(documents + 1, np.int64), *_NO_WORDS)

    def part(self, start: int, stop: int) -> HashedWords:
        """Return the words of documents ``start`` to ``stop`` without copying them."""
        bounds = self.indptr[start : stop + 1]
        inside = slice(int(bounds[0]), int(bounds[-1]))
        return HashedWords(
            bounds - bounds[0], self.places[inside], self.keys[inside], self.starts[inside],
            self.stops[inside], self.data,
        )  # fmt: skip


class Hashed(NamedTuple):
    """Documents as signed counts of buckets (Algorithm 2).

    Document ``d`` has ``counts[indptr[d]:indptr[d + 1]]`` in ``buckets[indptr[d]:indptr[d + 1]]``,
    each bucket once, in the order of its first word, with a count of 0 where signs cancel.
    ``analysis`` is the fingerprint of the hasher: a model takes only documents hashed like its own.
    """

    indptr: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    words: HashedWords
    analysis: str

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.indptr) - 1

    def part(self, start: int, stop: int) -> Hashed:
        """Return documents ``start`` to ``stop`` without copying their buckets."""
        bounds = self.indptr[start : stop + 1]
        inside = slice(int(bounds[0]), int(bounds[-1]))
        return Hashed(
            bounds - bounds[0], self.buckets[inside], self.counts[inside],
            self.words.part(start, stop), self.analysis,
        )  # fmt: skip


def room_for_words(documents: int, words: int, buckets: int) -> Records:
    """Allocate records for this many words and buckets."""
    return Records(
        np.zeros(documents + 1, np.int64), np.empty(words, np.int32), np.empty(words, np.uint64),
        np.empty(words, np.int64), np.empty(words, np.int64), np.zeros(buckets, np.int64),
        np.empty(words, np.int64),
    )  # fmt: skip


NO_RECORDS = room_for_words(0, 0, 0)


LARGEST = float(np.finfo(np.float32).max)


def hash_features(hasher: Hasher, documents: Iterable[Mapping[Any, Any]]) -> Hashed:
    """Hash documents that are mappings of names to values.

    >>> from clasher.text.analyzer import Analyzer
    >>> hasher = Hasher(1024, analyzer=Analyzer(features=True))
    >>> hashed = hash_features(hasher, [{"wheat": 2, "corn": 0.5}, {"colour": "red"}])
    >>> hashed.indptr.tolist(), sorted(abs(hashed.counts).tolist())
    ([0, 2, 3], [0.5, 1.0, 2.0])
    """
    if not hasher.analyzer.features:
        raise TextError(
            "the model learns from text, not from features; make one for features with "
            "analyzer=Analyzer(features=True)"
        )
    names: list[bytes] = []
    values: list[float] = []
    ends = [0]
    for number, document in enumerate(documents):
        if not isinstance(document, Mapping):
            raise TextError(
                f"document {number} must be a mapping of features to values. "
                f"Got {type(document).__name__} instead."
            )
        for name, value in document.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            count = _count(value, name, number)
            if count != 0.0:
                names.append(str(name).encode("utf-8", "surrogatepass"))
                values.append(count)
        ends.append(len(names))
    indptr = np.array(ends, np.int64)
    words, order = _in_order(_words(names, indptr, hasher.initial))
    return hasher.fold(words, np.array(values, np.float32)[order])


def _count(value: Any, name: Any, document: int) -> float:
    """Return the count of a value, 0 for an unknown one."""
    if value is None:
        return 0.0
    if not isinstance(value, Real | np.bool_):
        raise TextError(
            f"document {document}: feature {name!r} must be a number, text or None. "
            f"Got {type(value).__name__} instead."
        )
    count = float(value)
    if math.isnan(count):
        return 0.0
    if abs(count) > LARGEST:
        raise TextError(
            f"document {document}: feature {name!r} must be a number of 32 bits at most, "
            f"and finite. Got {value!r} instead."
        )
    return count


def _words(names: list[bytes], indptr: Any, initial: np.uint64) -> Words:
    """Hash names as words, as they are."""
    sizes = np.array([len(name) for name in names], np.int64)
    stops = np.cumsum(sizes)
    data = np.frombuffer(b"".join(names), np.uint8)
    keys = np.empty(len(names), np.uint64)
    starts = stops - sizes
    as_they_are = letters(lower=False, fold_numbers=False)
    hash_texts(data, starts, stops, as_they_are, initial, keys)
    return Words(indptr, keys, starts, stops, data)


def _in_order(words: Words) -> tuple[Words, Any]:
    """Sort the words of each document by their hashes; return the order too."""
    documents = np.repeat(np.arange(len(words.indptr) - 1), np.diff(words.indptr))
    order = np.lexsort((words.keys, documents))
    ordered = words._replace(
        keys=words.keys[order], starts=words.starts[order], stops=words.stops[order]
    )
    return ordered, order


def take_rows(hasher: Hasher, indptr: Any, buckets: Any, counts: Any) -> Hashed:
    """Take the rows of a sparse matrix as documents, after checking all that kernels rely on.

    >>> take_rows(Hasher(4), [0, 2, 3], [0, 1, 3], [0.5, 2.0, -1.0]).counts.tolist()
    [0.5, 2.0, -1.0]
    """
    made = Hashed(
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(buckets, np.int32),
        np.ascontiguousarray(counts, np.float32),
        HashedWords.none(max(len(indptr) - 1, 0)),
        hasher.analysis,
    )
    indptr, buckets, counts = made.indptr, made.buckets, made.counts
    if (
        not len(indptr)
        or indptr[0] != 0
        or indptr[-1] != len(buckets)
        or (np.diff(indptr) < 0).any()
    ):
        raise _refusal(
            "indptr", "where each document begins, from 0 to the number of buckets", indptr
        )
    if len(counts) != len(buckets) or not np.isfinite(counts).all():
        raise _refusal("weights", "a finite number for each bucket", counts)
    if len(buckets) and not (buckets.min() >= 0 and buckets.max() < hasher.dimensions):
        raise _refusal("buckets", f"numbers from 0 to {hasher.dimensions - 1}", buckets)
    if not _are_distinct(indptr, buckets):
        raise _refusal("buckets", "each once in a document; add up what is there twice", buckets)
    return made


def _are_distinct(indptr: npt.NDArray[np.int64], buckets: npt.NDArray[np.int32]) -> bool:
    """Tell whether no document has a bucket twice; quick if buckets ascend."""
    rises = np.ones(len(buckets) + 1, np.bool_)
    rises[1:-1] = buckets[1:] > buckets[:-1]
    rises[indptr] = True
    if rises.all():
        return True
    documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return len(np.unique(documents << 32 | buckets)) == len(buckets)


def _refusal(parameter: str, must_be: str, got: object) -> SettingError:
    return SettingError.of(parameter, must_be, got, "take_rows")


WORD_BUFFER = 4096  # words scanned at a time


class Word(NamedTuple):
    """A word of a document: its text and place, bucket, sign (±½ for a pair) and hash."""

    text: str
    start: int
    stop: int
    bucket: int
    sign: float
    key: int


class Hasher:
    """Hash documents; it has no state of the model, so it may run ahead in other threads.

    >>> hasher = Hasher(dimensions=1024)
    >>> hasher.hash_many(["wheat and grain", "grain grain"]).counts.tolist()
    [1.0, 1.0, -1.0, -2.0]

    With ``keep_words`` it also returns the distinct words of each document:

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
        """Restore a document that this hasher made before, without its words."""
        indptr = np.array([0, len(buckets)], np.int64)
        return Hashed(indptr, buckets, counts, HashedWords.none(1), self.analysis)

    def hash_many(self, texts: Any) -> Hashed:
        """Hash a column of documents; hashed documents pass through."""
        if isinstance(texts, Hashed):
            return texts
        return self._hash(texts if isinstance(texts, Buffers) else as_buffers(texts))

    def batches(self, texts: Any, size: int) -> Iterator[Hashed]:
        """Hash documents in batches, each in a thread while the one before is in use."""
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
        """Return the words and n-grams of a document, with character offsets, buckets and signs."""
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
        """Fold words with the given counts into buckets."""
        made, records = self._allocate(np.diff(words.indptr))
        slots = self._scratch()[-1]
        fold_values(words, values, self.dimensions, slots, *made, self.keep_words, records)
        return self._trimmed(made, records, words.data)

    def _hash(self, texts: Buffers) -> Hashed:
        self._check_text()
        texts, _ = self._steps.clean(texts)
        hashes, starts, stops, slots = self._scratch()
        if self._by_scan:  # one pass over the bytes
            most = most_words(texts, self.analyzer.marks)
            made, records = self._allocate(most + np.minimum(most, self.analyzer.pairs))
            hash_documents(
                texts.data, texts.offsets, self._steps.table, self.analyzer.min_length,
                self.initial, self.analyzer.pairs, self.dimensions, slots, hashes, starts, stops,
                *made, self.keep_words, records,
            )  # fmt: skip
            return self._trimmed(made, records, texts.data)
        words = self._steps.words(texts)
        made, records = self._allocate(most_grams(words, self._steps.grams))
        fold_documents(
            words, self._steps.letters, self._steps.grams, self.dimensions, slots, hashes, starts,
            stops, *made, self.keep_words, records,
        )  # fmt: skip
        return self._trimmed(made, records, words.data)

    def _allocate(self, most: npt.NDArray[np.int64]) -> tuple[tuple[Any, Any, Any], Records]:
        """Allocate indptr, buckets and counts, and records, for documents of ``most`` words."""
        documents, room = len(most), int(np.minimum(most, self.dimensions).sum())
        records = NO_RECORDS
        if self.keep_words:
            records = room_for_words(documents, int(most.sum()), room)
        indptr = np.empty(documents + 1, np.int64)
        return (indptr, np.empty(room, np.int32), np.zeros(room, np.float32)), records

    def _trimmed(self, made: tuple[Any, Any, Any], records: Records, data: Any) -> Hashed:
        indptr, buckets, counts = made
        used, words = int(indptr[-1]), HashedWords.none(len(indptr) - 1)
        if self.keep_words:
            noted = int(records.indptr[-1])
            places, keys, starts, stops = (each[:noted].copy() for each in records[1:5])
            words = HashedWords(records.indptr, places, keys, starts, stops, data)
        return Hashed(indptr, buckets[:used], counts[:used], words, self.analysis)

    def _check_text(self) -> None:
        if self.analyzer.features:
            raise TextError(
                "the model learns from features, not from text; give it features hashed with its "
                "hash_features"
            )

    def _check(self, hashed: Hashed) -> None:
        """Refuse documents of another hasher: kernels would read beyond their arrays."""
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
        """Return the buffers of this thread: word hashes, starts, stops, slots of buckets."""
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
    """Return a digest of all that changes the hashes of documents."""
    made_by = json.dumps([dimensions, seed, analyzer.to_dict()], sort_keys=True)
    return hashlib.blake2b(made_by.encode(), digest_size=8).hexdigest()
