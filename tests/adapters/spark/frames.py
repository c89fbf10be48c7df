"""Data frames whose partitions are known, and what tasks are given without a cluster."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from support.spark_frames import SCHEMA, cut, table

__all__ = ["PARTITIONS", "SETTINGS", "TRIAL", "Broadcast", "batch", "cut", "in_partitions", "table"]

TRIAL = functools.partial(pytest.param, marks=pytest.mark.trial)
"""A parameter that only ``make test-all`` runs."""
SETTINGS = {"dimensions": 512, "max_labels": 32}
PARTITIONS = 6


def in_partitions(spark: Any, rows: pa.Table, order: Sequence[slice]) -> Any:
    """A data frame whose partitions are these slices of the rows, in this order."""

    class Part:
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for part in batch.column(0).to_pylist():
                    yield from rows[order[part]].to_batches()

    return spark.range(0, len(order), 1, len(order)).mapInArrow(Part(), SCHEMA)


class Broadcast(NamedTuple):
    """A broadcast as a task sees it."""

    value: Any


def batch(corpus: Any, inside: slice = slice(None)) -> pa.RecordBatch:
    """The rows of a part of a corpus."""
    columns = [corpus.texts[inside], corpus.labels[inside]]
    return pa.RecordBatch.from_arrays(columns, ["text", "labels"])
