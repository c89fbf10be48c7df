"""RCV1, volume 1 of the Reuters corpora, and RCV1-v2, the same with corrected topics.

NIST distributes the stories, XML files in a zip for each day, under a licence. The tokens of the
stories, their topics and the hierarchy of topics are free, in the online appendices of Lewis, Yang,
Rose and Li, *RCV1: A New Benchmark Collection for Text Categorization Research* (2004). The files
in the folder decide what is read:

- Stories with judgements (qrels) are RCV1-v2. Stories without are RCV1 as published, 806,791 of
  them, 2,364 without topics; with the hierarchy, a story also gets the topics above its own.
- Token files need judgements: RCV1-v2 without dates, in the order of numbers.
"""

import heapq
import re
from collections.abc import Generator, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from clasher.datasets.archives import damaged, members
from clasher.datasets.dataset import DAYS, Dataset, Folder, Split, matching, text_blocks
from clasher.datasets.document import Document, by_date, day, distinct, lines
from clasher.datasets.safe_xml import parse_xml, text_of
from clasher.errors import StreamError
from clasher.io.lines import split_lines
from clasher.io.records import FaultError

_PARTS: Final = ("train", "test_pt0", "test_pt1", "test_pt2", "test_pt3")
_TOKENS: Final = tuple(f"lyrl2004_tokens_{part}.dat" for part in _PARTS)
_JUDGEMENTS: Final = ("rcv1-v2.topics.qrels", "rcv1-v2.topics.qrels.gz", "rcv1-v2.topics.qrels.txt")
_HIERARCHY: Final = ("rcv1.topics.hier*orig*", "rcv1.topics.hier*expanded*")
_ARCHIVES: Final = ("rcv1.tar*", "rcv1.tgz", "RCV1.tar*")


def find(path: Path) -> list[Path]:
    """Find the stories in a folder, and the files of their topics."""
    stories = day_files(path) or matching(path, _ARCHIVES) or list(_tokens(path).values())
    return [*stories, *_near(path, _JUDGEMENTS), *_near(path, _HIERARCHY)] if stories else []


def read(folder: Folder) -> Generator[Document]:
    """Yield all stories in time order."""
    path = folder.path
    judgements = next(map(Judgements, _near(path, _JUDGEMENTS)), None)
    parents = next(map(read_hierarchy, _near(path, _HIERARCHY)), None)
    parse = partial(parse_story, judgements=judgements, parents=parents)
    if days := day_files(path):
        for each in days:  # the stories of a day are in the order of their numbers
            stories = members(each, _STORY, glob="*.xml", key=_number)
            yield from folder.parsed_members(stories, parse)
    elif archives := matching(path, _ARCHIVES):
        stories = members(archives[0], _STORY, key=_number)
        yield from by_date(folder.parsed_members(stories, parse), on_held=folder.on_held)
    else:
        tokens = _tokens(path)
        missing = [f"{name}.gz" for name in _TOKENS if name not in tokens]
        missing += [_JUDGEMENTS[1]] if judgements is None else []
        if missing or judgements is None:
            raise RCV1.missing(path, f"{path} lacks {', '.join(missing)}")
        yield from read_tokens(list(tokens.values()), judgements, folder)


def _tokens(path: Path) -> dict[str, Path]:
    """Find the token files, by their names."""
    return {name: found for name in _TOKENS for found in _near(path, (name, f"{name}.gz"))}


def _near(path: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Find one file in a folder, one level below (an appendix) or beside it."""
    inside = matching(path, (*patterns, *(f"*/{pattern}" for pattern in patterns)))
    return (inside or matching(path.parent, patterns))[:1]


_CODES: Final = (
    "C11 C12 C13 C14 C15 C151 C1511 C152 C16 C17 C171 C172 C173 C174 C18 C181 C182 C183 C21 C22 C23"
    " C24 C31 C311 C312 C313 C32 C33 C331 C34 C41 C411 C42 CCAT E11 E12 E121 E13 E131 E132 E14 E141"
    " E142 E143 E21 E211 E212 E31 E311 E312 E313 E41 E411 E51 E511 E512 E513 E61 E71 ECAT G15 G151"
    " G152 G153 G154 G155 G156 G157 G158 G159 GCAT GCRIM GDEF GDIP GDIS GENT GENV GFAS GHEA GJOB"
    " GMIL GOBIT GODD GPOL GPRO GREL GSCI GSPO GTOUR GVIO GVOTE GWEA GWELF M11 M12 M13 M131 M132"
    " M14 M141 M142 M143 MCAT"
)
CODES: Final = frozenset(_CODES.split())  # the 103 topics

_COLUMNS: Final = {"topic": pa.string(), "story": pa.int32(), "judgement": pa.int8()}


class Judgements:
    """The topics of each story, in a few megabytes; a line is ``E11 2286 1``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            table = csv.read_csv(
                path, csv.ReadOptions(column_names=list(_COLUMNS)),
                csv.ParseOptions(delimiter=" "), csv.ConvertOptions(column_types=_COLUMNS),
            )  # fmt: skip
        except (pa.ArrowException, OSError) as error:
            raise damaged(str(path), error) from error
        judged = table.filter(pc.equal(table["judgement"], 1))
        topics = judged.group_by("story", use_threads=False).aggregate([("topic", "list")])
        topics = topics.sort_by("story")
        self._stories, self._topics = topics["story"].to_numpy(), topics["topic_list"]

    def of(self, story: int) -> list[str]:
        """Return the topics of a story, an empty list if RCV1-v2 does not have it."""
        place = int(np.searchsorted(self._stories, story))
        is_there = place < len(self._stories) and self._stories[place] == story
        return list(self._topics[place].as_py()) if is_there else []


def read_hierarchy(path: Path) -> dict[str, str]:
    """Read the parents of topics; a line is ``parent: ECAT  child: E11  child-description: …``."""
    parents: dict[str, str] = {}
    text = b"".join(text_blocks(path)).decode("latin-1")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words[0:4:2] == ["parent:", "child:"] and len(words) > 3:
            parents[words[3]] = words[1]
        elif words:
            rule = "is not 'parent: … child: …'"
            raise StreamError(f"{path}, line {number} {rule}; get the file again")
    return parents


def closed(topics: list[str], parents: Mapping[str, str]) -> list[str]:
    """Add the topics above these, leaving out inner nodes that are no topics."""
    found = list(topics)
    for topic in topics:
        while topic := parents.get(topic, ""):
            if topic in CODES:
                found.append(topic)
    return distinct(found)


_STORY: Final = re.compile(r"(?:^|/)\d+newsML\.xml$", re.IGNORECASE)
_DAY: Final = re.compile(r"(?:^|/)(\d{4})(\d\d)(\d\d)(?:\.zip)?/[^/]*$", re.IGNORECASE)
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_NUMBER: Final = re.compile(r"(\d+)\D*$")


def day_files(path: Path) -> list[Path]:
    """Find the zip of each day, or the folder of its stories, in the order of days."""
    found: dict[str, Path] = {}
    digits = "[0-9]" * 8
    for depth in ("", "*/", "*/*/"):
        for pattern in (f"{depth}{digits}.zip", f"{depth}{digits}"):
            for each in path.glob(pattern):
                found.setdefault(each.name.partition(".")[0], each)
    return [found[day] for day in sorted(found)]


def parse_story(
    name: str, raw: bytes, judgements: Judgements | None, parents: Mapping[str, str] | None
) -> Document | None:
    """Parse a story: the headline (or else the title) and the paragraphs, a line each.

    With judgements, only the stories of RCV1-v2 are read, and these are their topics. Otherwise
    topics are those in the stories, and those above them in the hierarchy.
    """
    root = parse_xml(raw)
    number = root.get("itemid", "")
    if root.tag != "newsitem" or not number.isdecimal():
        raise FaultError("it is not a <newsitem itemid=…>")
    if judgements is not None:
        labels = judgements.of(int(number))
        if not labels:
            return None
    elif root.find("metadata") is None:
        raise FaultError("it has no <metadata>, so no codes")
    else:
        codes = root.iterfind("metadata/codes[@class='bip:topics:1.0']/code")
        labels = [code.get("code", "") for code in codes]
        if "" in labels:
            raise FaultError("one of its topics is a <code> without the attribute code")
        labels = closed(labels, parents or {})
    title = text_of(root.find("headline")) or text_of(root.find("title"))
    text = lines(title, *map(text_of, root.iterfind("text/p")))
    return Document(str(int(number)), _date(name, root.get("date", "")), text, labels or None)


def _number(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found[1]) if found else 0


def _date(name: str, stated: str) -> str:
    """Return the day of the folder or zip of a story, which keeps the order, or its stated day."""
    for found in (_DAY.search(name), _DATE.fullmatch(stated)):
        if found and (date := day(*found.groups())):
            return date
    raise FaultError(f"its date is {stated!r}" if stated else "it has no date")


def read_tokens(paths: list[Path], judgements: Judgements, folder: Folder) -> Iterator[Document]:
    """Yield the documents of token files, in the order of their numbers (nearly that of time).

    A record is a line ``.I 2286``, a line ``.W``, lines of stemmed words, and an empty line.
    """
    parse = partial(_parse_tokens, judgements)
    each = ((str(path), enumerate(_records(path), 1)) for path in paths)
    streams = [folder.parsed(name, records, parse, b"\n".join) for name, records in each]
    return heapq.merge(*streams, key=lambda document: int(document.id))


def _records(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of each record; raise if the last line is incomplete."""
    record: list[bytes] = []
    marked = chain(text_blocks(path), [b"\0"])  # the mark is alone if the last line is complete
    for line in chain.from_iterable(split_lines(marked, 1 << 20)):
        if line.endswith(b"\0"):
            break
        if line.startswith(b".I") and record:
            yield record
            record = []
        record.append(line.rstrip())
    if line != b"\0":
        raise StreamError(f"{path} ends in the middle of a line; get it again")
    yield record


def _parse_tokens(judgements: Judgements, record: list[bytes]) -> Document:
    head, mark, *body = (*record, b"", b"")
    number = head.removeprefix(b".I").strip()
    if not head.startswith(b".I") or not number.isdigit():
        raise FaultError(f"it starts with {head[:40]!r}, not with .I and a number")
    if mark != b".W":
        raise FaultError(f"document {int(number)} has no .W before its words")
    labels = judgements.of(int(number))
    if not labels:
        raise FaultError(f"document {int(number)} has no topics in {judgements.path}")
    text = b"\n".join(line for line in body if line).decode("latin-1")
    return Document(str(int(number)), None, text, labels)


RCV1 = Dataset(
    name="rcv1",
    title="Reuters Corpus, Volume 1 (RCV1, RCV1-v2)",
    about="Reuters news from 20 August 1996 to 19 August 1997, in time order: headline and text.",
    labels="topics, 3.24 per story",
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
            lambda document: "train" if int(document.id) <= 26_150 else "test",
        ),
    },
    undated="the token files have no dates; add the zips of days, or use split 'lyrl2004'",
)
