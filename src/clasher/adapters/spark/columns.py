"""Documents in the columns of a data frame: text, labels and id, and hashed words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

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
HASHED: dict[str, types.DataType] = {  # the columns of hashed documents
    BUCKETS: types.ArrayType(types.IntegerType(), containsNull=False),
    COUNTS: types.ArrayType(types.FloatType(), containsNull=False),
}
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
                known = listing(df.columns)
                raise SettingError(f"the data frame has no column {name!r}; it has {known}")
        if not isinstance(text := found[self.text], types.StringType):
            raise SettingError(f"column {self.text!r} must be text. Got {text.simpleString()}.")
        match None if self.labels is None else found[self.labels]:
            case None | types.ArrayType(elementType=types.StringType()):
                pass
            case types.MapType(keyType=types.StringType(), valueType=types.BooleanType()):
                pass
            case kind:
                raise SettingError(
                    f"column {self.labels!r} must be an array of text, or a map from text to "
                    f"boolean. Got {kind.simpleString()}; pyspark.sql.functions.split makes arrays"
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

    def documents(self, rows: pa.RecordBatch) -> tuple[pa.Array, LabelSets, list[Any] | None]:
        """Return the texts, labels and ids of some rows."""
        texts = rows.column(self.text)
        if texts.null_count:
            drop = f"df.na.drop(subset=[{self.text!r}])"
            raise TextError(f"a row has no text in column {self.text!r}; drop such rows: {drop}")
        labels = None if self.labels is None else LabelSets.of(rows.column(self.labels))
        ids = None if self.id is None else rows.column(self.id).to_pylist()
        return texts, labels or LabelSets.unlabelled(len(texts)), ids


def column(name: str) -> Column:
    """Return a column by its name, which may contain dots and backticks."""
    escaped = name.replace("`", "``")
    return sf.col(f"`{escaped}`")


def with_columns(df: DataFrame, added: dict[str, types.DataType]) -> types.StructType:
    """Return the schema of a data frame with more columns."""
    for name in added:
        if name in df.columns:
            raise SettingError(f"the data frame has a column {name!r} already; name another one")
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
