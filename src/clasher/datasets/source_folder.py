"""The folder of a dataset: its files, and the documents parsed from them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from clasher.datasets.archives import Member
from clasher.datasets.date_order import by_date
from clasher.datasets.document import Document
from clasher.errors import StreamError
from clasher.io.formats import COMPRESSIONS, InputFile, Reading
from clasher.io.lines import read_blocks
from clasher.io.records import FaultError

T = TypeVar("T")


@dataclass(slots=True)
class Folder:
    """An opened folder, or a single file in its place."""

    path: Path
    reading: Reading = field(default_factory=Reading)  # the policy for bad records, and counts
    on_held: Callable[[int], None] | None = None  # gets the number of documents to be sorted

    def parsed(
        self, name: str, records: Iterable[tuple[int, T]], parse: Callable[[T], Document],
        raw: Callable[[T], bytes],
    ) -> Iterator[Document]:  # fmt: skip
        """Parse numbered records; hand bad ones, as ``raw`` bytes, to the policy."""
        for number, record in records:
            self.reading.records += 1
            try:
                yield parse(record)
            except FaultError as fault:
                self.reading.reject(name, number, fault, raw(record))

    def parsed_members(
        self, members: Generator[Member], parse: Callable[[str, bytes], Document | None]
    ) -> Iterator[Document]:
        """Parse a document from each member; ``parse`` returns None to leave one out."""
        with closing(members):
            for member in members:
                self.reading.records += 1
                raw = None
                try:
                    raw = member.read()
                    document = parse(member.name, raw)
                except FaultError as fault:
                    self.reading.reject(member.name, 1, fault, raw)
                    continue
                if document is not None:
                    yield document

    def by_date(self, documents: Iterable[Document]) -> Iterator[Document]:
        return by_date(documents, on_held=self.on_held)

    def only(self, found: list[Path], what: str) -> Path:
        """Return the only file found."""
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise StreamError(f"{self.path} has more than one {what} ({names}): name one of them")
        return found[0]


def text_blocks(path: Path) -> Iterator[bytes]:
    """Read a text file, decompressed according to its extension."""
    if not path.stat().st_size:
        raise StreamError(f"{path} is empty; get it again")
    compression = COMPRESSIONS.get(path.suffix.removeprefix("."))
    return read_blocks(InputFile(str(path), "text", compression))


def matching(path: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match the first pattern with a match, or the file."""
    for pattern in patterns:
        if path.is_file():
            found = [path] if path.match(pattern) else []
        else:
            found = sorted(p for p in path.glob(pattern) if p.is_file())
        if found:
            return found
    return []
