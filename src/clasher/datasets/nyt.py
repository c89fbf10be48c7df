"""The New York Times Annotated Corpus: NITF files in an archive for each month.

The text is the headline and the paragraphs of the full text, a line each; the labels are the
General Online Descriptors, which the producers of nytimes.com assigned to some articles.
"""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element

from clasher.datasets.archives import members
from clasher.datasets.dataset import Dataset, Folder, matching
from clasher.datasets.document import Document, by_date, day, distinct, lines, tidy
from clasher.datasets.safe_xml import parse_xml, text_of
from clasher.io.records import FaultError

DESCRIPTORS: Final = (
    "head/docdata/identified-content/classifier"
    "[@class='online_producer'][@type='general_descriptor']"
)
_ARTICLE: Final = re.compile(r"(?:^|/)\d+\.xml$")
_FILED: Final = re.compile(r"(\d{4})/(\d\d)(?:\.\w+)*/(?:\2/)?(\d\d)/[^/]+$")
_PUBLISHED: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)")
_ARCHIVES: Final = ("nyt_corpus*.t*", "LDC2008T19*.t*")


def months(path: Path) -> list[Path]:
    """Find the archive of each month, or the folder of its days, in time order."""
    found: dict[tuple[str, str], Path] = {}
    for depth in ("", "data/", "*/data/"):
        for month in ("[01][0-9].tgz", "[01][0-9].tar.gz", "[01][0-9].tar", "[01][0-9]"):
            for each in path.glob(f"{depth}[12][0-9][0-9][0-9]/{month}"):
                found.setdefault((each.parent.name, each.name[:2]), each)
    return [found[month] for month in sorted(found)]


def find(path: Path) -> list[Path]:
    """Find the archives of months in a folder, or the one of all."""
    return months(path) or matching(path, _ARCHIVES)


def read(folder: Folder) -> Generator[Document]:
    """Yield all articles in time order, sorted month by month."""
    for path in find(folder.path):
        found = members(path, _ARTICLE, glob="[0-3][0-9]/*.xml")
        yield from by_date(folder.parsed_members(found, parse), on_held=folder.on_held)


def parse(name: str, raw: bytes) -> Document:
    """Parse the file of an article."""
    root = parse_xml(raw)
    if root.tag != "nitf":
        raise FaultError(f"it is <{root.tag}>, not <nitf>")
    if root.find("head") is None or root.find("body") is None:
        raise FaultError("it has no <head> or no <body>")
    identifier = root.find("head/docdata/doc-id")
    own = "" if identifier is None else identifier.get("id-string", "")
    content = "body/body.content/block[@class='{}']/p"
    paragraphs = root.findall(content.format("full_text"))
    text = lines(
        text_of(root.find("body/body.head/hedline/hl1")),
        *map(text_of, paragraphs or root.iterfind(content.format("lead_paragraph"))),
    )
    labels = distinct(tidy(text_of(element)) for element in root.iterfind(DESCRIPTORS))
    own = own or name.rpartition("/")[2].removesuffix(".xml")
    return Document(own, _date(root, name), text, labels or None)


def _date(root: Element, name: str) -> str:
    """Return the day that an article states if it fits the month of its folder, or the folder's."""
    found = _FILED.search(name)
    filed = found and day(*found.groups())
    element = root.find("head/pubdata")
    found = _PUBLISHED.match("" if element is None else element.get("date.publication", ""))
    published = found and day(*found.groups())
    content = {meta.get("name"): meta.get("content", "") for meta in root.iterfind("head/meta")}
    names = ("publication_year", "publication_month", "publication_day_of_month")
    for stated in (published, day(*(content.get(name) or "" for name in names)), filed):
        if stated and (filed is None or stated[:7] == filed[:7]):
            return stated
    raise FaultError("it has no date: neither <pubdata>, nor <meta>, nor its folder has one")


NYT = Dataset(
    name="nyt",
    title="The New York Times Annotated Corpus",
    about="New York Times articles from January 1987 to June 2007, in time order: headline "
    "and full text.",
    labels="General Online Descriptors, which some articles have",
    documents=1_855_658,
    classes=1_622,
    licence="agreement with the LDC, for a fee",
    source="the Linguistic Data Consortium, 'The New York Times Annotated Corpus', LDC2008T19 "
    "(https://catalog.ldc.upenn.edu/LDC2008T19)",
    files=("the folder data with 1987/01.tgz … 2007/06.tgz", "one archive of all"),
    finder=find,
    reader=read,
)
