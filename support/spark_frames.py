"""Data frames with known partitions, each a file that an executor reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.corpora import Corpus

SCHEMA = "number int, text string, labels array<string>"


def table(corpus: Corpus) -> pa.Table:
    """Turn a corpus into rows."""
    numbers = pa.array(range(len(corpus)), pa.int32())
    return pa.table({"number": numbers, "text": corpus.texts, "labels": corpus.labels})


def cut(length: int, parts: int) -> list[slice]:
    """Cut a length into consecutive parts; some are empty if there are more parts than rows."""
    bounds = [length * part // parts for part in range(parts + 1)]
    return [slice(*pair) for pair in pairwise(bounds)]


def in_parts(spark: Any, rows: pa.Table, parts: int, folder: Path) -> Any:
    """Make a data frame of consecutive parts of a table, each a partition and a file."""
    write_parts(rows, parts, folder)
    return read_parts(spark, parts, folder)


def write_parts(rows: pa.Table, parts: int, folder: Path) -> None:
    """Write consecutive parts of a table, each to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, inside in enumerate(cut(len(rows), parts)):
        pq.write_table(rows[inside], folder / f"{number}.parquet")


def read_parts(spark: Any, parts: int, folder: Path) -> Any:
    """Make a data frame of the files of ``write_parts``, which executors read."""
    name = str(folder)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield from pq.ParquetFile(f"{name}/{part}.parquet").iter_batches(10_000)

    return spark.range(0, parts, 1, parts).mapInArrow(read, SCHEMA)
