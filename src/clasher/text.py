"""From text to words: what a word is, and how columns of text become byte buffers.

A word is a run of Unicode letters, marks (variation selectors excepted) and numbers in lower case,
at least ``min_length`` of them. Scripts written without spaces (Chinese, Japanese, Thai, …) give
overlapping pairs of characters instead, and a symbol (☂, 😀) is a word of its own. Everything else
separates words: NUL, lone surrogates and bytes that are not UTF-8 included.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clasher import unicode_ranges
from clasher.errors import TextError
from clasher.kernels.text import KIND, LETTER, SYMBOL, UNSPACED, WORD

MARKS = "!?՜՞؟‼‽⁇⁈⁉！？"
"""The marks of questions and exclamations."""


@functools.cache
def code_points(fold_numbers: bool = False, marks: bool = False) -> npt.NDArray[np.uint32]:
    """Kind and lower case of every code point, as the kernels read them.

    Every digit may be a 0, and ``MARKS`` may be words.
    """
    table = np.zeros(unicode_ranges.WORDS[-1][1], np.uint32)
    for kind, ranges in (
        (WORD, unicode_ranges.WORDS),
        (UNSPACED, unicode_ranges.UNSPACED),
        (SYMBOL, unicode_ranges.SYMBOLS),
    ):
        for start, stop in ranges:
            table[start:stop] = np.arange(start, stop) | (kind << KIND)
    for start, stop, step, shift in unicode_ranges.LOWER:
        table[start:stop:step] += np.int64(shift).astype(np.uint32)
    if fold_numbers:
        for start, stop in unicode_ranges.DIGITS:
            table[start:stop] = (table[start:stop] & ~LETTER) | ord("0")
    if marks:
        for mark in map(ord, MARKS):
            table[mark] = mark | (SYMBOL << KIND)
    table.setflags(write=False)
    return table


@functools.cache
def letters(lower: bool, fold_numbers: bool) -> npt.NDArray[np.uint32]:
    """What every code point is to a hash, separators included: in lower case or as it is."""
    table = code_points(fold_numbers)
    codes = np.arange(len(table), dtype=np.uint32)
    changed = table >> KIND > 0 if lower else table & LETTER == ord("0")
    codes[changed] = table[changed] & LETTER
    codes.setflags(write=False)
    return codes


class Buffers(NamedTuple):
    """Documents as UTF-8: document ``d`` is ``data[offsets[d]:offsets[d + 1]]``."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.offsets) - 1

    def part(self, start: int, stop: int) -> Buffers:
        """Documents ``start`` to ``stop``, without a copy of their text."""
        return Buffers(self.data, self.offsets[start : stop + 1])


def as_buffers(texts: Any) -> Buffers:
    """Read a column of text: a list of str, or anything that speaks Arrow.

    >>> as_buffers(["Oil", "prices"]).offsets.tolist()
    [0, 3, 9]
    """
    chunks = arrow_chunks(texts)
    if chunks is not None:
        return _from_arrow(chunks)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        remedy = "; wrap it in a list." if isinstance(texts, str) else "."
        raise TextError(
            "texts of many documents must be a sequence of text. "
            f"Got {type(texts).__name__} instead{remedy}"
        )
    return _from_objects(texts)


def arrow_chunks(values: Any) -> list[pa.Array] | None:
    """The chunks of a column that speaks Arrow; None where it has to be read as Python objects."""
    try:
        if isinstance(values, pa.Array):
            chunks = [values]
        elif isinstance(values, pa.ChunkedArray):
            chunks = values.chunks
        elif isinstance(values, pa.Table):
            chunks = values.to_struct_array().chunks
        elif hasattr(values, "__arrow_c_stream__"):
            chunks = pa.chunked_array(values).chunks
        elif hasattr(values, "__arrow_c_array__"):
            chunks = [pa.array(values)]
        elif type(values).__module__.startswith("pandas."):  # its columns speak it since version 3
            chunks = pa.chunked_array(pa.array(values, from_pandas=True)).chunks
        else:
            return None
    except (pa.ArrowException, UnicodeEncodeError):  # pandas lets objects of all kinds mix
        return None
    return [chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk for chunk in chunks]


def plain_text(array: pa.Array) -> pa.Array | None:
    """An array of any type that holds text as string or large_string; None where it holds none."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = plain_text(array.dictionary)
        return None if values is None else values.take(array.indices)
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return array.cast(pa.large_string())
    return array if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None


def one_buffer(text: str) -> Buffers:
    """One document as buffers, without the detour over Arrow."""
    if not isinstance(text, str):
        raise TextError(f"a document must be text (str). Got {type(text).__name__} instead.")
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    return Buffers(data, np.array([0, len(data)], np.int64))


def decoded(raw: bytes) -> str:
    """Text of bytes, lone surrogates included; what is not UTF-8 shows as �."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def _from_objects(texts: Iterable[Any]) -> Buffers:
    encoded = []
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TextError(
                f"document {position} must be text (str). Got {type(text).__name__} instead."
            )
        encoded.append(text.encode("utf-8", "surrogatepass"))
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return Buffers(np.frombuffer(b"".join(encoded), np.uint8), offsets)


def _not_text(kind: pa.DataType) -> str:
    if not pa.types.is_struct(kind):
        return f"a column of documents must hold text. Got {kind} instead."
    names = ", ".join(repr(field.name) for field in kind)
    return f"got a table with the columns {names}; take one of text: table['text']"


def _from_arrow(chunks: list[pa.Array]) -> Buffers:
    plain = []
    for chunk in filter(len, chunks):
        text = plain_text(chunk)
        if text is None:
            raise TextError(_not_text(chunk.type))
        plain.append(text)
    if not plain:
        return Buffers(np.frombuffer(b"", np.uint8), np.zeros(1, np.int64))
    column = plain[0]
    if len(plain) > 1:  # together they may have more bytes than a string column can address
        column = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in plain])
    if column.null_count:
        place = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise TextError(f"document {place} is null; drop it, or give it an empty text.")
    _, offsets, data = column.buffers()
    width = np.int32 if pa.types.is_string(column.type) else np.int64
    bounds = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data if data is not None else b"", np.uint8)
    content.flags.writeable = False  # one kind of array, one compilation
    return Buffers(content, bounds.astype(np.int64))
