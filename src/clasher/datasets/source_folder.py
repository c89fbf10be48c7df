"""Documents in the order of their dates, in bounded memory.

What does not fit is sorted in parts, each written to a file of a scratch folder and compressed;
the parts are then read side by side (an external merge sort). A small corpus never leaves memory.

Where a dataset lies, and what happens while it is read.
"""

from __future__ import annotations

import heapq
import os
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Final

import msgspec
import pyarrow as pa

from clasher.datasets.archives import Member
from clasher.datasets.document import Document
from clasher.errors import StreamError
from clasher.io.formats import COMPRESSIONS, InputFile, Reading
from clasher.io.lines import read_blocks
from clasher.io.records import FaultError


@dataclass(slots=True)
class Folder:
    """An opened folder, or a single file that takes its place.

    Attributes
    ----------
    path : Path
        Where it is.
    reading : Reading
        The policy for bad records, and how many were met.
    on_held : callable | None
        Told now and then how many documents were read and wait to be sorted.
    """

    path: Path
    reading: Reading = field(default_factory=Reading)
    on_held: Callable[[int], None] | None = None

    def parsed(
        self, members: Generator[Member], parse: Callable[[str, bytes], Document | None]
    ) -> Iterator[Document]:
        """The document of each member; bad ones go to the policy, and None is none."""
        with closing(members):
            for member in members:
                document = self._parsed(member, parse)
                if document is not None:
                    yield document

    def _parsed(
        self, member: Member, parse: Callable[[str, bytes], Document | None]
    ) -> Document | None:
        self.reading.records += 1
        raw = None
        try:
            raw = member.read()
            return parse(member.name, raw)
        except FaultError as fault:
            self.reading.reject(member.name, 1, fault, raw)
            return None

    def by_date(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Documents in time order, in bounded memory."""
        return by_date(documents, on_held=self.on_held)


def text_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a text file, decompressed where its name says that it is compressed."""
    if not path.stat().st_size:
        raise StreamError(f"{path} is empty; get it again")
    compression = COMPRESSIONS.get(path.suffix.removeprefix("."))
    return read_blocks(InputFile(str(path), "text", compression))


def matching(path: Path, patterns: Iterable[str]) -> list[Path]:
    """The files in a folder that fit the first of the patterns that any fits; a file is its own.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     Path(name, "news.json").touch()
    ...     [found.name for found in matching(Path(name), ["*.jsonl", "*.json"])]
    ['news.json']
    """
    for pattern in patterns:
        if path.is_file():
            found = [path] if path.match(pattern) else []
        else:
            found = sorted(p for p in path.glob(pattern) if p.is_file())
        if found:
            return found
    return []


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
