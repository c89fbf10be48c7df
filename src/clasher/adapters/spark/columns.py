"""Documents in the columns of a data frame: text, labels and id, and hashed words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sf

from clasher.errors import SettingError, TextError
from clasher.io.records import listing
from clasher.labels import LabelSets
from clasher.model import BATCH
from clasher.text.hashing import Hashed, HashedWords
from clasher.text.label_names import INVISIBLE

LABELS = types.ArrayType(types.StringType(), containsNull=False)
BUCKETS, COUNTS = "_clasher_buckets", "_clasher_counts"
HASHED: dict[str, types.DataType] = {
    BUCKETS: types.ArrayType(types.IntegerType(), containsNull=False),
    COUNTS: types.ArrayType(types.FloatType(), containsNull=False),
}
"""The columns of hashed documents."""

_VISIBLE = f"(?U)[^\\s{INVISIBLE}]"  # a regular expression of Java


@dataclass(frozen=True)
class Columns:
    """The columns of the text, the labels and the id.

    Labels are an array of text, or a map from label to boolean that leaves other labels unknown;
    null means unlabelled.
    """

    text: str = "text"
    labels: str | None = "labels"
    id: str | None = None

    @property
    def names(self) -> list[str]:
        return [name for name in (self.text, self.labels, self.id) if name is not None]

    def select(self, df: DataFrame) -> DataFrame:
        """Select these columns, with ids as text; raise if one is missing or of a wrong type."""
        self.check(df)
        return df.select(*map(self.column, self.names))

    def column(self, name: str) -> Column:
        return column(name).cast("string").alias(name) if name == self.id else column(name)

    def check(self, df: DataFrame) -> None:
        """Raise if a column is missing or of a wrong type."""
        found = {field.name: field.dataType for field in df.schema}
        for name in self.names:
            if name not in found:
                raise SettingError(
                    f"the data frame has no column {name!r}; it has {listing(df.columns)}"
                )
        if not isinstance(found[self.text], types.StringType):
            kind = found[self.text].simpleString()
            raise SettingError(f"column {self.text!r} must be text. Got {kind}.")
        if self.labels is not None and not _holds_labels(found[self.labels]):
            raise SettingError(
                f"column {self.labels!r} must be an array of text, or a map from text to boolean. "
                f"Got {found[self.labels].simpleString()}; pyspark.sql.functions.split turns "
                f"separated text into an array"
            )

    def is_valid(self, df: DataFrame) -> Column:
        """Test rows: a row that can be learnt has text and no null or blank label."""
        has_text = column(self.text).isNotNull()
        if self.labels is None:
            return has_text
        labels = column(self.labels)
        is_array = isinstance(df.schema[self.labels].dataType, types.ArrayType)
        names = labels if is_array else sf.map_keys(labels)
        named = sf.forall(names, lambda name: name.isNotNull() & name.rlike(_VISIBLE))
        return has_text & (labels.isNull() | named)


class Documents(NamedTuple):
    """The documents of some rows."""

    texts: pa.Array
    labels: LabelSets
    ids: list[str | None] | None

    @classmethod
    def of(cls, rows: pa.RecordBatch, columns: Columns) -> Documents:
        texts = rows.column(columns.text)
        if texts.null_count:
            raise TextError(
                f"a row has no text in column {columns.text!r}; drop such rows first: "
                f"df.na.drop(subset=[{columns.text!r}])"
            )
        labels = LabelSets.unlabelled(len(texts))
        if columns.labels is not None:
            labels = LabelSets.of(rows.column(columns.labels))
        ids = None if columns.id is None else rows.column(columns.id).to_pylist()
        return cls(texts, labels, ids)


def column(name: str) -> Column:
    """Return a column by its name, which may contain dots and backticks."""
    escaped = name.replace("`", "``")
    return sf.col(f"`{escaped}`")


def with_columns(df: DataFrame, added: dict[str, types.DataType]) -> types.StructType:
    """Return the schema of a data frame with more columns."""
    for name in added:
        if name in df.columns:
            raise SettingError(
                f"the data frame has a column {name!r} already; name another one for the result"
            )
    return types.StructType(
        [*df.schema.fields, *(types.StructField(*pair) for pair in added.items())]
    )


def in_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut rows into batches that a model takes in one thread; other tasks have the other cores."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)


def hashed_columns(hashed: Hashed) -> dict[str, pa.ListArray]:
    """Turn hashed documents into two columns of lists."""
    offsets = pa.array(hashed.indptr.astype(np.int32))
    return {
        BUCKETS: pa.ListArray.from_arrays(offsets, pa.array(hashed.buckets, pa.int32())),
        COUNTS: pa.ListArray.from_arrays(offsets, pa.array(hashed.counts, pa.float32())),
    }


def hashed_rows(rows: pa.RecordBatch | pa.Table, analysis: str) -> Hashed:
    """Turn the columns of ``hashed_columns`` back; ``analysis`` names the analyzer they are of."""
    indptr, buckets = from_lists(rows.column(BUCKETS), np.int32)
    _, counts = from_lists(rows.column(COUNTS), np.float32)
    return Hashed(indptr, buckets, counts, HashedWords.none(rows.num_rows), analysis)


def from_lists(
    lists: pa.Array | pa.ChunkedArray, kind: npt.DTypeLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return the bounds of lists, and their values one after the other."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    values = pc.list_flatten(lists).to_numpy(zero_copy_only=False).astype(kind, copy=False)
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values


def _holds_labels(kind: types.DataType) -> bool:
    if isinstance(kind, types.MapType):
        return isinstance(kind.keyType, types.StringType) and isinstance(
            kind.valueType, types.BooleanType
        )
    return isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.StringType)
