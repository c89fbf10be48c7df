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
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Final

from clasher.datasets.dataset import DAYS, Dataset, Part, Split
from clasher.datasets.documents import Document
from clasher.datasets.folder import Folder, matching
from clasher.datasets.rcv1_tokens import read_tokens
from clasher.datasets.rcv1_topics import Hierarchy, Judgements
from clasher.datasets.rcv1_xml import Stories, day_files

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
