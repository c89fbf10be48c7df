"""Columns of labels, in all the forms they come in, as arrays.

Python lists of sets, lists, mappings and None; Arrow, pandas and polars columns of lists or
mappings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clasher.errors import LabelError
from clasher.label_names import check_name, contradiction
from clasher.text import arrow_chunks, plain_text

UNLABELLED, COMPLETE, PARTIAL = 0, 1, 2
"""How much is known of a document's labels."""

_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


class LabelColumns(NamedTuple):
    """The parts of ``clasher.labels.LabelSets``, where they are explained."""

    names: list[str]
    ids: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]
    yes: npt.NDArray[np.bool_]
    known: npt.NDArray[np.uint8]


def read_labels(labels: Any) -> LabelColumns:
    """Read the labels of many documents.

    >>> read_labels([{"oil"}, None, {"gold": False}]).names
    ['oil', 'gold']
    """
    chunks = arrow_chunks(labels)
    if chunks is not None and not any(map(_holds_mappings, chunks)):
        return _read_arrow(chunks)
    if isinstance(labels, str | bytes | Mapping) or not isinstance(labels, Iterable):
        raise LabelError(
            f"labels of many documents must be a sequence with one entry per document. "
            f"Got {type(labels).__name__} instead."
        )
    return _read_objects(labels if chunks is None else _mappings(labels, chunks))


def _holds_mappings(chunk: pa.Array) -> bool:
    return bool(pa.types.is_struct(chunk.type) or pa.types.is_map(chunk.type))


def _mappings(labels: Any, chunks: list[pa.Array]) -> Iterator[dict[str, Any] | None]:
    """The mappings of a column that speaks Arrow; a null in them is an unknown label."""
    entries = labels.to_pylist() if isinstance(labels, pa.Array | pa.ChunkedArray) else labels
    for entry, is_null in zip(entries, _nulls(chunks), strict=True):
        yield None if is_null else {k: v for k, v in dict(entry).items() if v is not None}


def _read_arrow(chunks: list[pa.Array]) -> LabelColumns:
    lists = pa.list_(pa.string())
    chunks = [chunk.cast(lists) if pa.types.is_null(chunk.type) else chunk for chunk in chunks]
    texts = [_texts(chunk) for chunk in chunks]
    values = pa.chunked_array(texts, pa.large_string()).combine_chunks()
    lengths = [pc.fill_null(pc.list_value_length(chunk), 0) for chunk in chunks]
    indptr = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
    if values.null_count:
        document = _owner(indptr, int(np.flatnonzero(_nulls([values]))[0]))
        raise LabelError(f"document {document} has a null among its labels; drop it from the list")
    encoded = values.dictionary_encode()
    names, ids = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    known = np.where(_nulls(chunks), UNLABELLED, COMPLETE).astype(np.uint8)
    return _canonical(names, ids, indptr, None, known)


def _texts(chunk: pa.Array) -> pa.Array:
    """The labels of all documents of a list column, one after the other."""
    is_list = any(test(chunk.type) for test in _LISTS)
    texts = plain_text(chunk.flatten()) if is_list else None
    if texts is None:
        raise LabelError(
            f"a column of labels must hold lists of text. Got {chunk.type} instead; split text "
            f"into lists first (pyarrow.compute.split_pattern), or name a label separator"
        )
    return texts.cast(pa.large_string())


def _nulls(chunks: list[pa.Array]) -> npt.NDArray[np.bool_]:
    nulls = [chunk.is_null().to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate([np.zeros(0, np.bool_), *nulls])


def _owner(indptr: npt.NDArray[np.int64], entry: int) -> int:
    """The document that an entry belongs to."""
    return int(np.searchsorted(indptr, entry, side="right")) - 1


def _read_objects(labels: Iterable[Any]) -> LabelColumns:
    numbers: dict[str, int] = {}
    ids: list[int] = []
    yes: list[bool] = []
    indptr = [0]
    known: list[int] = []
    for document, entry in enumerate(labels):
        if isinstance(entry, Mapping):
            known.append(PARTIAL)
            for name, state in entry.items():
                if state is not True and state is not False:
                    raise LabelError(
                        f"document {document}: label {name!r} must be True or False, "
                        f"leave unknown labels out. Got {state!r} instead."
                    )
                yes.append(state)
            names: Iterable[Any] = entry
        elif entry is None:
            known.append(UNLABELLED)
            names = ()
        elif isinstance(entry, str | bytes) or not isinstance(entry, Iterable):
            raise LabelError(
                f"document {document}: labels must be a set or list of text, a mapping label → "
                f"bool, or None. Got {entry!r} instead"
                + (f"; write {{{entry!r}}}." if isinstance(entry, str) else ".")
            )
        else:
            known.append(COMPLETE)
            names = entry
        for name in names:
            if not isinstance(name, str):
                check_name(name, f"document {document}: ")
            ids.append(numbers.setdefault(name, len(numbers)))
        yes.extend([True] * (len(ids) - len(yes)))
        indptr.append(len(ids))
    return _canonical(
        list(numbers),
        np.array(ids, np.int32),
        np.array(indptr, np.int64),
        np.array(yes, np.bool_),
        np.array(known, np.uint8),
    )


def _canonical(
    names: list[str],
    ids: npt.NDArray[Any],
    indptr: npt.NDArray[np.int64],
    yes: npt.NDArray[np.bool_] | None,
    known: npt.NDArray[np.uint8],
) -> LabelColumns:
    """Renumber by first document, then text: independent of set order and of storage.

    Names are normalised here, once each.
    """
    used, first = np.unique(ids, return_index=True)
    first_document = np.searchsorted(indptr, first, side="right") - 1
    order = sorted(range(len(used)), key=lambda i: (first_document[i], names[used[i]]))
    given = [names[used[i]] for i in order]
    normal = [
        check_name(name, f"document {first_document[i]}: ")
        for i, name in zip(order, given, strict=True)
    ]
    if normal != given:
        return _merged(normal, used[order], ids, indptr, yes, known)
    renumber = np.zeros(len(names), np.int32)
    renumber[used[order]] = np.arange(len(used), dtype=np.int32)
    yes = np.ones(len(ids), np.bool_) if yes is None else yes
    return LabelColumns(given, renumber[ids], indptr, yes, known)


def _merged(
    normal: list[str],
    used: npt.NDArray[Any],
    ids: npt.NDArray[Any],
    indptr: npt.NDArray[np.int64],
    yes: npt.NDArray[np.bool_] | None,
    known: npt.NDArray[np.uint8],
) -> LabelColumns:
    """Give the ids ``used`` their ``normal`` names, which some of them may share."""
    numbers: dict[str, int] = {}
    renumber = np.zeros(int(used.max()) + 1, np.int32)
    renumber[used] = [numbers.setdefault(name, len(numbers)) for name in normal]
    ids, names = renumber[ids], list(numbers)
    if yes is not None:
        documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        keys = documents * len(names) + ids
        both = np.intersect1d(keys[yes], keys[~yes])
        if both.size:
            document, number = divmod(int(both[0]), len(names))
            raise contradiction(names[number], f"document {document}: ")
    return _canonical(names, ids, indptr, yes, known)
