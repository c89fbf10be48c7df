"""Which columns of a data frame hold what, and the documents of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BooleanType, DataType, MapType, StringType

from clasher.errors import SettingError, TextError
from clasher.io.judging import listing
from clasher.label_names import INVISIBLE
from clasher.labels import LabelSets
from clasher.model import BATCH

_VISIBLE = f"(?U)[^\\s{INVISIBLE}]"  # a regular expression of Java


@dataclass(frozen=True)
class Columns:
    """The columns of the text, the labels and the id.

    Labels are an array of text, or a map label → boolean that leaves the others unknown; null means
    unlabelled.
    """

    text: str = "text"
    labels: str | None = "labels"
    id: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are there."""
        return [name for name in (self.text, self.labels, self.id) if name is not None]

    def select(self, df: DataFrame) -> DataFrame:
        """These columns of a data frame, and no others; refused where they cannot be what we want.

        Ids become text.
        """
        self._check(df)
        return df.select(*(self.column(name) for name in self.names))

    def column(self, name: str) -> Column:
        """A column as it is wanted: ids as text."""
        return column(name).cast("string").alias(name) if name == self.id else column(name)

    def _check(self, df: DataFrame) -> None:
        there = {field.name: field.dataType for field in df.schema}
        for name in self.names:
            if name not in there:
                raise SettingError(
                    f"the data frame has no column {name!r}; it has {listing(df.columns)}"
                )
        if not isinstance(there[self.text], StringType):
            raise SettingError(f"column {self.text!r} must be text. Got {_kind(there[self.text])}.")
        if self.labels is not None and not _holds_labels(there[self.labels]):
            raise SettingError(
                f"column {self.labels!r} must be an array of text, or a map from text to boolean. "
                f"Got {_kind(there[self.labels])}; pyspark.sql.functions.split makes an array of "
                f"text that is separated"
            )

    def is_sound(self, df: DataFrame) -> Column:
        """Tell whether a row can be learnt from: it has text, and no label is null or blank."""
        has_text = column(self.text).isNotNull()
        if self.labels is None:
            return has_text
        labels = column(self.labels)
        names = (
            labels
            if isinstance(df.schema[self.labels].dataType, ArrayType)
            else sf.map_keys(labels)
        )
        named = sf.forall(names, lambda name: name.isNotNull() & name.rlike(_VISIBLE))
        return has_text & (labels.isNull() | named)


class Documents(NamedTuple):
    """Some rows of a data frame."""

    texts: pa.Array
    labels: LabelSets
    ids: list[str | None] | None

    @classmethod
    def of(cls, rows: pa.RecordBatch, columns: Columns) -> Documents:
        """The documents of rows, every one of which must be sound."""
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
    """A column by its name, whatever characters are in that."""
    escaped = name.replace("`", "``")
    return sf.col(f"`{escaped}`")


def in_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows in pieces that a model takes in this thread alone: the others run other tasks."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)


def _holds_labels(kind: DataType) -> bool:
    if isinstance(kind, MapType):
        return isinstance(kind.keyType, StringType) and isinstance(kind.valueType, BooleanType)
    return isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType)


def _kind(kind: DataType) -> str:
    return kind.simpleString()
