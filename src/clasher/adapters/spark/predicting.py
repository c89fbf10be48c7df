"""``predict``: the model goes to all executors, and every task labels its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    DataType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from clasher.adapters.spark.columns import Columns, column, in_pieces
from clasher.adapters.spark.session import context_of
from clasher.analyzer import Tokenizer
from clasher.errors import SettingError
from clasher.model import Clasher
from clasher.model_bytes import packed, unpacked

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
