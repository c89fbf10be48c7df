"""The documents of datasets: their making, and an external merge sort by date.

Documents that do not fit into memory are sorted in parts, which are compressed into files of a
temporary folder and merged. A small corpus stays in memory.
"""

import heapq
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import date
from typing import Final

import msgspec
import pyarrow as pa

from clasher.errors import StreamError

PART_BYTES: Final = 64 << 20  # of texts held in memory
BLOCK: Final = 64  # documents written and read at once
PROGRESS_EVERY: Final = 1000  # documents

_OVERHEAD: Final = 400  # bytes of a document beside its text, roughly
_NAMES: Final = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"
_MONTHS: Final = {name: number for number, name in enumerate(_NAMES.split(), 1)}


class Document(msgspec.Struct, frozen=True, gc=False):
    """One document of a dataset.

    Attributes
    ----------
    id : str
        Its id in the corpus.
    date : str | None
        The day (``1996-08-20``) or second (``1987-02-26T15:01:01``); None if the files have none.
    text : str
        Title and body, a line for each or for each paragraph.
    labels : list of str | None
        All its labels; None if it was never labelled.
    marks : dict
        Other attributes that a split needs.
    """

    id: str
    date: str | None
    text: str
    labels: list[str] | None
    marks: dict[str, str] = {}


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Document]).decode


def day(year: str, month: str, day_: str) -> str | None:
    """Write a day as in ISO 8601, None if it does not exist; months by number or English name.

    >>> day("1987", "FEB", "26"), day("2007", "4", "2"), day("1987", "02", "29")
    ('1987-02-26', '2007-04-02', None)
    """
    try:
        number = _MONTHS.get(month.upper()) or int(month)
        return date(int(year), number, int(day_)).isoformat()
    except ValueError:
        return None


def moment(found: re.Match[str] | None) -> str | None:
    """Write the day, month, year and time that a pattern found, None if there is no such day."""
    date = found and day(found[3], found[2], found[1])
    return f"{date}T{found[4]}" if found and date else None


def tidy(text: str | None) -> str:
    """Collapse white space."""
    return " ".join(text.split()) if text else ""


def lines(*parts: str | None) -> str:
    """Join the parts that are not empty, a line each."""
    return "\n".join(part for part in map(tidy, parts) if part)


def distinct(labels: Iterable[str]) -> list[str]:
    """Drop repeated and empty labels."""
    return [label for label in dict.fromkeys(labels) if label]


def by_date(
    documents: Iterable[Document],
    *,
    part_bytes: int = PART_BYTES,
    on_held: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """Sort documents by date; documents of the same date keep their order.

    All are read before the first is yielded; ``on_held`` is called now and then with their number.
    """
    held: list[Document] = []
    size = 0
    parts: list[str] = []
    with ExitStack() as stack:
        for number, document in enumerate(documents, 1):
            held.append(document)
            size += len(document.text) + _OVERHEAD
            if size > part_bytes:
                try:
                    if not parts:
                        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="clasher-"))
                    path = os.path.join(folder, f"{len(parts)}.part")
                    _write(path, sorted(held, key=_date))
                except OSError as error:
                    scratch = f"the folder for sorting by date, {tempfile.gettempdir()},"
                    reason = f"{error.strerror or error}; set TMPDIR to one with more room"
                    raise StreamError(f"{scratch} cannot be written: {reason}") from error
                parts.append(path)
                held, size = [], 0
            if on_held is not None and number % PROGRESS_EVERY == 0:
                on_held(number)
        # heapq.merge yields documents of the same date from earlier parts first.
        yield from heapq.merge(*map(_read, parts), sorted(held, key=_date), key=_date)


def _date(document: Document) -> str:
    return document.date or ""


def _write(path: str, documents: list[Document]) -> None:
    with pa.output_stream(path, compression="zstd") as file:
        for start in range(0, len(documents), BLOCK):
            block = _encode(documents[start : start + BLOCK])
            file.write(len(block).to_bytes(8))
            file.write(block)


def _read(path: str) -> Iterator[Document]:
    with pa.input_stream(path, compression="zstd") as file:
        while size := file.read(8):
            yield from _decode(file.read(int.from_bytes(size)))
