"""The metadata of arXiv: a snapshot of JSON lines, a paper each, in no particular order.

The text is the title and the abstract, a line each; labels are the categories. Of categories with
two names the one that arXiv calls canonical is kept. The date is that of a paper's first version.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Generator, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from clasher.datasets.archives import UNREADABLE, damaged
from clasher.datasets.dataset import DAYS, Dataset
from clasher.datasets.document import Document, day, distinct, lines
from clasher.datasets.source_folder import Folder, matching, text_blocks
from clasher.errors import StreamError
from clasher.io.lines import BLOCK, Overlong, split_lines, too_long
from clasher.io.records import FaultError, invalid_utf8

ALIASES: Final = {
    "math.MP": "math-ph",
    "stat.TH": "math.ST",
    "math.IT": "cs.IT",
    "q-fin.EC": "econ.GN",
    "cs.SY": "eess.SY",
    "cs.NA": "math.NA",
}
"""The second name of a category and the canonical one, as arXiv lists them."""

LONGEST_LINE: Final = 16 << 20

_SNAPSHOT: Final = "arxiv-metadata-oai*.json"
_ENDINGS: Final = ("", ".gz", ".zst", ".xz", ".zip")
_FILES: Final = (*(f"{_SNAPSHOT}{end}" for end in _ENDINGS), "archive.zip", "arxiv.zip")
_CREATED: Final = re.compile(r"\w{3}, +(\d{1,2}) (\w{3}) (\d{4}) (\d\d:\d\d:\d\d)")


class _Version(msgspec.Struct, gc=False):
    created: str


class _Paper(msgspec.Struct, gc=False):
    id: str
    title: str
    abstract: str
    categories: str
    versions: list[_Version]


_decode = msgspec.json.Decoder(_Paper).decode


def find(path: Path) -> list[Path]:
    """The snapshot in a folder, plain or compressed."""
    return matching(path, _FILES)


def read(folder: Folder) -> Generator[Document]:
    """All papers in the order of their first versions."""
    found = find(folder.path)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise StreamError(f"{folder.path} has more than one snapshot ({names}): name one of them")
    yield from folder.by_date(_papers(found[0], folder))


def _papers(path: Path, folder: Folder) -> Iterator[Document]:
    lines_ = chain.from_iterable(split_lines(_blocks(path), LONGEST_LINE))
    for number, line in enumerate(lines_, 1):
        if not line and not isinstance(line, Overlong):
            continue
        folder.reading.records += 1
        try:
            yield parse(line)
        except FaultError as fault:
            folder.reading.reject(str(path), number, fault, getattr(line, "head", line))


def _blocks(path: Path) -> Iterator[bytes]:
    return _zip_blocks(path) if path.suffix == ".zip" else text_blocks(path)


def _zip_blocks(path: Path) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [name for name in archive.namelist() if Path(name).match(_SNAPSHOT)]
            if len(inside) != 1:
                raise StreamError(f"{path} holds {len(inside)} files {_SNAPSHOT}, not one")
            with archive.open(inside[0]) as file:
                while block := file.read(BLOCK):
                    yield block
    except UNREADABLE as error:
        raise damaged(str(path), error) from error


def parse(line: bytes) -> Document:
    """A paper, from its line.

    >>> paper = parse(
    ...     b'{"id":"0704.0047","title":"Acoustic   emission","abstract":"  We listen.",'
    ...     b'"categories":"cs.NE cs.NA","versions":[{"version":"v1",'
    ...     b'"created":"Sun, 1 Apr 2007 13:06:50 GMT"}]}'
    ... )
    >>> paper.date, paper.labels, paper.text.splitlines()
    ('2007-04-01T13:06:50', ['cs.NE', 'math.NA'], ['Acoustic emission', 'We listen.'])
    """
    if isinstance(line, Overlong):
        raise too_long(LONGEST_LINE)
    try:
        paper = _decode(line)
    except UnicodeDecodeError:
        raise invalid_utf8(line) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise FaultError(str(error)) from None
    categories = paper.categories.split()
    if not categories:
        raise FaultError("field 'categories' is empty")
    labels = distinct([ALIASES.get(name, name) for name in categories])
    return Document(paper.id, _date(paper), lines(paper.title, paper.abstract), labels)


def _date(paper: _Paper) -> str:
    created = paper.versions[0].created if paper.versions else ""
    found = _CREATED.match(created)
    date = day(found[3], found[2], found[1]) if found else None
    if found is None or date is None:
        raise FaultError(f"its first version is of {created!r}" if created else "it has no version")
    return f"{date}T{found[4]}"


ARXIV = Dataset(
    name="arxiv",
    title="arXiv Dataset (metadata)",
    about="Every paper of arXiv, in the order of first versions: title and abstract.",
    labels="categories, by their canonical names: cs.SY is eess.SY, stat.TH is math.ST, …",
    documents=None,
    classes=None,
    licence="CC0 1.0 (metadata)",
    source="Cornell University, 'arXiv Dataset' "
    "(https://www.kaggle.com/datasets/Cornell-University/arxiv)",
    files=("arxiv-metadata-oai-snapshot.json", "the zip it is handed out in"),
    finder=find,
    reader=read,
    splits={"days": DAYS},
)
