"""What partitions do while they learn: the tasks that run on executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import Broadcast, TaskContext

from clasher import deltas
from clasher.adapters.spark import packing
from clasher.adapters.spark.columns import Columns, Documents, in_pieces
from clasher.analyzer import Tokenizer
from clasher.merging import Sketch
from clasher.model import Clasher
from clasher.model_bytes import unpacked
from clasher.settings import Settings

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
        sketch = Sketch.of(model._state)
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
        sketch = Sketch.of(model._state)
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
            yield from packing.in_pieces(number, deltas.difference(part, model, before))


def partition() -> int:
    """The number of the partition that this task works on."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _new(settings: Settings) -> Clasher:
    return Clasher(**{name: getattr(settings, name) for name in settings.__dataclass_fields__})
