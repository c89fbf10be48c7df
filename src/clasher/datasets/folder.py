"""Where a dataset lies, and what happens while it is read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from clasher.datasets.archives import Member
from clasher.datasets.documents import Document
from clasher.datasets.timeorder import by_date
from clasher.errors import StreamError
from clasher.io.blocks import read_blocks
from clasher.io.formats import COMPRESSIONS, Source
from clasher.io.judging import FaultError
from clasher.io.reading import Reading


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
    return read_blocks(Source(str(path), "text", compression))


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
