"""Reuters-21578, Distribution 1.0: 22 files of SGML, as its README describes them.

The files are not well-formed XML: they hold control characters such as ``&#3;``, some Latin-1
bytes and invalid attributes. As the README advises, a story is what stands between
``<REUTERS …>`` and ``</REUTERS>``.

A story has one of three types: ``NORM`` has a title and a body, ``BRIEF`` a title and the body
"Blah blah blah.", ``UNPROC`` unstructured text, which is read as it is. The signature "Reuter" at
the end of a body is removed.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from html.entities import html5
from pathlib import Path
from typing import Final

from clasher.datasets.archives import files, members
from clasher.datasets.dataset import DAYS, Dataset, Part, Split
from clasher.datasets.document import Document, day, distinct, lines, tidy
from clasher.datasets.source_folder import Folder, matching
from clasher.errors import StreamError
from clasher.io.records import FaultError

FILES: Final = tuple(f"reut2-{number:03}.sgm" for number in range(22))

_FILE: Final = re.compile(r"(?:^|/)reut2-0[0-2]\d\.sgm$", re.IGNORECASE)
_ARCHIVES: Final = ("reuters21578.t*", "reuters[+_ -]21578*.zip", "reuters21578*.zip")
_LONGEST_FILE: Final = 64 << 20

_ATTRIBUTE: Final = re.compile(r'(\w+)="([^"]*)"')
_CATEGORY: Final = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_TAG: Final = re.compile(r"</?[A-Z]+\b[^>]*>")
_REFERENCE: Final = re.compile(r"&(?:#(\d*)|(\w+));")
# The day and the time, then noise; story 17192 has "605:12:19", whose hour is 05.
_DATE: Final = re.compile(r"(\d{1,2})-([A-Z]{3})-(\d{4})\s+\d*?(\d\d:\d\d:\d\d)")
_SIGNATURE: Final = re.compile(r"\n\s*reuter\W*$", re.IGNORECASE)

_LEWIS: Final[dict[str, Part]] = {"TRAIN": "train", "TEST": "test"}
_HAYES: Final[dict[str, Part]] = {"TRAINING-SET": "train", "PUBLISHED-TESTSET": "test"}


def find(path: Path) -> list[Path]:
    """Find the SGML files in a folder, or the archive they come in."""
    found = matching(path, ["reut2-0[0-2][0-9].sgm", *_ARCHIVES])
    return found or matching(path / "reuters21578", ["reut2-0[0-2][0-9].sgm"])


def read(folder: Folder) -> Generator[Document]:
    """Yield all stories by date."""
    yield from folder.by_date(_stories(folder))


def _stories(folder: Folder) -> Iterator[Document]:
    missing = set(FILES)
    first, *_ = find(folder.path)
    sources = members(first, _FILE, longest=_LONGEST_FILE)
    if _FILE.search(first.name):
        sources = files(first.parent, "reut2-0[0-2][0-9].sgm", longest=_LONGEST_FILE)
    for member in sources:
        missing.discard(member.name.rpartition("/")[2].lower())
        try:
            content = member.read()
        except FaultError as fault:
            raise StreamError(f"{member.name}: {fault}; get it again") from fault
        yield from _file(member.name, content, folder)
    if missing:
        names = ", ".join(sorted(missing))
        raise REUTERS21578.missing(folder.path, f"{folder.path} lacks {names}")


def _file(name: str, content: bytes, folder: Folder) -> Iterator[Document]:
    head, *stories = content.split(b"<REUTERS")
    if not stories:
        start = tidy(head[:60].decode("latin-1"))
        raise StreamError(f"{name} holds no story, it starts with {start!r}; get it again")
    if b"</REUTERS>" not in stories[-1]:
        raise StreamError(f"{name} ends in the middle of a story; get it again")
    return folder.parsed(
        name, enumerate(stories, 1), lambda raw: parse(raw.decode("latin-1")), b"<REUTERS".__add__
    )


def parse(story: str) -> Document:
    """Parse a story, starting after its ``<REUTERS``."""
    start, closed, rest = story.partition(">")
    inside, ended, _ = rest.partition("</REUTERS>")
    marks = dict(_ATTRIBUTE.findall(start))
    if not (closed and ended):
        raise FaultError("it is not closed by </REUTERS>")
    if "NEWID" not in marks:
        raise FaultError("it has no NEWID")
    topics = _element("TOPICS", inside)
    if topics is None:
        raise FaultError("it has no <TOPICS>")
    labels: list[str] | None = distinct([tidy(unescape(d)) for d in _CATEGORY.findall(topics)])
    if not labels and marks.get("TOPICS") == "BYPASS":
        labels = None  # "clearly were not indexed"
    return Document(marks["NEWID"], _date(_element("DATE", inside)), _text(inside), labels, marks)


def unescape(text: str) -> str:
    """Replace character references, and drop those of control characters."""

    def character(match: re.Match[str]) -> str:
        number, name = match.groups()
        if name:
            return html5.get(f"{name};", match[0])
        found = chr(int(number)) if number and int(number) < 0x110000 else ""
        return found if found.isprintable() or found.isspace() else ""

    return _REFERENCE.sub(character, text)


def _element(tag: str, text: str) -> str | None:
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", text, re.DOTALL)
    return found and found[1]


def _date(text: str | None) -> str:
    found = _DATE.search(text or "")
    date = day(found[3], found[2], found[1]) if found else None
    if found is None or date is None:
        raise FaultError(f"its date is {tidy(text)!r}" if text else "it has no <DATE>")
    return f"{date}T{found[4]}"


def _text(story: str) -> str:
    text = _element("TEXT", story)
    if text is None:
        raise FaultError("it has no <TEXT>")
    title, body = _element("TITLE", text), _element("BODY", text)
    parts = [_TAG.sub(" ", text)] if title is None and body is None else [title or "", body or ""]
    return lines(*(_SIGNATURE.sub("", unescape(part).rstrip()) for part in parts))


def _lewis(document: Document) -> Part | None:
    if document.marks.get("TOPICS") not in ("YES", "NO"):
        return None
    return _LEWIS.get(document.marks.get("LEWISSPLIT", ""))


REUTERS21578 = Dataset(
    name="reuters21578",
    title="Reuters-21578 Text Categorization Collection, Distribution 1.0",
    about="Reuters news from February to October 1987, in time order: title and body.",
    labels="topics, 1.26 per story on the 11,367 stories that have any",
    documents=21_578,
    classes=120,
    licence="free for research only",
    source="the UCI Machine Learning Repository, 'Reuters-21578 Text Categorization Collection' "
    "(https://archive.ics.uci.edu/dataset/137)",
    files=("reuters21578.tar.gz", "reut2-000.sgm … reut2-021.sgm"),
    finder=find,
    reader=read,
    splits={
        "lewis": Split(
            'ModLewis: 13,625 stories of LEWISSPLIT="TRAIN" and 6,188 of "TEST", TOPICS="YES" or '
            '"NO", including those without topics',
            _lewis,
            whole=True,
        ),
        "apte": Split(
            'ModApte: 9,603 stories of LEWISSPLIT="TRAIN" and 3,299 of "TEST", TOPICS="YES", '
            "including those without topics",
            lambda document: _lewis(document) if document.marks.get("TOPICS") == "YES" else None,
            whole=True,
        ),
        "hayes": Split(
            'ModHayes: 20,856 stories of CGISPLIT="TRAINING-SET" and 722 of "PUBLISHED-TESTSET", '
            "including those without topics",
            lambda document: _HAYES.get(document.marks.get("CGISPLIT", "")),
            whole=True,
        ),
        "days": DAYS,
    },
)
