"""Reuters-21578, Distribution 1.0: 22 files of SGML, as its README describes them.

The files are not well-formed XML: they hold control characters such as ``&#3;``, some Latin-1
bytes and invalid attributes. As the README advises, a story is what stands between
``<REUTERS …>`` and ``</REUTERS>``.

A story has one of three types: ``NORM`` has a title and a body, ``BRIEF`` a title and the body
"Blah blah blah.", ``UNPROC`` unstructured text, which is read as it is. The signature "Reuter" at
the end of a body is removed.
"""

import re
from collections.abc import Generator, Iterator
from html.entities import html5
from pathlib import Path
from typing import Final

from clasher.datasets.archives import members
from clasher.datasets.dataset import DAYS, Dataset, Folder, Part, Split, matching
from clasher.datasets.document import Document, by_date, distinct, lines, moment, tidy
from clasher.errors import StreamError
from clasher.io.records import FaultError

FILES: Final = tuple(f"reut2-{number:03}.sgm" for number in range(22))

_SGML: Final = "reut2-0[0-2][0-9].sgm"
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


def find(path: Path) -> list[Path]:
    """Find the SGML files in a folder, or their archive."""
    return matching(path, [_SGML, *_ARCHIVES]) or matching(path / "reuters21578", [_SGML])


def read(folder: Folder) -> Generator[Document]:
    """Yield all stories by date."""
    yield from by_date(_stories(folder), on_held=folder.on_held)


def _stories(folder: Folder) -> Iterator[Document]:
    missing = set(FILES)
    path = find(folder.path)[0]
    path = path.parent if _FILE.search(path.name) else path
    for member in members(path, _FILE, glob=_SGML):
        missing.discard(member.name.rpartition("/")[2].lower())
        try:
            content = member.read(_LONGEST_FILE)
        except FaultError as fault:
            raise StreamError(f"{member.name}: {fault}; get it again") from fault
        head, *stories = content.split(b"<REUTERS")
        if not stories:
            start = tidy(head[:60].decode("latin-1"))
            problem = f"holds no story, it starts with {start!r}"
            raise StreamError(f"{member.name} {problem}; get it again")
        if b"</REUTERS>" not in stories[-1]:
            raise StreamError(f"{member.name} ends in the middle of a story; get it again")
        numbered = enumerate(stories, 1)
        yield from folder.parsed(member.name, numbered, parse, b"<REUTERS".__add__)
    if missing:
        names = ", ".join(sorted(missing))
        raise REUTERS21578.missing(folder.path, f"{folder.path} lacks {names}")


def parse(story: bytes) -> Document:
    """Parse a story, starting after its ``<REUTERS``."""
    start, closed, rest = story.decode("latin-1").partition(">")
    inside, ended, _ = rest.partition("</REUTERS>")
    marks = dict(_ATTRIBUTE.findall(start))
    if not (closed and ended):
        raise FaultError("it is not closed by </REUTERS>")
    if "NEWID" not in marks:
        raise FaultError("it has no NEWID")
    topics = _element("TOPICS", inside)
    if topics is None:
        raise FaultError("it has no <TOPICS>")
    labels: list[str] | None = distinct(tidy(unescape(d)) for d in _CATEGORY.findall(topics))
    if not labels and marks.get("TOPICS") == "BYPASS":
        labels = None  # "clearly were not indexed"
    stated = _element("DATE", inside)
    date = moment(_DATE.search(stated or ""))
    if date is None:
        raise FaultError(f"its date is {tidy(stated)!r}" if stated else "it has no <DATE>")
    return Document(marks["NEWID"], date, _text(inside), labels, marks)


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


def _text(story: str) -> str:
    text = _element("TEXT", story)
    if text is None:
        raise FaultError("it has no <TEXT>")
    title, body = _element("TITLE", text), _element("BODY", text)
    parts = [_TAG.sub(" ", text)] if title is None and body is None else [title or "", body or ""]
    return lines(*(_SIGNATURE.sub("", unescape(part).rstrip()) for part in parts))


def _split(name: str, mark: str, stories: dict[str, int], *topics: str) -> Split:
    """Split by the values of a mark, if given only stories whose mark TOPICS is in ``topics``."""
    (train, many), (test, some) = stories.items()
    only = ", TOPICS=" + " or ".join(f'"{topic}"' for topic in topics) if topics else ""
    about = f'{name}: {many:,} stories of {mark}="{train}" and {some:,} of "{test}"{only}'

    def part(document: Document) -> Part | None:
        if topics and document.marks.get("TOPICS") not in topics:
            return None
        value = document.marks.get(mark)
        return "train" if value == train else "test" if value == test else None

    return Split(f"{about}, including those without topics", part, whole=True)


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
        "lewis": _split("ModLewis", "LEWISSPLIT", {"TRAIN": 13_625, "TEST": 6_188}, "YES", "NO"),
        "apte": _split("ModApte", "LEWISSPLIT", {"TRAIN": 9_603, "TEST": 3_299}, "YES"),
        "hayes": _split("ModHayes", "CGISPLIT", {"TRAINING-SET": 20_856, "PUBLISHED-TESTSET": 722}),
        "days": DAYS,
    },
)
