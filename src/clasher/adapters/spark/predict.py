"""``predict``: every executor gets the model, and every task labels its rows."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, FloatType, MapType, StringType

from clasher.adapters.spark import columns as cells
from clasher.adapters.spark.columns import LABELS, Columns, column, in_pieces
from clasher.adapters.spark.session import context_of
from clasher.model import Clasher

PROBABILITIES = MapType(StringType(), FloatType(), valueContainsNull=False)


def predict(
    df: DataFrame,
    model: Clasher,
    *,
    text: str = "text",
    output: str = "predicted",
    probabilities: str | None = None,
) -> DataFrame:
    """Predict the labels of a data frame, exactly as ``predict_many`` does.

    Parameters
    ----------
    df
        The documents; the result keeps all of its columns. It may be a stream.
    model
        The model, which is sent to every executor once.
    text
        The column of the text; where it is null, the labels are null.
    output
        The column to add: the labels, sorted.
    probabilities
        Another column to add: a map with the probability of every label the model knows.

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
    Columns(text, None).check(df)
    return labelled(df, context_of(df).broadcast(model), text, output, probabilities)


def labelled(
    df: DataFrame, sent: Broadcast[Clasher], text: str, output: str,
    probabilities: str | None = None, hashed: bool = False,
) -> DataFrame:  # fmt: skip
    """Add predictions to a data frame; ``hashed`` adds the words, for the driver."""
    added: dict[str, DataType] = {output: LABELS}
    if probabilities is not None:
        added[probabilities] = PROBABILITIES
    schema = cells.with_columns(df, added | cells.HASHED if hashed else added)
    task = partial(label_rows, sent, text, output, probabilities, hashed)
    found = df.mapInArrow(task, schema)
    return found.withColumn(output, sf.array_sort(column(output)))


def label_rows(
    sent: Broadcast[Clasher], text: str, output: str, probabilities: str | None, hashed: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Label the rows of a partition; ``hashed`` adds their words, for the driver."""
    model = sent.value  # a worker loads it once
    for rows in in_pieces(batches):
        documents = model.hash_many(pc.fill_null(rows.column(text), ""))
        if probabilities is None:
            added = {output: model.predict_many(documents).to_arrow()}
        else:
            labels, found = model.decide_many(documents)
            added = {output: labels.to_arrow(), probabilities: _as_maps(found, model.labels)}
        if hashed:
            added |= cells.hashed_columns(documents)
        missing = rows.column(text).is_null()
        columns = [*rows.columns, *(pc.if_else(missing, None, own) for own in added.values())]
        yield pa.RecordBatch.from_arrays(columns, [*rows.schema.names, *added])


def _as_maps(probabilities: np.ndarray, labels: list[str]) -> pa.MapArray:
    offsets = np.arange(len(probabilities) + 1, dtype=np.int32) * len(labels)
    numbers = np.tile(np.arange(len(labels), dtype=np.int32), len(probabilities))
    keys = pa.array(labels, pa.string()).take(pa.array(numbers))
    return pa.MapArray.from_arrays(pa.array(offsets), keys, pa.array(probabilities.reshape(-1)))
