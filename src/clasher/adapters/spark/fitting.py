"""``fit``: partitions learn side by side, and are merged in a tree."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from clasher import deltas
from clasher.adapters.spark import packing
from clasher.adapters.spark.columns import Columns, column
from clasher.adapters.spark.parts import ALL, COUNTED, Count, Counted, Learn, Start, Turn
from clasher.adapters.spark.session import context_of
from clasher.adapters.spark.telling import plainly
from clasher.adapters.spark.tree import merged
from clasher.errors import SettingError, StreamError, require_positive
from clasher.merging import Sketch
from clasher.model import Clasher
from clasher.model_bytes import packed
from clasher.settings import WITH_IDF


def fit(
    df: DataFrame,
    model: Clasher | None = None,
    *,
    text: str = "text",
    labels: str = "labels",
    id: str | None = None,  # noqa: A002
    rounds: int = 1,
    exact: bool = True,
    **settings: Any,
) -> Clasher:
    """Learn a data frame, its partitions side by side.

    Document frequencies, numbers of documents and co-occurrences of labels are exactly those of
    one process that learns the partitions one after the other. So are, to float rounding, the
    prototypes of ``centroid``; the weights of ``margin`` and ``perceptron`` become means of those
    of the partitions.

    Parameters
    ----------
    df
        The documents. It is read once for each pass: ``persist`` it where that is dear, or where
        it does not give the same rows each time.
    model
        The model to go on with, which stays as it is. None: a new one with ``settings``.
    text, labels, id
        The columns. Labels are an array of text, or a map from text to boolean that leaves other
        labels unknown; null is unlabelled. Documents without labels wait for them under their id
        where the model keeps some (``pending``).
    rounds
        How often the partitions tell each other what they have learnt: in each round every one
        learns its next share of its rows. For rules that learn from mistakes; ``centroid`` gains
        nothing by it.
    exact
        Count the words first, in a pass of its own, so that every document is weighed as in one
        process. Without it each partition knows the words of its own rows only.
    **settings
        Those of ``Clasher``, for a new model.

    Returns
    -------
    Clasher
        The model that has learnt all of it.

    Examples
    --------
    >>> from clasher.adapters.spark import fit, session
    >>> rows = [("wheat and corn", ["grain"]), ("crude oil", ["oil"])] * 20
    >>> df = session("local[2]").createDataFrame(rows, "text string, labels array<string>")
    >>> model = fit(df.repartition(2), dimensions=1024)
    >>> model.documents, model.predict("corn")
    (40, {'grain'})
    """
    require_positive("fit", "rounds", rounds)
    learnt = _begun(model, settings)
    deltas.check(learnt.settings, is_new=not learnt.documents)
    columns = Columns(text, labels, id if learnt.settings.pending else None)
    documents = columns.select(df)
    before = learnt.documents
    with plainly():
        for number in range(rounds):
            learn(documents, learnt, columns, Turn(number, rounds), exact)
    if learnt.documents == before:
        raise StreamError("the data frame holds no document; look at where it comes from")
    return learnt


def _begun(model: Clasher | None, settings: dict[str, Any]) -> Clasher:
    if model is None:
        return Clasher(**settings)
    if settings:
        raise SettingError(
            f"fit goes on with a model, whose settings stay as they are: leave out "
            f"{', '.join(settings)}, or the model"
        )
    return model.copy()


def learn(
    documents: DataFrame, model: Clasher, columns: Columns, turn: Turn = ALL, exact: bool = True
) -> None:
    """One round: all partitions begin with the model, which takes over what they have learnt."""
    deltas.make_room(model)
    start = Start(packed(_beginning(model)))
    counts = exact and model.settings.weighting in WITH_IDF
    if counts:
        start = Start(start.model, _counted(documents, model, columns, turn))
        partitions = max(start.counted, default=0) + 1
    else:
        partitions = documents.rdd.getNumPartitions()
    tokenizer = model.settings.analyzer.tokenizer
    sent = context_of(documents).broadcast(start)
    try:
        task = Learn(sent, columns, tokenizer, turn)
        parts = documents.mapInArrow(task, packing.SCHEMA)
        if (learnt := merged(parts, partitions, tokenizer)) is not None:
            deltas.take_over(model, learnt)
    finally:
        sent.destroy()


def _beginning(model: Clasher) -> Clasher:
    """All of a model that partitions ask for."""
    if deltas.begins_anew(model.settings):
        return deltas.begin(model, Sketch.of(model._state))
    return model


def _counted(
    documents: DataFrame, model: Clasher, columns: Columns, turn: Turn
) -> dict[int, Counted]:
    """The words of every partition."""
    task = Count(model.settings, Columns(columns.text, None), turn)
    found = documents.select(column(columns.text)).mapInArrow(task, COUNTED).toArrow()
    return {
        row["number"]: Counted(row["documents"], row["frequencies"]) for row in found.to_pylist()
    }
