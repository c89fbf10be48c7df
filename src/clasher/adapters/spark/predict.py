"""``predict``: the model goes to all executors, and every task labels its rows.

Which columns of a data frame hold what, and the documents of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from clasher.adapters.spark.session import context_of
from clasher.errors import SettingError, TextError
from clasher.io.records import listing
from clasher.labels import LabelSets
from clasher.learning.model_file import packed, unpacked
from clasher.model import BATCH, Clasher
from clasher.text.analyzer import Tokenizer
from clasher.text.label_names import INVISIBLE

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


LABELS = ArrayType(StringType(), containsNull=False)
PROBABILITIES = MapType(StringType(), FloatType(), valueContainsNull=False)


def predict(
    df: DataFrame,
    model: Clasher,
    *,
    text: str = "text",
    output: str = "predicted",
    probabilities: str | None = None,
) -> DataFrame:
    """Predict the labels of a data frame: exactly those that ``predict_many`` predicts.

    Parameters
    ----------
    df
        The documents; all of its columns are kept. It may be a stream.
    model
        The model, which is sent to every executor once.
    text
        The column of the text; a row whose text is null gets no labels, null.
    output
        The column to add: the labels, in the order of their texts.
    probabilities
        Another column to add: the probability of every label the model knows, as a map.

    Examples
    --------
    >>> from clasher import Clasher
    >>> from clasher.adapters.spark import predict, session
    >>> model = Clasher(dimensions=1024)
    >>> model.learn_many(["wheat and corn", "crude oil"] * 5, [{"grain"}, {"oil"}] * 5)
    >>> df = session("local[2]").createDataFrame([(1, "corn"), (2, None)], "id int, text string")
    >>> [tuple(row) for row in predict(df, model).select("id", "predicted").collect()]
    [(1, ['grain']), (2, None)]
    """
    added: dict[str, DataType] = {output: LABELS}
    if probabilities is not None:
        added[probabilities] = PROBABILITIES
    Columns(text, None).select(df)
    schema = with_columns(df, added)
    sent = sending(df, model)
    found = df.mapInArrow(Predict(sent, text, output, probabilities), schema)
    return found.withColumn(output, sf.array_sort(column(output)))


def with_columns(df: DataFrame, added: dict[str, DataType]) -> StructType:
    """The schema of a data frame with more columns."""
    for name in added:
        if name in df.columns:
            raise SettingError(
                f"the data frame has a column {name!r} already; name another one for the result"
            )
    return StructType([*df.schema.fields, *(StructField(*pair) for pair in added.items())])


class Sent:
    """A model on its way to executors, each of which unpacks it once."""

    def __init__(self, content: bytes, tokenizer: Tokenizer | None) -> None:
        self.content = content
        self.tokenizer = tokenizer
        self.digest = blake2b(content, digest_size=16).hexdigest()


def sending(df: DataFrame, model: Clasher) -> Broadcast[Sent]:
    """Send a model to all executors."""
    content = packed(model)
    sent = Sent(content, model.settings.analyzer.tokenizer)
    return context_of(df).broadcast(sent)


_latest: dict[str, Clasher] = {}
"""The model that this process has used last: the next task most likely asks for it again."""


def received(sent: Broadcast[Sent]) -> Clasher:
    """The model that was sent, unpacked once per process."""
    digest = sent.value.digest
    if digest not in _latest:
        _latest.clear()
        _latest[digest] = unpacked(sent.value.content, Clasher.load, tokenizer=sent.value.tokenizer)
    return _latest[digest]


@dataclass(frozen=True)
class Predict:
    """A task: labels the rows of a partition."""

    sent: Broadcast[Sent]
    text: str
    output: str
    probabilities: str | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows in, the same rows with more columns out."""
        model = received(self.sent)
        for rows in in_pieces(batches):
            texts = rows.column(self.text)
            missing = texts.is_null()
            texts = pc.fill_null(texts, "")
            added: dict[str, pa.Array] = {}
            if self.probabilities is None:
                added[self.output] = model.predict_many(texts).to_arrow()
            else:
                labels, probabilities = model.decide_many(texts)
                added[self.output] = labels.to_arrow()
                added[self.probabilities] = _as_maps(probabilities, model.labels)
            yield beside(rows, added, missing)


def beside(
    rows: pa.RecordBatch, added: Mapping[str, pa.Array], missing: pa.Array
) -> pa.RecordBatch:
    """Rows with more columns, null where a row is ``missing`` what they are made of."""
    columns = [*rows.columns, *(pc.if_else(missing, None, own) for own in added.values())]
    return pa.RecordBatch.from_arrays(columns, [*rows.schema.names, *added])


def _as_maps(probabilities: np.ndarray, labels: list[str]) -> pa.MapArray:
    offsets = np.arange(len(probabilities) + 1, dtype=np.int32) * len(labels)
    numbers = np.tile(np.arange(len(labels), dtype=np.int32), len(probabilities))
    keys = pa.array(labels, pa.string()).take(pa.array(numbers))
    return pa.MapArray.from_arrays(pa.array(offsets), keys, pa.array(probabilities.reshape(-1)))
