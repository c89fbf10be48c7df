"""A Parquet file with the columns ``id``, ``date``, ``text`` and ``labels``, in stream order."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from clasher.datasets.archives import damaged
from clasher.datasets.dataset import DAYS, Dataset
from clasher.datasets.document import Document
from clasher.datasets.source_folder import Folder, matching
from clasher.errors import StreamError
from clasher.io.lines import BLOCK
from clasher.io.records import FaultError

SCHEMA: Final = pa.schema(
    {
        "id": pa.string(),
        "date": pa.string(),
        "text": pa.string(),
        "labels": pa.list_(pa.string()),
    }
)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")

ROWS: Final = 1000
"""Rows that are read at once."""


def find(path: Path) -> list[Path]:
    """The Parquet files in a folder, or the one that is named."""
    return matching(path, ["*.parquet"])


def read(folder: Folder) -> Generator[Document]:
    """All rows as they stand in the file."""
    found = find(folder.path)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise StreamError(f"{folder.path} has more than one Parquet file ({names}): name one")
    path = found[0]
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK) as file:
            _check(path, file.schema_arrow)
            above = 0
            for rows in file.iter_batches(ROWS, columns=SCHEMA.names, use_threads=False):
                yield from _documents(path, rows, above, folder)
                above += rows.num_rows
    except (pa.ArrowException, OSError) as error:
        raise damaged(str(path), error) from error


def _check(path: Path, schema: pa.Schema) -> None:
    missing = [name for name in SCHEMA.names if name not in schema.names]
    if missing:
        wanted = ", ".join(SCHEMA.names)
        raise StreamError(f"{path} has no column {missing[0]!r}; a dataset in Parquet has {wanted}")


def _documents(path: Path, rows: pa.RecordBatch, above: int, folder: Folder) -> Iterator[Document]:
    for number, row in enumerate(rows.to_pylist(), above + 1):
        folder.reading.records += 1
        try:
            yield parse(row)
        except FaultError as fault:
            raw = msgspec.json.encode(row, enc_hook=str)
            folder.reading.reject(str(path), number, fault, raw)


def parse(row: dict[str, Any]) -> Document:
    """A document, from the values of its row.

    >>> parse({"id": "1", "date": None, "text": "wheat", "labels": ["grain"]}).labels
    ['grain']
    """
    try:
        document = msgspec.convert(row, Document)
    except msgspec.ValidationError as error:
        raise FaultError(str(error)) from None
    if document.date is not None and not _DAY.match(document.date):
        raise FaultError(f"its date is {document.date!r}, not a day such as 1996-08-20")
    if "" in (document.labels or ()):
        raise FaultError("one of its labels is empty")
    return document


PARQUET = Dataset(
    name="parquet",
    title="A dataset in a Parquet file",
    about="Whatever has the columns id, date (text or null), text and labels (lists of text), in "
    "stream order; what `clasher datasets read NAME FOLDER --to FILE.parquet` writes.",
    labels="its own",
    documents=None,
    classes=None,
    licence="its own",
    source="whoever made it",
    files=("a .parquet file",),
    finder=find,
    reader=read,
    splits={"days": DAYS},
    undated="this file tells no dates, and cannot be split by them",
)
