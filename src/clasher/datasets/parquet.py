"""A Parquet file with the columns ``id``, ``date``, ``text`` and ``labels``, in stream order."""

from __future__ import annotations

import re
from collections.abc import Generator
from itertools import chain
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
    {"id": pa.string(), "date": pa.string(), "text": pa.string(), "labels": pa.list_(pa.string())}
)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")

ROWS: Final = 1000  # read at once


def find(path: Path) -> list[Path]:
    """Find the Parquet files in a folder, or the named one."""
    return matching(path, ["*.parquet"])


def read(folder: Folder) -> Generator[Document]:
    """Yield all rows in the order of the file."""
    path = folder.only(find(folder.path), "Parquet file")
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK) as file:
            columns = file.schema_arrow.names
            for name in SCHEMA.names:
                if name not in columns:
                    raise StreamError(
                        f"{path} has no column {name!r}; a dataset in Parquet needs "
                        f"{', '.join(SCHEMA.names)}"
                    )
            batches = file.iter_batches(ROWS, columns=SCHEMA.names, use_threads=False)
            rows = enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1)
            yield from folder.parsed(
                str(path), rows, parse, lambda row: msgspec.json.encode(row, enc_hook=str)
            )
    except (pa.ArrowException, OSError) as error:
        raise damaged(str(path), error) from error


def parse(row: dict[str, Any]) -> Document:
    """Make a document of a row."""
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
    about="A file with the columns id, date (text or null), text and labels (lists of text), in "
    "stream order, as `clasher datasets read NAME FOLDER --to FILE.parquet` writes it.",
    labels="its own",
    documents=None,
    classes=None,
    licence="its own",
    source="its author",
    files=("a .parquet file",),
    finder=find,
    reader=read,
    splits={"days": DAYS},
    undated="this file has no dates to split it by",
)
