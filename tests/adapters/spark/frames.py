"""Data frames whose partitions are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from benchmarks.corpora import Corpus

SCHEMA = "number int, text string, labels array<string>"
SETTINGS = {"dimensions": 512, "max_labels": 32}
PARTITIONS = 6


def cut(length: int, parts: int) -> list[slice]:
    """So many consecutive parts; some are empty where there are more parts than rows."""
    bounds = [length * part // parts for part in range(parts + 1)]
    return [slice(*pair) for pair in pairwise(bounds)]


def table(corpus: Corpus) -> pa.Table:
    """The rows of a stream."""
    numbers = pa.array(range(len(corpus)), pa.int32())
    return pa.table({"number": numbers, "text": corpus.texts, "labels": corpus.labels})


def in_partitions(spark: Any, rows: pa.Table, order: Sequence[slice]) -> Any:
    """A data frame whose partitions are these slices of the rows, in this order."""

    class Part:
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    yield from rows[order[part]].to_batches()

    return spark.range(0, len(order), 1, len(order)).mapInArrow(Part(), SCHEMA)
