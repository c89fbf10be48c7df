"""Models of partitions become one, in a tree: no task sees more than a few of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark import packing
from clasher.analyzer import Tokenizer
from clasher.model import Clasher

FAN = 16  # models that become one at a time


@dataclass(frozen=True)
class Merge:
    """A task: makes one model of every ``fan`` neighbours, in the order of their numbers.

    The order is always the same, so the result is, whichever of them were ready first.
    """

    fan: int
    tokenizer: Tokenizer | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of pieces in, rows of pieces out."""
        with packing.Gathered(batches, self.tokenizer) as gathered:
            for group, numbers in groupby(gathered.numbers, lambda number: number // self.fan):
                first, *others = numbers
                model = gathered.take(first)
                for number in others:
                    model.merge(gathered.take(number))
                yield from packing.in_pieces(group, model)


def merged(parts: DataFrame, count: int, tokenizer: Tokenizer | None = None) -> Clasher | None:
    """The models of a data frame of pieces, whose numbers are below ``count``, as one.

    None where there is no model at all.
    """
    while count > 1:
        count = -(-count // FAN)
        group = sf.floor(sf.col("number") / FAN).cast("int")
        task = Merge(FAN, tokenizer)
        parts = parts.repartitionById(count, group).mapInArrow(task, packing.SCHEMA)
    with packing.Gathered(parts.toArrow().to_batches(), tokenizer) as gathered:
        return gathered.take(gathered.numbers[0]) if gathered.numbers else None
