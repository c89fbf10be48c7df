"""Datasets in files: Parquet, which is read and written, and JSON lines, which are written.

A Parquet file has the columns ``id``, ``date``, ``text`` and ``labels``, in stream order.
"""

import os
import re
from collections.abc import Generator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from clasher.datasets.archives import damaged
from clasher.datasets.dataset import Dataset, Folder, matching
from clasher.datasets.document import Document
from clasher.durable import replaced
from clasher.errors import SettingError, StreamError
from clasher.io.formats import BATCH_BYTES
from clasher.io.lines import BLOCK
from clasher.io.records import FaultError
from clasher.io.writers import STANDARD_OUTPUT, Closing, LineWriter, failing

SCHEMA: Final = pa.schema(
    {"id": pa.string(), "date": pa.string(), "text": pa.string(), "labels": pa.list_(pa.string())}
)
ROWS: Final = 1000  # read at once
ROW_GROUP: Final = 20_000  # rows written at once, which compress well

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_find = partial(matching, patterns=("*.parquet",))


def read(folder: Folder) -> Generator[Document]:
    """Yield all rows in the order of the file."""
    path = folder.only(_find(folder.path), "Parquet file")
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK) as file:
            for name in SCHEMA.names:
                if name not in file.schema_arrow.names:
                    needs = f"a dataset in Parquet needs {', '.join(SCHEMA.names)}"
                    raise StreamError(f"{path} has no column {name!r}; {needs}")
            batches = file.iter_batches(ROWS, columns=SCHEMA.names, use_threads=False)
            rows = enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1)
            encode = partial(msgspec.json.encode, enc_hook=str)
            yield from folder.parsed(str(path), rows, parse, encode)
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
    licence="its own",
    source="its author",
    files=("a .parquet file",),
    finder=_find,
    reader=read,
    undated="this file has no dates to split it by",
)


class DocumentWriter(Closing):
    """Writes documents batch by batch; the file appears when ``finish`` is called.

    The path ``-`` stands for JSON lines on standard output.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        extension = os.path.splitext(self.path)[1].lower()
        self._files = ExitStack()  # closing renames the file, unless there was an error
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0
        self._out: LineWriter | pq.ParquetWriter
        if self.path == STANDARD_OUTPUT:
            self._out = LineWriter(STANDARD_OUTPUT)
        elif extension in (".jsonl", ".ndjson", ".json", ".parquet"):
            with failing(self.path):
                own = self._files.enter_context(replaced(self.path))
                if extension == ".parquet":
                    self._out = pq.ParquetWriter(own, SCHEMA, compression="zstd")
                else:
                    self._out = LineWriter(own, self.path)
        else:
            raise SettingError(f"{self.path}: the extension must be .jsonl or .parquet")

    def write(self, documents: Sequence[Document]) -> None:
        self._rows += [{name: getattr(one, name) for name in SCHEMA.names} for one in documents]
        self._bytes += sum(len(one.text) for one in documents)
        is_full = len(self._rows) >= ROW_GROUP or self._bytes > BATCH_BYTES
        if is_full or isinstance(self._out, LineWriter):
            self._flush()

    def finish(self) -> None:
        """Complete the file, and give it its name."""
        self._flush()
        with failing(self.path):
            self._out.close()
            self._files.close()

    def close(self) -> None:
        """Delete the file if it was not finished."""
        self._out.close()
        with suppress(StreamError):
            self._files.__exit__(StreamError, StreamError("not finished"), None)

    def _flush(self) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        if isinstance(self._out, LineWriter):
            self._out.write_lines(rows)
        elif rows:
            with failing(self.path):
                self._out.write_table(pa.Table.from_pylist(rows, SCHEMA))
