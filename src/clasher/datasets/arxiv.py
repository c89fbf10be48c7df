"""The metadata of arXiv: a snapshot with a JSON line for each paper, in no particular order.

The text is the title and the abstract, a line each; the labels are the categories, by the name
that arXiv calls canonical. The date is that of the first version.
"""

import re
import zipfile
from collections.abc import Generator, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from clasher.datasets.archives import UNREADABLE, damaged
from clasher.datasets.dataset import Dataset, Folder, matching, text_blocks
from clasher.datasets.document import Document, by_date, distinct, lines, moment
from clasher.errors import StreamError
from clasher.io.lines import BLOCK, Overlong, split_lines, too_long
from clasher.io.records import FaultError, invalid_utf8

ALIASES: Final = {  # of categories, and their canonical names
    "math.MP": "math-ph", "stat.TH": "math.ST", "math.IT": "cs.IT", "q-fin.EC": "econ.GN",
    "cs.SY": "eess.SY", "cs.NA": "math.NA",
}  # fmt: skip

LONGEST_LINE: Final = 16 << 20

_SNAPSHOT: Final = "arxiv-metadata-oai*.json"
_ENDINGS: Final = ("", ".gz", ".zst", ".xz", ".zip")
_FILES: Final = (*(f"{_SNAPSHOT}{end}" for end in _ENDINGS), "archive.zip", "arxiv.zip")
_find = partial(matching, patterns=_FILES)
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


def read(folder: Folder) -> Generator[Document]:
    """Yield all papers in the order of their first versions."""
    path = folder.only(_find(folder.path), "snapshot")
    blocks = _zip_blocks(path) if path.suffix == ".zip" else text_blocks(path)
    numbered = enumerate(chain.from_iterable(split_lines(blocks, LONGEST_LINE)), 1)
    records = (pair for pair in numbered if pair[1] or isinstance(pair[1], Overlong))
    papers = folder.parsed(str(path), records, parse, lambda line: getattr(line, "head", line))
    yield from by_date(papers, on_held=folder.on_held)


def _zip_blocks(path: Path) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [name for name in archive.namelist() if Path(name).match(_SNAPSHOT)]
            if len(inside) != 1:
                raise StreamError(f"{path} holds {len(inside)} files {_SNAPSHOT} instead of one")
            with archive.open(inside[0]) as file:
                while block := file.read(BLOCK):
                    yield block
    except UNREADABLE as error:
        raise damaged(str(path), error) from error


def parse(line: bytes) -> Document:
    """Parse the line of a paper."""
    if isinstance(line, Overlong):
        raise too_long(LONGEST_LINE)
    try:
        paper = _decode(line)
    except UnicodeDecodeError:
        raise invalid_utf8(line) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise FaultError(str(error)) from None
    labels = distinct(ALIASES.get(name, name) for name in paper.categories.split())
    if not labels:
        raise FaultError("field 'categories' is empty")
    created = paper.versions[0].created if paper.versions else ""
    date = moment(_CREATED.match(created))
    if date is None:
        reason = f"its first version has date {created!r}" if created else "it has no version"
        raise FaultError(reason)
    return Document(paper.id, date, lines(paper.title, paper.abstract), labels)


ARXIV = Dataset(
    name="arxiv",
    title="arXiv Dataset (metadata)",
    about="All papers of arXiv, in the order of first versions: title and abstract.",
    labels="categories, by their canonical names: cs.SY is eess.SY, stat.TH is math.ST, …",
    licence="CC0 1.0 (metadata)",
    source="Cornell University, 'arXiv Dataset' "
    "(https://www.kaggle.com/datasets/Cornell-University/arxiv)",
    files=("arxiv-metadata-oai-snapshot.json", "the zip it comes in"),
    finder=_find,
    reader=read,
)
