"""Documents that are no text: features, names with values, or rows of a sparse matrix.

A name is hashed as a word is, but taken as it stands, and its value is what the word counts: the
features ``{"wheat": 2, "corn": 1}`` are the text *wheat corn wheat*.

=================  =================================================================================
value              what it means
=================  =================================================================================
a number           the name counts so much; a number may be a fraction, or negative
``True``           1
0, ``False``       nothing: as if the name were not there
``None``, NaN      the same: not known
text               the feature ``name=text`` counts 1
=================  =================================================================================

The order of names does not matter, and a name that is not text is taken for the text it prints.
The columns of a matrix are buckets already: its rows are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError, TextError
from clasher.hashed import Hashed, HashedWords
from clasher.hashing import Hasher
from clasher.kernels.grams import Words, hash_texts
from clasher.text import letters

LARGEST = float(np.finfo(np.float32).max)


def hash_features(hasher: Hasher, documents: Iterable[Mapping[Any, Any]]) -> Hashed:
    """Hash documents that are mappings of names to values.

    >>> from clasher.analyzer import Analyzer
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
    """What a value counts; 0 where there is none."""
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
    """The names as words, each taken as it is."""
    sizes = np.array([len(name) for name in names], np.int64)
    stops = np.cumsum(sizes)
    data = np.frombuffer(b"".join(names), np.uint8)
    keys = np.empty(len(names), np.uint64)
    starts = stops - sizes
    as_they_are = letters(lower=False, fold_numbers=False)
    hash_texts(data, starts, stops, as_they_are, initial, keys)
    return Words(indptr, keys, starts, stops, data)


def _in_order(words: Words) -> tuple[Words, Any]:
    """The words of each document by their hashes, and where each of them was."""
    documents = np.repeat(np.arange(len(words.indptr) - 1), np.diff(words.indptr))
    order = np.lexsort((words.keys, documents))
    ordered = words._replace(
        keys=words.keys[order], starts=words.starts[order], stops=words.stops[order]
    )
    return ordered, order


def take_rows(hasher: Hasher, indptr: Any, buckets: Any, counts: Any) -> Hashed:
    """Documents that are rows of a sparse matrix, all that kernels rely on looked at.

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
    """Whether no document has a bucket twice: seen at a glance where they ascend."""
    rises = np.ones(len(buckets) + 1, np.bool_)
    rises[1:-1] = buckets[1:] > buckets[:-1]
    rises[indptr] = True
    if rises.all():
        return True
    documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return len(np.unique(documents << 32 | buckets)) == len(buckets)


def _refusal(parameter: str, wanted: str, got: object) -> SettingError:
    return SettingError.of(parameter, wanted, got, "take_rows")
