"""From text to words: what a word is, and how columns of text become byte buffers.

A word is a run of Unicode letters, marks and numbers in lower case, at least ``min_length`` of
them. Scripts written without spaces (Chinese, Japanese, Thai, …) give overlapping pairs of
characters instead, and a symbol (☂, 😀) is a word of its own. Everything else separates words:
NUL, lone surrogates and bytes that are not UTF-8 included.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clasher import unicode_ranges
from clasher.errors import SettingError, TextError
from clasher.kernels.text import KIND, SYMBOL, UNSPACED, WORD


@dataclass(frozen=True)
class Analyzer:
    """How text is cut into words.

    Parameters
    ----------
    min_length
        Words of fewer characters are dropped (single characters of unspaced scripts are kept).
    """

    min_length: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.min_length, int) or not 1 <= self.min_length <= 1000:
            raise SettingError.of("min_length", "an integer from 1 to 1000", self.min_length)


@functools.cache
def code_points() -> npt.NDArray[np.uint32]:
    """Kind and lower case of every code point, as the kernels read them."""
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
    table.setflags(write=False)
    return table


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
    if isinstance(texts, str | bytes):
        raise TextError(
            "texts of many documents must be a sequence of text. "
            f"Got {type(texts).__name__} instead; wrap it in a list."
        )
    if isinstance(texts, pa.Array | pa.ChunkedArray):
        column = texts
    elif hasattr(texts, "__arrow_c_stream__"):
        column = pa.chunked_array(texts)
    elif hasattr(texts, "__arrow_c_array__"):
        column = pa.array(texts)
    else:
        return _from_objects(texts)
    return _from_arrow(column)


def one_buffer(text: str) -> Buffers:
    """One document as buffers, without the detour over Arrow."""
    if not isinstance(text, str):
        raise TextError(f"a document must be text (str). Got {type(text).__name__} instead.")
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    return Buffers(data, np.array([0, len(data)], np.int64))


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


def _from_arrow(column: Any) -> Buffers:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if column.null_count:
        place = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise TextError(f"document {place} is null; drop it, or give it an empty text.")
    kind = column.type
    if pa.types.is_string(kind):
        width: Any = np.int32
    elif pa.types.is_large_string(kind):
        width = np.int64
    elif pa.types.is_string_view(kind) or (
        pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)
    ):
        column, width = column.cast(pa.large_string()), np.int64
    elif len(column) == 0:
        return Buffers(np.frombuffer(b"", np.uint8), np.zeros(1, np.int64))
    else:
        raise TextError(f"a column of documents must hold text. Got {kind} instead.")
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data if data is not None else b"", np.uint8)
    content.flags.writeable = False  # one kind of array, one compilation
    return Buffers(content, bounds.astype(np.int64))
