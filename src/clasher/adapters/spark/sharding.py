"""``predict_sharded``: labels split over executors, every document put to all of them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark.columns import Columns, column
from clasher.adapters.spark.rounds import KEY, SHARD, Ask, Combine, Hash, Regions
from clasher.adapters.spark.shard_files import Shards

HASHED = "_clasher_buckets array<int>, _clasher_counts array<float>"
ANSWERS = "shard int, labels array<int>, values array<double>, chosen array<int>"
TOLD = {
    "nearest": "near_labels array<int>, near_values array<double>, shard int",
    "scores": "two_labels array<int>, two_values array<double>, shard int",
}
SETS = "predicted array<string>"


def predict_sharded(
    df: DataFrame,
    shards: Shards,
    *,
    id: str,  # noqa: A002
    text: str = "text",
    output: str = "predicted",
) -> DataFrame:
    """Predict with a model that no executor holds as a whole: exactly what it would predict.

    Documents are hashed once and sent to a task per shard, in as many rounds as the rule asks for
    (see ``clasher.shards``). It pays where a model does not fit beside each core of an executor; a
    model that does is better sent to all of them: ``predict``.

    Parameters
    ----------
    df
        The documents; read once per round, so ``persist`` it where that is dear.
    shards
        What ``write_shards`` wrote, or ``read_shards`` found, in a folder that all executors read.
    id
        A column that tells the rows apart.
    text
        The column of the text; rows without text are left out.
    output
        What to call the column of the labels.

    Returns
    -------
    DataFrame
        The columns ``id`` and ``output``.

    Examples
    --------
    >>> import tempfile
    >>> from clasher import Clasher
    >>> from clasher.adapters.spark import predict_sharded, session, write_shards
    >>> model = Clasher(dimensions=1024)
    >>> model.learn_many(["wheat", "gold", "oil"] * 5, [{"grain"}, {"metal"}, {"energy"}] * 5)
    >>> df = session("local[2]").createDataFrame([(1, "gold"), (2, "oil")], "id int, text string")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = write_shards(model, folder, 2)
    ...     [tuple(row) for row in predict_sharded(df, shards, id="id").orderBy("id").collect()]
    [(1, ['metal']), (2, ['energy'])]
    """
    Columns(text, None, id).select(df)
    kind = df.schema[id].dataType.simpleString()
    rows = df.select(column(id).alias(KEY), column(text).alias("text"))
    settings = shards.model_settings()
    hashed = HASHED if settings.depth == 1 else "text string"
    documents = rows.mapInArrow(Hash(shards, "text"), f"{KEY} {kind}, {hashed}")
    asked = _Rounds(shards, kind)
    if settings.rule == "perceptron":
        found = asked.all("linear", documents)
    elif settings.rule == "margin":
        near = documents.join(asked.all("nearest", documents).drop(SHARD), KEY)
        two = near.join(asked.all("scores", near).drop(SHARD), KEY)
        found = asked.all("look", two)
    else:
        near = asked.all("nearest", documents)
        regions = near.repartitionById(len(shards), sf.col(SHARD))
        found = regions.mapInArrow(Regions(shards), f"{KEY} {kind}, {SETS}")
    return found.select(sf.col(KEY).alias(id), sf.array_sort(sf.col("predicted")).alias(output))


class _Rounds:
    """Puts documents to all shards, and combines what they answer."""

    def __init__(self, shards: Shards, kind: str) -> None:
        self.shards = shards
        self.kind = kind

    def all(self, what: str, documents: DataFrame) -> DataFrame:
        """One round."""
        count = len(self.shards)
        every = sf.explode(sf.sequence(sf.lit(0), sf.lit(count - 1)))
        sent = documents.select("*", every.alias(SHARD)).repartitionById(count, sf.col(SHARD))
        answers = sent.mapInArrow(Ask(self.shards, "text", what), f"{KEY} {self.kind}, {ANSWERS}")
        each = sf.struct(SHARD, "labels", "values", "chosen")
        gathered = answers.groupBy(KEY).agg(sf.sort_array(sf.collect_list(each)).alias("answers"))
        out = f"{KEY} {self.kind}, {TOLD.get(what, SETS)}"
        return gathered.mapInArrow(Combine(self.shards, what), out)
