"""Hash documents to signed buckets.

A word's hash starts from the seed, absorbs its lower-case code points one by one and is finalised
with SplitMix64. The upper half of the bits gives the bucket h(w), the lowest bit the sign ξ(w), so
both are independent. This can never change: models depend on it.

Documents may also be features, names with values: ``{"wheat": 2, "corn": 1}`` is the text *wheat
corn wheat*. Names, converted to text with ``str``, are hashed as they are, in any order.

=================  ==========================================
value              meaning
=================  ==========================================
a number           the count, may be a fraction or negative
``True``           1
0, ``False``       the feature is absent
``None``, NaN      the feature is unknown: treated as absent
text               the feature ``name=text`` counts 1
=================  ==========================================

The columns of a sparse matrix are buckets already.
"""

import hashlib
import json
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError, TextError, require
from clasher.kernels import scan
from clasher.kernels.hashing import PAIR, Records, finalise, fold_values, place
from clasher.text import tokens
from clasher.text.analyzer import Analyzer
from clasher.text.tokens import Analysis, Buffers, as_buffers, one_buffer


class HashedWords(NamedTuple):
    """The distinct words of documents, in order of appearance, if the ``Hasher`` keeps them.

    Document ``d`` has words ``indptr[d]`` to ``indptr[d + 1]``.
    """

    indptr: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]  # of the word's bucket among those of its document
    keys: npt.NDArray[np.uint64]  # the hash before it is finalised: other hash functions start here
    starts: npt.NDArray[np.int64]  # data[start:stop] is the first occurrence
    stops: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]  # UTF-8

    @classmethod
    def none(cls, documents: int) -> Self:
        """Return no words, for this many documents."""
        return cls(np.zeros(documents + 1, np.int64), *_NO_WORDS)

    def part(self, start: int, stop: int) -> Self:
        """Return the words of documents ``start`` to ``stop`` without copying them."""
        bounds = self.indptr[start : stop + 1]
        inside = slice(int(bounds[0]), int(bounds[-1]))
        own = self.places[inside], self.keys[inside], self.starts[inside], self.stops[inside]
        return type(self)(bounds - bounds[0], *own, self.data)


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

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays, and those of the words, in the order in which kernels take them."""
        return *self[:3], self.words.indptr, self.words.places, self.words.keys

    def part(self, start: int, stop: int) -> Self:
        """Return documents ``start`` to ``stop`` without copying their buckets."""
        if start == 0 and stop == self.documents:
            return self
        bounds = self.indptr[start : stop + 1]
        inside, words = slice(int(bounds[0]), int(bounds[-1])), self.words.part(start, stop)
        own = bounds - bounds[0], self.buckets[inside], self.counts[inside]
        return type(self)(*own, words, self.analysis)


def _records(documents: int, words: int, buckets: int) -> Records:
    kinds = (np.int32, np.uint64, np.int64, np.int64, np.int64)
    places, keys, starts, stops, nexts = (np.empty(words, kind) for kind in kinds)
    heads = np.zeros(buckets, np.int64)
    return Records(np.zeros(documents + 1, np.int64), places, keys, starts, stops, heads, nexts)


NO_RECORDS = _records(0, 0, 0)
_NO_WORDS = (*NO_RECORDS[1:5], np.frombuffer(b"", np.uint8))
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

    With ``keep_words`` it also returns the distinct words of each document.

    >>> Hasher(dimensions=1024).hash_many(["wheat and grain", "grain grain"]).counts.tolist()
    [1.0, 1.0, -1.0, -2.0]
    """

    def __init__(
        self, dimensions: int, seed: int = 0, analyzer: Analyzer | None = None,
        keep_words: bool = False,
    ) -> None:  # fmt: skip
        self.dimensions = dimensions
        self.analyzer = analyzer if analyzer is not None else Analyzer()
        self.keep_words = keep_words
        changes_hashes = json.dumps([dimensions, seed, self.analyzer.to_dict()], sort_keys=True)
        self.analysis = hashlib.blake2b(changes_hashes.encode(), digest_size=8).hexdigest()
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
        at_character = tokens.Offsets(text, words, cleaned, origin)
        hashes, starts, stops, _ = self._scratch()
        found: list[Word] = []

        def add(count: int, weight: float) -> None:
            for i in range(count):
                bucket, sign = place(hashes[i], self.dimensions)
                span = at_character(int(starts[i]), int(stops[i]))
                found.append(Word(*span, int(bucket), weight * int(sign), int(hashes[i])))

        last, word, at = len(words.keys), 0, scan.WHOLE
        while word < last:
            count, word, at = scan.emit(
                words, 0, last, word, at, self._steps.letters, self._steps.grams,
                hashes, starts, stops,
            )  # fmt: skip
            add(count, 1)
        if last < self._steps.grams.pairs:
            add(scan.pairs_of(words, 0, last, hashes, starts, stops), float(PAIR))
        return found

    def fold(self, words: scan.Words, values: npt.NDArray[np.float32]) -> Hashed:
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
            most = tokens.most_words(texts, self.analyzer.marks)
            made, records = self._allocate(most + np.minimum(most, self.analyzer.pairs))
            hash_documents = scan.hash_documents.variant({"PLACES": int(self.keep_words)})
            hash_documents(
                texts.data, texts.offsets, self._steps.table, self.analyzer.min_length,
                self.initial, self.analyzer.pairs, self.dimensions, slots, hashes, starts, stops,
                *made, records,
            )  # fmt: skip
            return self._trimmed(made, records, texts.data)
        words = self._steps.words(texts)
        made, records = self._allocate(tokens.most_grams(words, self._steps.grams))
        scan.fold_documents(
            words, self._steps.letters, self._steps.grams, self.dimensions, slots, hashes, starts,
            stops, *made, self.keep_words, records,
        )  # fmt: skip
        return self._trimmed(made, records, words.data)

    def _allocate(self, most: npt.NDArray[np.int64]) -> tuple[tuple[Any, Any, Any], Records]:
        """Allocate indptr, buckets and counts, and records, for documents of ``most`` words."""
        documents, room = len(most), int(np.minimum(most, self.dimensions).sum())
        words = int(most.sum())
        records = _records(documents, words, room) if self.keep_words else NO_RECORDS
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
                "the model learns from features, not from text; hash them with its hash_features"
            )

    def _check(self, hashed: Hashed) -> None:
        """Refuse documents of another hasher: kernels would read beyond their arrays."""
        buckets, how = hashed.buckets, ""
        if hashed.analysis != self.analysis:
            how = "with other dimensions, another seed or another analyzer"
        elif len(buckets) and not (buckets.min() >= 0 and buckets.max() < self.dimensions):
            how = f"to more than {self.dimensions} dimensions"
        elif self.keep_words and len(buckets) and not len(hashed.words.keys):
            how = "without their words, which this model needs"
        if how:
            raise SettingError(
                f"the documents were hashed {how}; hash them with hash_many of this model, or of "
                f"one with the same settings"
            )

    def _scratch(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the buffers of this thread: word hashes, starts, stops, slots of buckets."""
        if not hasattr(self._local, "buffers"):
            kinds = (np.uint64, np.int64, np.int64)
            words = (np.empty(WORD_BUFFER, kind) for kind in kinds)
            self._local.buffers = (*words, np.zeros(self.dimensions, np.int32))
        buffers: tuple[npt.NDArray[Any], ...] = self._local.buffers
        return buffers


LARGEST = float(np.finfo(np.float32).max)
_require = partial(require, owner="take_rows")


def hash_features(hasher: Hasher, documents: Iterable[Mapping[Any, Any]]) -> Hashed:
    """Hash documents that are mappings of names to values."""
    if not hasher.analyzer.features:
        raise TextError(
            "the model learns from text, not from features; make one for features with "
            "analyzer=Analyzer(features=True)"
        )
    names: list[str] = []
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
            if not isinstance(value, Real | np.bool_ | None):
                raise _bad_feature(number, name, "a number, text or None", type(value).__name__)
            count = math.nan if value is None else float(value)
            if abs(count) > LARGEST:
                must_be = "a number of 32 bits at most, and finite"
                raise _bad_feature(number, name, must_be, repr(value))
            if count and not math.isnan(count):
                names.append(str(name))
                values.append(count)
        ends.append(len(names))
    data, offsets = texts = as_buffers(names)
    keys = tokens.hash_each(texts, tokens.letters(lower=False, fold_numbers=False), hasher.initial)
    numbers = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.lexsort((keys, numbers))  # features may come in any order
    indptr = np.array(ends, np.int64)
    words = scan.Words(indptr, keys[order], offsets[:-1][order], offsets[1:][order], data)
    return hasher.fold(words, np.array(values, np.float32)[order])


def _bad_feature(document: int, name: Any, must_be: str, got: str) -> TextError:
    return TextError(f"document {document}: feature {name!r} must be {must_be}. Got {got} instead.")


def take_rows(hasher: Hasher, indptr: Any, buckets: Any, counts: Any) -> Hashed:
    """Take the rows of a sparse matrix as documents, after checking all that kernels rely on."""
    indptr = np.ascontiguousarray(indptr, np.int64)
    buckets = np.ascontiguousarray(buckets, np.int32)
    counts = np.ascontiguousarray(counts, np.float32)
    ends = (indptr[0], indptr[-1]) if len(indptr) else None
    ascends = ends == (0, len(buckets)) and bool((np.diff(indptr) >= 0).all())
    must_be = "where each document begins, from 0 to the number of buckets"
    _require(ascends, "indptr", must_be, indptr)
    finite = len(counts) == len(buckets) and bool(np.isfinite(counts).all())
    _require(finite, "weights", "a finite number for each bucket", counts)
    inside = buckets.min(initial=0) >= 0 and buckets.max(initial=0) < hasher.dimensions
    _require(inside, "buckets", f"numbers from 0 to {hasher.dimensions - 1}", buckets)
    rises = np.ones(len(buckets) + 1, np.bool_)
    rises[1:-1] = buckets[1:] > buckets[:-1]
    rises[indptr] = True
    if not rises.all():  # buckets that do not ascend may be there twice
        documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        once = len(np.unique(documents << 32 | buckets)) == len(buckets)
        _require(once, "buckets", "each once in a document; add up what is there twice", buckets)
    return Hashed(indptr, buckets, counts, HashedWords.none(len(indptr) - 1), hasher.analysis)
