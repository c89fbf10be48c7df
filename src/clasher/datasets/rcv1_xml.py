"""The stories of RCV1 themselves: an XML file each, in a zip for each day.

The text is the headline (the title, where there is none) and the paragraphs, a line each.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element

from clasher.datasets.archives import Member, files, members
from clasher.datasets.dates import day
from clasher.datasets.documents import Document, distinct, lines
from clasher.datasets.folder import Folder
from clasher.datasets.rcv1_topics import Hierarchy, Judgements
from clasher.datasets.xmltree import parse, text_of
from clasher.io.judging import FaultError

TOPICS: Final = "bip:topics:1.0"

_STORY: Final = re.compile(r"(?:^|/)\d+newsML\.xml$", re.IGNORECASE)
_DAY: Final = re.compile(r"(?:^|/)(\d{4})(\d\d)(\d\d)(?:\.zip)?/[^/]*$", re.IGNORECASE)
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_NUMBER: Final = re.compile(r"(\d+)\D*$")


def day_files(path: Path) -> list[Path]:
    """What there is for each day, in the order of days: its zip, or the folder of its stories."""
    found: dict[str, Path] = {}
    digits = "[0-9]" * 8
    for depth in ("", "*/", "*/*/"):
        for pattern in (f"{depth}{digits}.zip", f"{depth}{digits}"):
            for each in path.glob(pattern):
                found.setdefault(each.name.partition(".")[0], each)
    return [found[day] for day in sorted(found)]


class Stories:
    """Reads stories and gives them their topics.

    Parameters
    ----------
    judgements
        The topics of RCV1-v2; stories that it does not have are none of that corpus. Without it,
        topics are those in the stories.
    hierarchy
        Adds the topics above those in the stories, as was done for RCV1-v2.
    """

    def __init__(self, judgements: Judgements | None, hierarchy: Hierarchy | None) -> None:
        self.judgements = judgements
        self.hierarchy = hierarchy

    def of_days(self, days: list[Path], folder: Folder) -> Iterator[Document]:
        """Stories day by day, those of a day by their numbers."""
        for path in days:
            yield from folder.parsed(_of_day(path), self.parse)

    def of_archive(self, path: Path, folder: Folder) -> Iterator[Document]:
        """Stories of the one archive of all days, which may be in any order."""
        yield from folder.by_date(folder.parsed(members(path, _STORY, key=_number), self.parse))

    def parse(self, name: str, raw: bytes) -> Document | None:
        """A story, from a file of this name."""
        root = parse(raw)
        number = root.get("itemid", "")
        if root.tag != "newsitem" or not number.isdecimal():
            raise FaultError("it is no <newsitem itemid=…>")
        if self.judgements is None:
            labels = self._codes(root)
        elif not (labels := self.judgements.of(int(number))):
            return None
        title = text_of(root.find("headline")) or text_of(root.find("title"))
        text = lines(title, *map(text_of, root.iterfind("text/p")))
        return Document(str(int(number)), _date(name, root.get("date", "")), text, labels or None)

    def _codes(self, root: Element) -> list[str]:
        if root.find("metadata") is None:
            raise FaultError("it has no <metadata>, and so no codes")
        codes = root.iterfind(f"metadata/codes[@class='{TOPICS}']/code")
        found = [code.get("code", "") for code in codes]
        if "" in found:
            raise FaultError("one of its topics is a <code> without code")
        return distinct(found) if self.hierarchy is None else self.hierarchy.closed(found)


def _of_day(path: Path) -> Generator[Member]:
    if path.is_dir():
        return files(path, "*.xml", key=_number)
    return members(path, _STORY, key=_number)


def _number(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found[1]) if found else 0


def _date(name: str, stated: str) -> str:
    """The day of the file that a story is in, which keeps the order; or else what it says."""
    for found in (_DAY.search(name), _DATE.fullmatch(stated)):
        if found and (date := day(*found.groups())):
            return date
    raise FaultError(f"its date is {stated!r}" if stated else "it has no date")
