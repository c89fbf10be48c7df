"""``fit``: partitions learn side by side, and are merged in a tree.

Models of partitions become one, in a tree: no task sees more than a few of them.

What partitions do while they learn: the tasks that run on executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark import transfer
from clasher.adapters.spark.predict import Columns, Documents, column, in_pieces
from clasher.adapters.spark.session import context_of, plainly
from clasher.errors import SettingError, StreamError, require_positive
from clasher.learning.merge import Sketch
from clasher.learning.model_file import packed, unpacked
from clasher.model import Clasher
from clasher.runtime import deltas
from clasher.settings import WITH_IDF, Settings
from clasher.text.analyzer import Tokenizer

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
        with transfer.Gathered(batches, self.tokenizer) as gathered:
            for group, numbers in groupby(gathered.numbers, lambda number: number // self.fan):
                first, *others = numbers
                model = gathered.take(first)
                for number in others:
                    model.merge(gathered.take(number))
                yield from transfer.in_pieces(group, model)


def merged(parts: DataFrame, count: int, tokenizer: Tokenizer | None = None) -> Clasher | None:
    """The models of a data frame of pieces, whose numbers are below ``count``, as one.

    None where there is no model at all.
    """
    while count > 1:
        count = -(-count // FAN)
        group = sf.floor(sf.col("number") / FAN).cast("int")
        task = Merge(FAN, tokenizer)
        parts = parts.repartitionById(count, group).mapInArrow(task, transfer.SCHEMA)
    with transfer.Gathered(parts.toArrow().to_batches(), tokenizer) as gathered:
        return gathered.take(gathered.numbers[0]) if gathered.numbers else None


COUNTED = "number bigint, documents bigint, frequencies binary"
_CODEC = pa.Codec("zstd")


class Turn(NamedTuple):
    """Which rows of a partition are learnt in a round: every ``rounds``-th."""

    number: int = 0
    rounds: int = 1

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Its rows, in pieces."""
        above = 0
        for batch in batches:
            own = batch
            if self.rounds > 1:
                places = np.arange(above, above + batch.num_rows)
                own = batch.filter(pa.array(places % self.rounds == self.number))
            above += batch.num_rows
            yield from in_pieces([own])


ALL = Turn()


class Counted(NamedTuple):
    """How many documents a partition has, and how many with each bucket, made small."""

    documents: int
    frequencies: bytes

    @classmethod
    def of(cls, model: Clasher) -> Counted:
        """What a model has counted, which began with nothing."""
        sketch = Sketch.of(model.state)
        return cls(sketch.documents, _CODEC.compress(_whole(sketch.frequencies), asbytes=True))

    def added_to(self, before: Sketch) -> Sketch:
        """The documents before, and these."""
        size = before.frequencies.size * 4
        raw = _CODEC.decompress(self.frequencies, size, asbytes=True)
        here = np.frombuffer(raw, np.uint32).reshape(before.frequencies.shape)
        own = Sketch(self.documents, float(self.documents), here.astype(np.float64))
        return before.plus(own)


def _whole(frequencies: npt.NDArray[np.float64]) -> bytes:
    return frequencies.astype(np.uint32).tobytes()


@dataclass(frozen=True)
class Count:
    """A task: counts the words of a partition."""

    settings: Settings
    columns: Columns
    turn: Turn = ALL

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of documents in, one row of ``COUNTED`` out."""
        model = _new(self.settings)
        for rows in self.turn.rows(batches):
            model.observe_many(Documents.of(rows, self.columns).texts)
        found = Counted.of(model)
        row = {"number": partition(), **found._asdict()}
        yield pa.RecordBatch.from_pydict({name: [value] for name, value in row.items()})


@dataclass(frozen=True)
class Start:
    """Where every partition begins: a model, and what was counted of the partitions' words."""

    model: bytes
    counted: dict[int, Counted] = field(default_factory=dict)

    def before(self, model: Clasher, number: int) -> Sketch:
        """The documents before a partition: of the model, and of the partitions before it."""
        sketch = Sketch.of(model.state)
        for other, found in self.counted.items():
            if other < number:
                sketch = found.added_to(sketch)
        return sketch


@dataclass(frozen=True)
class Learn:
    """A task: learns a partition, and hands back what that adds to the model."""

    start: Broadcast[Start]
    columns: Columns
    tokenizer: Tokenizer | None = None
    turn: Turn = ALL

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of documents in, rows of pieces out; a partition without documents has none."""
        number, start = partition(), self.start.value
        model = unpacked(start.model, Clasher.load, tokenizer=self.tokenizer)
        before = start.before(model, number)
        part = deltas.begin(model, before)
        for rows in self.turn.rows(batches):
            documents = Documents.of(rows, self.columns)
            part.learn_many(documents.texts, documents.labels, documents.ids)
        if part.documents > before.documents:
            yield from transfer.in_pieces(number, deltas.difference(part, model, before))


def partition() -> int:
    """The number of the partition that this task works on."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _new(settings: Settings) -> Clasher:
    return Clasher(**{name: getattr(settings, name) for name in settings.__dataclass_fields__})


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
        parts = documents.mapInArrow(task, transfer.SCHEMA)
        if (learnt := merged(parts, partitions, tokenizer)) is not None:
            model.add_difference(learnt)
    finally:
        sent.destroy()


def _beginning(model: Clasher) -> Clasher:
    """All of a model that partitions ask for."""
    if deltas.is_independent(model.settings):
        return deltas.begin(model, Sketch.of(model.state))
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
