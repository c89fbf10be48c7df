"""Small corpora in the very formats in which their owners hand them out."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
"""Real corpora, where there are any."""


# ── archives ─────────────────────────────────────────────────────────────────────────────────────


def tar(members: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return sink.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


# ── Reuters-21578 ────────────────────────────────────────────────────────────────────────────────


def sgml(text: str) -> str:
    """Text as the collection has it: only ``<`` and ``&`` are escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def story(
    number: int,
    date: str = "26-FEB-1987 15:01:01.79",
    topics: Iterable[str] = ("grain",),
    title: str = "WHEAT",
    body: str = "Wheat prices rose.",
    *,
    indexed: str = "YES",
    lewis: str = "TRAIN",
    cgi: str = "TRAINING-SET",
    text: str | None = None,
) -> str:
    """A story; ``text`` takes the place of the whole TEXT element."""
    marked = "".join(f"<D>{topic}</D>" for topic in topics)
    if text is None:
        text = (
            f"<TEXT>&#2;\n<TITLE>{sgml(title)}</TITLE>\n<AUTHOR>    By A. Writer</AUTHOR>\n"
            f"<DATELINE>    LONDON, Feb 26 - </DATELINE><BODY>{sgml(body)}\n Reuter\n&#3;</BODY>"
            f"</TEXT>"
        )
    return (
        f'<REUTERS TOPICS="{indexed}" LEWISSPLIT="{lewis}" CGISPLIT="{cgi}" OLDID="{number + 5000}"'
        f' NEWID="{number}">\n<DATE>{date}</DATE>\n<TOPICS>{marked}</TOPICS>\n'
        f"<PLACES><D>usa</D></PLACES>\n<PEOPLE></PEOPLE>\n<ORGS></ORGS>\n<EXCHANGES></EXCHANGES>\n"
        f"<COMPANIES></COMPANIES>\n<UNKNOWN> \n&#5;&#5;&#5;C T\n&#22;&#22;&#1;f0704&#31;reute\n"
        f"u f BC-WHEAT-&lt;W>   02-26 0105</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


def sgml_files(stories: Iterable[str]) -> dict[str, bytes]:
    """The 22 files, the stories dealt out to them in turn; every file has one at least."""
    dealt: list[list[str]] = [[] for _ in range(22)]
    for number, each in enumerate(stories):
        dealt[number % 22].append(each)
    filler = story(99_000, topics=(), date="20-OCT-1987 23:59:59.00", indexed="BYPASS")
    return {
        f"reut2-{number:03}.sgm": (
            '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(some or [filler])
        ).encode("latin-1")
        for number, some in enumerate(dealt)
    }


# ── RCV1 ─────────────────────────────────────────────────────────────────────────────────────────


def newsitem(
    number: int,
    date: str = "1996-08-20",
    topics: Iterable[str] = ("E11", "ECAT"),
    headline: str = "Recovery excitement brings Mexican markets to life.",
    paragraphs: Iterable[str] = ("Emerging evidence.",),
    encoding: str = "iso-8859-1",
) -> bytes:
    """A story as it stands on the discs."""

    def codes(kind: str, names: Iterable[str]) -> str:
        marked = "".join(
            f'  <code code="{name}">\n    <editdetail attribution="Reuters BIP Coding Group" '
            f'action="confirmed" date="{date}"/>\n  </code>\n'
            for name in names
        )
        return f'<codes class="bip:{kind}:1.0">\n{marked}</codes>\n' if marked else ""

    text = "\n".join(f"<p>{escape(p)}</p>" for p in paragraphs)
    return (
        f'<?xml version="1.0" encoding="{encoding}" ?>\n'
        f'<newsitem itemid="{number}" id="root" date="{date}" xml:lang="en">\n'
        f"<title>MEXICO: {escape(headline)}</title>\n<headline>{escape(headline)}</headline>\n"
        f"<byline>Henry Tricks</byline>\n<dateline>MEXICO CITY</dateline>\n"
        f"<text>\n{text}\n</text>\n<copyright>(c) Reuters Limited 1996</copyright>\n<metadata>\n"
        f"{codes('countries', ['MEX'])}{codes('topics', topics)}"
        f'<dc element="dc.publisher" value="Reuters Holdings Plc"/>\n'
        f'<dc element="dc.date.published" value="{date}"/>\n</metadata>\n</newsitem>\n'
    ).encode(encoding)


def day_zip(stories: Mapping[int, bytes]) -> bytes:
    """The zip of a day."""
    return zipped({f"{number}newsML.xml": content for number, content in stories.items()})


def tokens(documents: Mapping[int, str]) -> bytes:
    """A token file."""
    return "".join(f".I {number}\n.W\n{text}\n\n" for number, text in documents.items()).encode()


def qrels(topics: Mapping[int, Iterable[str]]) -> bytes:
    """The file of judgements."""
    return "".join(f"{t} {number} 1\n" for number, some in topics.items() for t in some).encode()


HIERARCHY = b"""\
parent: None                    child: Root                     child-description: Root
parent: Root                    child: CCAT                     child-description: CORPORATE
parent: Root                    child: ECAT                     child-description: ECONOMICS
parent: CCAT                    child: C15                      child-description: PERFORMANCE
parent: C15                     child: C151                     child-description: ACCOUNTS
parent: C151                    child: C1511                    child-description: ANNUAL RESULTS
parent: ECAT                    child: E11                      child-description: PERFORMANCE
"""


# ── the New York Times ───────────────────────────────────────────────────────────────────────────


def nitf(
    number: int,
    date: str | None = "19870101T000000",
    descriptors: Iterable[str] = ("Medicine and Health",),
    headline: str = "Doctors Meet",
    paragraphs: Iterable[str] = ("LEAD: Doctors met.", "They talked."),
    meta: tuple[str, str, str] | None = ("1987", "1", "1"),
) -> bytes:
    """An article."""
    reported = ""
    if meta is not None:
        names = ("publication_year", "publication_month", "publication_day_of_month")
        reported = "".join(
            f'    <meta content="{value}" name="{name}"/>\n'
            for name, value in zip(names, meta, strict=True)
        )
    labels = "".join(
        f'        <classifier class="online_producer" type="general_descriptor">{escape(label)}'
        f"</classifier>\n"
        for label in descriptors
    )
    published = "" if date is None else f"date.publication={quoteattr(date)} "
    text = "".join(f"        <p>{escape(p)}</p>\n" for p in paragraphs)
    lead = "".join(f"        <p>{escape(p)}</p>\n" for p in list(paragraphs)[:1])
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE nitf SYSTEM '
        '"http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">\n'
        '<nitf change.date="June 10, 2005" change.time="19:30" '
        'version="-//IPTC//DTD NITF 3.3//EN">\n'
        f"  <head>\n    <title>{escape(headline)}</title>\n{reported}"
        '    <meta content="Metropolitan Desk" name="dsk"/>\n    <docdata>\n'
        f'      <doc-id id-string="{number}"/>\n'
        '      <doc.copyright holder="The New York Times" year="1987"/>\n'
        "      <identified-content>\n"
        '        <classifier class="indexing_service" type="descriptor">DOCTORS</classifier>\n'
        f'        <classifier class="online_producer" type="taxonomic_classifier">Top/News'
        f"</classifier>\n{labels}      </identified-content>\n    </docdata>\n"
        f'    <pubdata {published}item-length="20" name="The New York Times" '
        'unit-of-measure="word"/>\n  </head>\n  <body>\n    <body.head>\n'
        f"      <hedline>\n        <hl1>{escape(headline)}</hl1>\n      </hedline>\n"
        "    </body.head>\n    <body.content>\n"
        f'      <block class="lead_paragraph">\n{lead}      </block>\n'
        f'      <block class="full_text">\n{text}      </block>\n'
        "    </body.content>\n  </body>\n</nitf>\n"
    ).encode()


# ── arXiv ────────────────────────────────────────────────────────────────────────────────────────


def paper(
    number: str,
    created: str = "Mon, 2 Apr 2007 19:18:42 GMT",
    categories: str = "hep-ph",
    title: str = "Calculation of prompt diphoton production\n  cross sections",
    abstract: str = "  A fully differential calculation\nis presented.\n",
    **other: Any,
) -> bytes:
    """A line of the snapshot."""
    fields = {
        "id": number,
        "submitter": "Pavel Nadolsky",
        "authors": "C. Bal\\'azs, E. L. Berger",
        "title": title,
        "comments": "37 pages",
        "journal-ref": None,
        "doi": "10.1103/PhysRevD.76.013009",
        "report-no": None,
        "categories": categories,
        "license": None,
        "abstract": abstract,
        "versions": [
            {"version": "v1", "created": created},
            {"version": "v2", "created": "Tue, 24 Jul 2007 20:10:27 GMT"},
        ],
        "update_date": "2008-11-26",
        "authors_parsed": [["Balázs", "C.", ""]],
    }
    return json.dumps(fields | other).encode() + b"\n"


def gz(content: bytes) -> bytes:
    return gzip.compress(content, 1)
