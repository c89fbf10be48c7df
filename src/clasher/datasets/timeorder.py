"""Documents in the order of their dates, in bounded memory.

What does not fit is sorted in parts, each written to a file of a scratch folder and compressed;
the parts are then read side by side (an external merge sort). A small corpus never leaves memory.
"""

from __future__ import annotations

import heapq
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Final

import msgspec
import pyarrow as pa

from clasher.datasets.documents import Document
from clasher.errors import StreamError

PART_BYTES: Final = 64 << 20
"""The texts that are held at once: 64 MiB."""

BLOCK: Final = 64
"""Documents that are compressed, written and read at once."""

TOLD: Final = 1000
"""Documents between two words about the progress."""

_OVERHEAD: Final = 400  # bytes of a document beside its text, more or less
_sizes = Struct("<QQ")  # of a block: compressed, and as it was
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Document])


def by_date(
    documents: Iterable[Document],
    *,
    part_bytes: int = PART_BYTES,
    on_held: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """Documents sorted by date; those of the same date stay in the order in which they came.

    Parameters
    ----------
    documents
        Documents in any order; all are read before the first is given back.
    part_bytes
        How much text to hold in memory.
    on_held
        Told now and then how many were read.

    Examples
    --------
    >>> later, sooner = (Document(date, date, "", []) for date in ("1997-01-02", "1996-08-20"))
    >>> [document.id for document in by_date([later, sooner])]
    ['1996-08-20', '1997-01-02']
    """
    held: list[Document] = []
    size = 0
    with _Scratch() as scratch:
        for number, document in enumerate(documents, 1):
            held.append(document)
            size += len(document.text) + _OVERHEAD
            if size > part_bytes:
                scratch.write(sorted(held, key=_date))
                held, size = [], 0
            if on_held is not None and number % TOLD == 0:
                on_held(number)
        # Of documents of one date, heapq.merge gives those of the earlier part first.
        yield from heapq.merge(*scratch.parts(), sorted(held, key=_date), key=_date)


def _date(document: Document) -> str:
    return document.date or ""


class _Scratch:
    """A folder for sorted parts, made when the first is written and removed at the end."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: list[str] = []

    def __enter__(self) -> _Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def write(self, documents: list[Document]) -> None:
        """Write a part."""
        try:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="clasher-")
            path = os.path.join(self._folder.name, f"{len(self._files)}.part")
            with open(path, "xb") as file:
                for start in range(0, len(documents), BLOCK):
                    plain = _encoder.encode(documents[start : start + BLOCK])
                    block = pa.compress(plain, "zstd", asbytes=True)
                    file.write(_sizes.pack(len(block), len(plain)))
                    file.write(block)
        except OSError as error:
            raise StreamError(
                f"sorting by date needs a scratch folder, and {tempfile.gettempdir()} cannot be "
                f"written: {error.strerror or error}; let TMPDIR name one with more room"
            ) from error
        self._files.append(path)

    def parts(self) -> list[Iterator[Document]]:
        """Each part, document by document."""
        return [_read(path) for path in self._files]


def _read(path: str) -> Iterator[Document]:
    with open(path, "rb") as file:
        while sizes := file.read(_sizes.size):
            compressed, plain = _sizes.unpack(sizes)
            block = pa.decompress(file.read(compressed), plain, "zstd", asbytes=True)
            yield from _decoder.decode(block)
