"""RCV1, volume 1 of the Reuters corpora, and RCV1-v2, the same with its topics corrected.

The stories themselves are XML files, handed out by NIST under a licence. The tokens of the
stories, their topics and the hierarchy of topics are free, in the appendices of the paper on
RCV1-v2. What is read depends on what is there:

=====================  ==================  =====================================================
stories                topics              documents
=====================  ==================  =====================================================
XML                    judgements (qrels)  RCV1-v2, with dates
XML                    none                RCV1 as it was published, 806,791 stories of which
                                           2,364 have no topic; with the hierarchy, topics above
                                           those of a story are added
token files            judgements (qrels)  RCV1-v2 without dates, in the order of numbers
=====================  ==================  =====================================================

The topics of RCV1-v2: which story has which, and which topic lies under which.

Both come from the online appendices of Lewis, Yang, Rose and Li, *RCV1: A New Benchmark Collection
for Text Categorization Research* (2004): the file of relevance judgements has a line ``E11 2286 1``
for each topic of a story, the hierarchy a line ``parent: ECAT  child: E11  child-description: …``.

The token files of RCV1-v2: stemmed words without stop words, no dates.

A record is a line ``.I 2286``, a line ``.W``, lines of tokens, and an empty line. The documents of
each file are in the order of their numbers, which is the order of time, nearly.

The stories of RCV1 themselves: an XML file each, in a zip for each day.

The text is the headline (the title, where there is none) and the paragraphs, a line each.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Generator, Iterator
from itertools import chain
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from clasher.datasets.archives import Member, damaged, files, members, parse, text_of
from clasher.datasets.dataset import DAYS, Dataset, Part, Split
from clasher.datasets.document import Document, day, distinct, lines
from clasher.datasets.source_folder import Folder, matching, text_blocks
from clasher.errors import StreamError
from clasher.io.lines import split_lines
from clasher.io.records import FaultError

_CODES: Final = (
    "C11 C12 C13 C14 C15 C151 C1511 C152 C16 C17 C171 C172 C173 C174 C18 C181 C182 C183 C21 C22 C23"
    " C24 C31 C311 C312 C313 C32 C33 C331 C34 C41 C411 C42 CCAT E11 E12 E121 E13 E131 E132 E14 E141"
    " E142 E143 E21 E211 E212 E31 E311 E312 E313 E41 E411 E51 E511 E512 E513 E61 E71 ECAT G15 G151"
    " G152 G153 G154 G155 G156 G157 G158 G159 GCAT GCRIM GDEF GDIP GDIS GENT GENV GFAS GHEA GJOB"
    " GMIL GOBIT GODD GPOL GPRO GREL GSCI GSPO GTOUR GVIO GVOTE GWEA GWELF M11 M12 M13 M131 M132"
    " M14 M141 M142 M143 MCAT"
)
CODES: Final = frozenset(_CODES.split())
"""The 103 topics."""

_COLUMNS: Final = {"topic": pa.string(), "story": pa.int32(), "judgement": pa.int8()}


class Judgements:
    r"""The topics of each story, in a few megabytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rcv1-v2.topics.qrels")
    ...     _ = path.write_text("E11 2286 1\nECAT 2286 1\nCCAT 2287 1\n")
    ...     judgements = Judgements(path)
    >>> judgements.of(2286), judgements.of(1)
    (['E11', 'ECAT'], [])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            table = csv.read_csv(
                path,
                csv.ReadOptions(column_names=list(_COLUMNS)),
                csv.ParseOptions(delimiter=" "),
                csv.ConvertOptions(column_types=_COLUMNS),
            )
        except (pa.ArrowException, OSError) as error:
            raise damaged(str(path), error) from error
        table = table.filter(pc.equal(table["judgement"], 1))
        topics = table["topic"].combine_chunks().dictionary_encode()
        stories = table["story"].to_numpy()
        order = np.argsort(stories, kind="stable")
        self._names: list[str] = topics.dictionary.to_pylist()
        self._topics = topics.indices.to_numpy()[order]
        self._stories, starts = np.unique(stories[order], return_index=True)
        self._starts = np.append(starts, len(stories))

    def of(self, story: int) -> list[str]:
        """The topics of a story; none where it is not among those of RCV1-v2."""
        place = int(np.searchsorted(self._stories, story))
        if place == len(self._stories) or self._stories[place] != story:
            return []
        start, stop = self._starts[place : place + 2]
        return [self._names[topic] for topic in self._topics[start:stop].tolist()]


class Hierarchy:
    r"""Which topics lie above which.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rcv1.topics.hier.orig")
    ...     _ = path.write_text(
    ...         "parent: None  child: Root  child-description: Root\n"
    ...         "parent: Root  child: ECAT  child-description: ECONOMICS\n"
    ...         "parent: ECAT  child: E12  child-description: MONETARY/ECONOMIC\n"
    ...         "parent: E12  child: E121  child-description: MONEY SUPPLY\n"
    ...     )
    ...     Hierarchy(path).closed(["E121"])
    ['E121', 'E12', 'ECAT']
    """

    def __init__(self, path: Path) -> None:
        self.parents: dict[str, str] = {}
        text = b"".join(text_blocks(path)).decode("latin-1")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if words[0:4:2] == ["parent:", "child:"] and len(words) > 3:
                self.parents[words[3]] = words[1]
            elif words:
                raise StreamError(
                    f"{path}, line {number} is not 'parent: … child: …': get the file again"
                )

    def closed(self, topics: list[str]) -> list[str]:
        """The topics and all above them; those that only hold the tree together are left out."""
        found = list(topics)
        for topic in topics:
            above = self.parents.get(topic)
            while above is not None:
                if above in CODES:
                    found.append(above)
                above = self.parents.get(above)
        return distinct(found)


LONGEST_LINE: Final = 1 << 20


def read_tokens(paths: list[Path], judgements: Judgements, folder: Folder) -> Iterator[Document]:
    """The documents of several token files, in the order of their numbers."""
    streams = [_documents(path, judgements, folder) for path in paths]
    return heapq.merge(*streams, key=lambda document: int(document.id))


def _documents(path: Path, judgements: Judgements, folder: Folder) -> Iterator[Document]:
    for number, record in enumerate(_records(path), 1):
        folder.reading.records += 1
        try:
            yield parse_tokens(record, judgements)
        except FaultError as fault:
            folder.reading.reject(str(path), number, fault, b"\n".join(record))


def _records(path: Path) -> Iterator[list[bytes]]:
    """The lines of each record."""
    record: list[bytes] = []
    for line in _lines(path):
        if line.startswith(b".I") and record:
            yield record
            record = []
        record.append(line)
    yield record


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last of which must be whole too."""
    end = b""

    def blocks() -> Iterator[bytes]:
        nonlocal end
        for block in text_blocks(path):
            end = block[-1:]
            yield block

    for line in chain.from_iterable(split_lines(blocks(), LONGEST_LINE)):
        yield line.rstrip()
    if end != b"\n":
        raise StreamError(f"{path} ends in the middle of a line: is it complete? Get it again")


def parse_tokens(record: list[bytes], judgements: Judgements) -> Document:
    """A document, from its lines."""
    head, mark, *body = (*record, b"", b"")
    number = head.removeprefix(b".I").strip()
    if not head.startswith(b".I") or not number.isdigit():
        raise FaultError(f"it begins with {head[:40]!r}, not with .I and a number")
    if mark != b".W":
        raise FaultError(f"document {int(number)} has no .W before its words")
    labels = judgements.of(int(number))
    if not labels:
        raise FaultError(f"document {int(number)} has no topics in {judgements.path}")
    text = b"\n".join(line for line in body if line).decode("latin-1")
    return Document(str(int(number)), None, text, labels)


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


TOKENS: Final = ("train", *(f"test_pt{number}" for number in range(4)))
LAST_OF_TRAINING: Final = 26_150

_JUDGEMENTS: Final = ("rcv1-v2.topics.qrels", "rcv1-v2.topics.qrels.gz", "rcv1-v2.topics.qrels.txt")
_HIERARCHY: Final = ("rcv1.topics.hier*orig*", "rcv1.topics.hier*expanded*")
_ARCHIVES: Final = ("rcv1.tar*", "rcv1.tgz", "RCV1.tar*")


def find(path: Path) -> list[Path]:
    """The stories in a folder, and what there is of their topics."""
    stories = day_files(path) or matching(path, _ARCHIVES) or list(_tokens(path).values())
    return [*stories, *_near(path, _JUDGEMENTS), *_near(path, _HIERARCHY)] if stories else []


def read(folder: Folder) -> Generator[Document]:
    """All stories in time order."""
    path = folder.path
    judgements = next(map(Judgements, _near(path, _JUDGEMENTS)), None)
    hierarchy = next(map(Hierarchy, _near(path, _HIERARCHY)), None)
    stories = Stories(judgements, hierarchy)
    if days := day_files(path):
        yield from stories.of_days(days, folder)
    elif archives := matching(path, _ARCHIVES):
        yield from stories.of_archive(archives[0], folder)
    else:
        tokens = _tokens(path)
        missing = [f"lyrl2004_tokens_{part}.dat.gz" for part in TOKENS if part not in tokens]
        if missing or judgements is None:
            lacks = ", ".join([*missing, *([_JUDGEMENTS[1]] if judgements is None else [])])
            raise RCV1.missing(path, f"{path} lacks {lacks}")
        yield from read_tokens(list(tokens.values()), judgements, folder)


def _tokens(path: Path) -> dict[str, Path]:
    """The token files that are there, by their part."""
    found = {}
    for part in TOKENS:
        name = f"lyrl2004_tokens_{part}.dat"
        for each in _near(path, (name, f"{name}.gz")):
            found[part] = each
    return found


def _near(path: Path, patterns: tuple[str, ...]) -> list[Path]:
    """One file in a folder, in a folder in it (such as that of an appendix), or beside it."""
    inside = matching(path, (*patterns, *(f"*/{pattern}" for pattern in patterns)))
    return (inside or matching(path.parent, patterns))[:1]


def _lyrl2004(document: Document) -> Part | None:
    return "train" if int(document.id) <= LAST_OF_TRAINING else "test"


RCV1 = Dataset(
    name="rcv1",
    title="Reuters Corpus, Volume 1 (RCV1, RCV1-v2)",
    about="Reuters news of 20 August 1996 to 19 August 1997, in time order: headline and text.",
    labels="topics, 3.24 on each story",
    documents=804_414,
    classes=103,
    licence="agreement with Reuters; tokens and topics are free",
    source="NIST, 'Reuters Corpora (RCV1, RCV2, TRC2)' "
    "(https://trec.nist.gov/data/reuters/reuters.html), topics and tokens from D. D. Lewis, "
    "'RCV1-v2/LYRL2004' (https://www.jmlr.org/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm)",
    files=(
        "19960820.zip … 19970819.zip, with rcv1-v2.topics.qrels.gz for RCV1-v2",
        "lyrl2004_tokens_train.dat.gz, lyrl2004_tokens_test_pt0.dat.gz … pt3.dat.gz and "
        "rcv1-v2.topics.qrels.gz",
    ),
    finder=find,
    reader=read,
    splits={
        "days": DAYS,
        "lyrl2004": Split(
            "LYRL2004: the 23,149 stories up to number 26150 (August 1996) for training, the "
            "781,265 later ones for testing",
            _lyrl2004,
        ),
    },
    undated="the token files tell no dates; put the zips of days there, or take split 'lyrl2004'",
)
