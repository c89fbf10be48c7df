"""What executors do with a batch of a stream: predict, and hash for the driver to learn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, FloatType, IntegerType

from clasher.adapters.spark.columns import Columns, column, in_pieces
from clasher.adapters.spark.predicting import LABELS, Sent, beside, received, with_columns
from clasher.hashed import Hashed, HashedWords
from clasher.settings import Settings

SOUND, BUCKETS, COUNTS = "_clasher_sound", "_clasher_buckets", "_clasher_counts"
OWN = (SOUND, BUCKETS, COUNTS)
"""Columns that are nobody's business but ours."""

_HASHED: dict[str, DataType] = {
    BUCKETS: ArrayType(IntegerType(), containsNull=False),
    COUNTS: ArrayType(FloatType(), containsNull=False),
}


def hashes_ahead(settings: Settings) -> bool:
    """Whether executors can hash for the driver: words, where a model keeps them, stay behind."""
    return not settings.keeps_words and settings.depth == 1


def staged(
    batch: DataFrame, sent: Broadcast[Sent], columns: Columns, output: str, hashing: bool
) -> DataFrame:
    """A batch with the predictions of a model, hashed where that is of use, its rows judged."""
    schema = with_columns(batch, {output: LABELS} | (_HASHED if hashing else {}))
    task = Stage(sent, columns.text, output, hashing)
    found = batch.mapInArrow(task, schema).withColumn(SOUND, columns.is_sound(batch))
    return found.withColumn(output, sf.array_sort(column(output)))


@dataclass(frozen=True)
class Stage:
    """A task: labels and hashes the rows of a partition."""

    sent: Broadcast[Sent]
    text: str
    output: str
    hashing: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows in, the same rows with more columns out; nulls where there is no text."""
        model = received(self.sent)
        for rows in in_pieces(batches):
            texts = rows.column(self.text)
            missing = texts.is_null()
            hashed = model.hash_many(pc.fill_null(texts, ""))
            added = {self.output: model.predict_many(hashed).to_arrow()}
            if self.hashing:
                added |= zip((BUCKETS, COUNTS), as_lists(hashed), strict=True)
            yield beside(rows, added, missing)


def as_lists(hashed: Hashed) -> list[pa.ListArray]:
    """Hashed documents as two columns of lists."""
    offsets = pa.array(hashed.indptr.astype(np.int32))
    kinds = ((hashed.buckets, pa.int32()), (hashed.counts, pa.float32()))
    return [pa.ListArray.from_arrays(offsets, pa.array(own, kind)) for own, kind in kinds]


def hashed_of(rows: Any, analysis: str) -> Hashed:
    """What ``as_lists`` gave, in a table or a batch; ``analysis`` says what hashed it."""
    buckets, counts = rows.column(BUCKETS), rows.column(COUNTS)
    lengths = _numpy(pc.list_value_length(buckets))
    return Hashed(
        np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        _numpy(pc.list_flatten(buckets)).astype(np.int32, copy=False),
        _numpy(pc.list_flatten(counts)).astype(np.float32, copy=False),
        HashedWords.none(rows.num_rows),
        analysis,
    )


def _numpy(column: Any) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found
