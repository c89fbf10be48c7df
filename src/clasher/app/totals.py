"""How many records a stream will have: told by tables, estimated for text files."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from clasher.io.blocks import sniffed
from clasher.io.formats import Source

SAMPLE = 1 << 20  # bytes of a text file that are looked at


def expected_records(
    paths: Sequence[str],
    format: str | None = None,  # noqa: A002
    limit: int | None = None,
    delimiter: str | None = None,
) -> int | None:
    """The number of records, more or less; None where only reading them all would tell."""
    total = 0
    for path in paths:
        count = _records(sniffed(Source.of(path, format, delimiter)))
        if count is None:
            return limit
        total += count
    return total if limit is None else min(total, limit)


def _records(source: Source) -> int | None:
    if source.is_standard_input or source.compression or not os.path.isfile(source.name):
        return None
    try:
        if source.kind == "parquet":
            return int(pq.read_metadata(source.name).num_rows)
        if source.kind == "arrow":
            return _arrow_rows(source.name)
        return _lines(source.name)
    except (OSError, pa.ArrowException):
        return None  # the reader will say what is wrong


def _arrow_rows(path: str) -> int:
    with pa.memory_map(path) as file:
        table = pa.ipc.open_file(file)
        return sum(table.get_batch(i).num_rows for i in range(table.num_record_batches))


def _lines(path: str) -> int | None:
    """Lines by the mean length of the first ones."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(SAMPLE)
    lines = head.count(b"\n")
    if len(head) == size:
        return lines + (not head.endswith(b"\n"))
    return round(size * lines / len(head)) if lines else None
