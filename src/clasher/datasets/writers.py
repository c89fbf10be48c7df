"""Write documents to a file, as JSON lines or Parquet, atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from clasher.datasets.document import Document
from clasher.datasets.parquet import SCHEMA
from clasher.durable import replaced
from clasher.errors import SettingError
from clasher.io.formats import BATCH_BYTES
from clasher.io.writers import STANDARD_OUTPUT, Closing, LineWriter, failure

ROW_GROUP: Final = 20_000  # rows of a Parquet file written at once


class DocumentWriter(Closing):
    """Writes documents batch by batch; the file appears when ``finish`` is called.

    The path ``-`` stands for JSON lines on standard output.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._files = ExitStack()  # closing renames the file, unless there was an error
        extension = os.path.splitext(self.path)[1].lower()
        self._out: LineWriter | _Parquet
        if self.path == STANDARD_OUTPUT:
            self._out = LineWriter(STANDARD_OUTPUT)
        elif extension in (".jsonl", ".ndjson", ".json", ".parquet"):
            with _failing(self.path):
                own = self._files.enter_context(replaced(self.path))
            self._out = (_Parquet if extension == ".parquet" else LineWriter)(own, self.path)
        else:
            raise SettingError(f"{self.path}: the extension must be .jsonl or .parquet")

    def write(self, documents: Sequence[Document]) -> None:
        self._out.write_lines(
            [{name: getattr(one, name) for name in SCHEMA.names} for one in documents]
        )

    def finish(self) -> None:
        """Complete the file, and give it its name."""
        self._out.close()
        with _failing(self.path):
            self._files.close()

    def close(self) -> None:
        """Delete the file if it was not finished."""
        self._out.close()
        with suppress(_Unfinished):
            self._files.__exit__(_Unfinished, _Unfinished(), None)


@contextmanager
def _failing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failure(path, error) from error


class _Unfinished(Exception):  # noqa: N818 - discards a file, not a failure
    pass


class _Parquet:
    """Collects rows into groups large enough to compress well."""

    def __init__(self, path: str, what: str) -> None:
        self._what = what
        self._rows: list[dict[str, object]] = []
        self._bytes = 0
        with _failing(what):
            self._file = pq.ParquetWriter(path, SCHEMA, compression="zstd")

    def write_lines(self, rows: Sequence[dict[str, object]]) -> None:
        self._rows += rows
        self._bytes += sum(len(str(row["text"])) for row in rows)
        if len(self._rows) >= ROW_GROUP or self._bytes > BATCH_BYTES:
            self._flush()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        table = pa.Table.from_pylist(self._rows, SCHEMA)
        self._rows, self._bytes = [], 0
        with _failing(self._what):
            self._file.write_table(table)
