"""``fit``: partitions learn side by side, and their models are merged in a tree.

A round of ``fit`` runs these tasks on executors:

1. ``Count`` counts the words of each partition, so that each knows those before it (TF-IDF).
2. ``Learn`` starts from the model that the driver broadcasts, learns its partition, and returns the
   difference.
3. ``Merge`` makes one difference of every 16, until one is left; the driver adds it to the model.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark.columns import Columns, Documents, column, in_pieces
from clasher.adapters.spark.session import context_of, unwrap_errors
from clasher.errors import SettingError, StreamError, require_positive
from clasher.learning.merge import Sketch
from clasher.learning.model_file import packed, unpacked
from clasher.model import Clasher
from clasher.runtime import deltas
from clasher.settings import WITH_IDF, Settings
from clasher.text.analyzer import Tokenizer

FAN = 16  # models merged into one at a time
PIECE = 4 * 2**20  # bytes of a model file in one row
MODELS = "number bigint, place bigint, content binary"
"""Rows of model files: which model, where in its file, the bytes."""
COUNTS = "number bigint, documents bigint, frequencies binary"

_MODELS = pa.schema([("number", pa.int64()), ("place", pa.int64()), ("content", pa.binary())])
_CODEC = pa.Codec("zstd")


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
    one process that learns the partitions one after the other. The prototypes of ``centroid`` are
    equal up to float rounding; the weights of ``margin`` and ``perceptron`` become means of those
    of the partitions.

    Parameters
    ----------
    df
        The documents. Each pass reads it once: ``persist`` it if that is expensive, or if it does
        not return the same rows each time.
    model
        The model to continue, which is not changed. None: a new one with ``settings``.
    text, labels, id
        The columns. Labels are an array of text, or a map from text to boolean that leaves other
        labels unknown; null means unlabelled. Unlabelled documents wait for their labels under
        their id if the model keeps some (``pending``).
    rounds
        How often the partitions exchange what they have learnt: in each round every partition
        learns its next share of its rows. For rules that learn from mistakes; ``centroid`` gains
        nothing.
    exact
        Count the words first, in a separate pass, so that every document is weighted as in one
        process. Otherwise each partition knows only the words of its own rows.
    **settings
        Those of ``Clasher``, for a new model.

    Returns
    -------
    Clasher
        The model that has learnt the data frame.

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
    if model is not None and settings:
        raise SettingError(
            f"fit continues a model with the settings it has: leave out {', '.join(settings)}, or "
            f"the model"
        )
    learnt = Clasher(**settings) if model is None else model.copy()
    deltas.check(learnt.settings, is_new=not learnt.documents)
    columns = Columns(text, labels, id if learnt.settings.pending else None)
    documents = columns.select(df)
    before = learnt.documents
    with unwrap_errors():
        for number in range(rounds):
            learn(documents, learnt, columns, Share(number, rounds), exact)
    if learnt.documents == before:
        raise StreamError("the data frame has no documents; check where it comes from")
    return learnt


class Share(NamedTuple):
    """The rows of a partition that one round learns: every ``rounds``-th."""

    number: int = 0
    rounds: int = 1

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Select its rows."""
        start = 0
        for batch in batches:
            own = batch
            if self.rounds > 1:
                places = np.arange(start, start + batch.num_rows)
                own = batch.filter(pa.array(places % self.rounds == self.number))
            start += batch.num_rows
            yield from in_pieces([own])


ALL = Share()


def learn(
    documents: DataFrame, model: Clasher, columns: Columns, share: Share = ALL, exact: bool = True
) -> None:
    """Run one round: all partitions start from the model, which adds what they have learnt."""
    deltas.make_room(model)
    beginning = model
    if deltas.is_independent(model.settings):
        beginning = deltas.begin(model, Sketch.of(model.state))  # no more than partitions need
    start = Start(packed(beginning))
    if exact and model.settings.weighting in WITH_IDF:
        task = Count(model.settings, Columns(columns.text, None), share)
        found = documents.select(column(columns.text)).mapInArrow(task, COUNTS).toArrow()
        counts = {row.pop("number"): WordCounts(**row) for row in found.to_pylist()}
        start = Start(start.model, counts)
        partitions = max(counts, default=0) + 1
    else:
        partitions = documents.rdd.getNumPartitions()
    tokenizer = model.settings.analyzer.tokenizer
    sent = context_of(documents).broadcast(start)
    try:
        parts = documents.mapInArrow(Learn(sent, columns, tokenizer, share), MODELS)
        if (learnt := _merged(parts, partitions, tokenizer)) is not None:
            model.add_difference(learnt)
    finally:
        sent.destroy()


def _merged(parts: DataFrame, count: int, tokenizer: Tokenizer | None) -> Clasher | None:
    """Merge the models in rows of ``MODELS``, whose numbers are below ``count``, if any."""
    while count > 1:
        count = -(-count // FAN)
        group = sf.floor(sf.col("number") / FAN).cast("int")
        task = Merge(FAN, tokenizer)
        parts = parts.repartitionById(count, group).mapInArrow(task, MODELS)
    with ReceivedModels(parts.toArrow().to_batches(), tokenizer) as received:
        return received.take(received.numbers[0]) if received.numbers else None


# ── tasks on executors ───────────────────────────────────────────────────────────────────────────


class WordCounts(NamedTuple):
    """How many documents a partition has, and how many have each bucket, compressed."""

    documents: int
    frequencies: bytes

    @classmethod
    def of(cls, model: Clasher) -> WordCounts:
        """Return the counts of a model that has seen only this partition."""
        sketch = Sketch.of(model.state)
        content = sketch.frequencies.astype(np.uint32).tobytes()
        return cls(sketch.documents, _CODEC.compress(content, asbytes=True))

    def added_to(self, before: Sketch) -> Sketch:
        """Add these documents to those before them."""
        size = before.frequencies.size * 4
        content = _CODEC.decompress(self.frequencies, size, asbytes=True)
        here = np.frombuffer(content, np.uint32).reshape(before.frequencies.shape)
        return before.plus(Sketch(self.documents, float(self.documents), here.astype(np.float64)))


@dataclass(frozen=True)
class Count:
    """A task: counts the words of a partition."""

    settings: Settings
    columns: Columns
    share: Share = ALL

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of documents into one row of ``COUNTS``."""
        names = self.settings.__dataclass_fields__
        model = Clasher(**{name: getattr(self.settings, name) for name in names})
        for rows in self.share.rows(batches):
            model.observe_many(Documents.of(rows, self.columns).texts)
        row = {"number": partition(), **WordCounts.of(model)._asdict()}
        yield pa.RecordBatch.from_pylist([row])


@dataclass(frozen=True)
class Start:
    """The model that every partition starts from, and the word counts of the partitions."""

    model: bytes
    counts: dict[int, WordCounts] = field(default_factory=dict)

    def before(self, model: Clasher, number: int) -> Sketch:
        """Count the documents of the model and of the partitions before this one."""
        sketch = Sketch.of(model.state)
        for other, counts in self.counts.items():
            if other < number:
                sketch = counts.added_to(sketch)
        return sketch


@dataclass(frozen=True)
class Learn:
    """A task: learns a partition, and returns the difference to the model it started from."""

    start: Broadcast[Start]
    columns: Columns
    tokenizer: Tokenizer | None = None
    share: Share = ALL

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of documents into rows of ``MODELS``; no documents give no rows."""
        number, start = partition(), self.start.value
        model = unpacked(start.model, Clasher.load, tokenizer=self.tokenizer)
        before = start.before(model, number)
        part = deltas.begin(model, before)
        for rows in self.share.rows(batches):
            part.learn_many(*Documents.of(rows, self.columns))
        if part.documents > before.documents:
            yield from model_rows(number, deltas.difference(part, model, before))


@dataclass(frozen=True)
class Merge:
    """A task: merges every ``fan`` neighbours in the order of their numbers.

    The order is always the same, so the result does not depend on which task finished first.
    """

    fan: int
    tokenizer: Tokenizer | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of ``MODELS`` into rows of fewer models."""
        with ReceivedModels(batches, self.tokenizer) as received:
            for group, numbers in groupby(received.numbers, lambda number: number // self.fan):
                first, *others = numbers
                model = received.take(first)
                for number in others:
                    model.merge(received.take(number))
                yield from model_rows(group, model)


def partition() -> int:
    """Return the number of the partition that this task works on."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


# ── models in rows ───────────────────────────────────────────────────────────────────────────────


def model_rows(number: int, model: Clasher) -> Iterator[pa.RecordBatch]:
    """Cut the file of a model into rows of ``MODELS``."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        model.save(path, durable=False)
        with path.open("rb") as file:
            place = 0
            while content := file.read(PIECE):
                row = {"number": number, "place": place, "content": content}
                yield pa.RecordBatch.from_pylist([row], _MODELS)
                place += len(content)


class ReceivedModels:
    """Models whose rows arrive in any order; on disk until they are taken.

    Examples
    --------
    >>> model = Clasher(1024)
    >>> model.learn("wheat and corn", {"grain"})
    >>> with ReceivedModels(model_rows(7, model)) as received:
    ...     [(number, received.take(number).support) for number in received.numbers]
    [(7, {'grain': 1})]
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch], tokenizer: Tokenizer | None = None
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="clasher-")
        self._tokenizer = tokenizer
        numbers: set[int] = set()
        for batch in batches:
            for row in batch.to_pylist():
                numbers.add(row["number"])
                descriptor = os.open(self._path(row["number"]), os.O_WRONLY | os.O_CREAT, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.seek(row["place"])
                    file.write(row["content"])
        self.numbers = sorted(numbers)

    def __enter__(self) -> ReceivedModels:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def take(self, number: int) -> Clasher:
        """Load a model and remove its file."""
        path = self._path(number)
        model = Clasher.load(path, tokenizer=self._tokenizer)
        path.unlink()
        return model

    def _path(self, number: int) -> Path:
        return Path(self._folder.name, str(number))
