"""The batches of a stream: each predicted, learnt and kept once, whatever happens in between.

Spark hands out batches by number, and after a crash again the one it had not yet noted as done. The
model is kept with the number of the last batch that it has learnt, in one rename: so a batch that
comes again is either the next one, of which nothing is kept, or the last one, of which everything
is. Any other number means that the checkpoint and the model do not belong together, and is refused.

What executors do with a batch of a stream: predict, and hash for the driver to learn from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, FloatType, IntegerType

from clasher.adapters.spark.fit import learn
from clasher.adapters.spark.predict import (
    LABELS,
    Columns,
    Sent,
    beside,
    column,
    in_pieces,
    received,
    sending,
    with_columns,
)
from clasher.adapters.spark.session import plainly
from clasher.errors import FolderError
from clasher.labels import UNLABELLED, LabelSets
from clasher.model import Clasher
from clasher.runtime.judged import Identities, Judged
from clasher.runtime.quality import Quality, figures
from clasher.runtime.snapshots import MODEL, Snapshots
from clasher.settings import Settings
from clasher.text.hashing import Hashed, HashedWords

SOUND, BUCKETS, COUNTS = "_clasher_sound", "_clasher_buckets", "_clasher_counts"
OWN = (SOUND, BUCKETS, COUNTS)
"""Columns that are nobody's business but ours."""

_HASHED: dict[str, DataType] = {
    BUCKETS: ArrayType(IntegerType(), containsNull=False),
    COUNTS: ArrayType(FloatType(), containsNull=False),
}


def hashes_ahead(settings: Settings) -> bool:
    """Whether executors can hash for the driver: words, where a model keeps them, stay behind."""
    return not settings.keeps_words and settings.depth == 1


def staged(
    batch: DataFrame, sent: Broadcast[Sent], columns: Columns, output: str, hashing: bool
) -> DataFrame:
    """A batch with the predictions of a model, hashed where that is of use, its rows judged."""
    schema = with_columns(batch, {output: LABELS} | (_HASHED if hashing else {}))
    task = Stage(sent, columns.text, output, hashing)
    found = batch.mapInArrow(task, schema).withColumn(SOUND, columns.is_sound(batch))
    return found.withColumn(output, sf.array_sort(column(output)))


@dataclass(frozen=True)
class Stage:
    """A task: labels and hashes the rows of a partition."""

    sent: Broadcast[Sent]
    text: str
    output: str
    hashing: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows in, the same rows with more columns out; nulls where there is no text."""
        model = received(self.sent)
        for rows in in_pieces(batches):
            texts = rows.column(self.text)
            missing = texts.is_null()
            hashed = model.hash_many(pc.fill_null(texts, ""))
            added = {self.output: model.predict_many(hashed).to_arrow()}
            if self.hashing:
                added |= zip((BUCKETS, COUNTS), as_lists(hashed), strict=True)
            yield beside(rows, added, missing)


def as_lists(hashed: Hashed) -> list[pa.ListArray]:
    """Hashed documents as two columns of lists."""
    offsets = pa.array(hashed.indptr.astype(np.int32))
    kinds = ((hashed.buckets, pa.int32()), (hashed.counts, pa.float32()))
    return [pa.ListArray.from_arrays(offsets, pa.array(own, kind)) for own, kind in kinds]


def hashed_of(rows: Any, analysis: str) -> Hashed:
    """What ``as_lists`` gave, in a table or a batch; ``analysis`` says what hashed it."""
    buckets, counts = rows.column(BUCKETS), rows.column(COUNTS)
    lengths = _numpy(pc.list_value_length(buckets))
    return Hashed(
        np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        _numpy(pc.list_flatten(buckets)).astype(np.int32, copy=False),
        _numpy(pc.list_flatten(counts)).astype(np.float32, copy=False),
        HashedWords.none(rows.num_rows),
        analysis,
    )


def _numpy(column: Any) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


Write: TypeAlias = Callable[[DataFrame, int], object]
"""Writes the predictions of a batch, given its number; the same batch may come again."""


class Learnt(Judged):
    """What a query has learnt: the model, how good it was, and from which batches.

    Attributes
    ----------
    seq : int
        How many batches were learnt.
    bad : int
        Rows that could not be learnt from.
    query : str | None
        The identity of the query, as Spark's checkpoint has it.

    Examples
    --------
    >>> learnt = Learnt(Clasher(1024))
    >>> learnt.query = "2f1c"
    >>> Learnt.of(learnt.to_plain(), learnt.model).query
    '2f1c'
    """

    def __init__(self, model: Clasher) -> None:
        super().__init__(model)
        self.seq = 0
        self.bad = 0
        self.query: str | None = None

    def note(self, truth: LabelSets, predicted: LabelSets) -> None:
        """The model has learnt documents: judge what was predicted of them before.

        Some of their labels may be gone again.
        """
        self.adopt()
        self.labels.adopt(truth.names[used] for used in np.unique(truth.ids).tolist())
        self.quality.judge(truth, predicted, self.labels.number)
        self.drop_evicted()

    def to_plain(self) -> dict[str, Any]:
        """All but the model, ready for JSON."""
        return {
            "seq": self.seq, "bad": self.bad, "query": self.query,
            "labels": self.labels.to_plain(), "quality": self.quality.to_plain(),
        }  # fmt: skip

    @classmethod
    def of(cls, plain: dict[str, Any], model: Clasher) -> Learnt:
        """What ``to_plain`` gave, with its model."""
        learnt = cls(model)
        learnt.seq, learnt.bad, learnt.query = plain["seq"], plain["bad"], plain["query"]
        learnt.labels = Identities.of(plain["labels"])
        learnt.quality = Quality.of(plain["quality"])
        return learnt


@dataclass(frozen=True)
class Progress:
    """What became of a batch, and how good the predictions of all were, before they were learnt."""

    batch: int
    rows: int
    labelled: int
    bad: int
    macro_f1: float | None
    micro_f1: float | None


@dataclass
class Batches:
    """Takes the batches of a query, one after the other."""

    learnt: Learnt
    snapshots: Snapshots
    checkpoint: Path
    columns: Columns
    output: str
    order: Sequence[str] = ()
    on_executors: bool = False
    write: Write | None = None
    told: Callable[[Progress], object] | None = None
    failure: Exception | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Predict, write, learn, keep; a batch that was kept before is passed over."""
        try:
            if not self._is_done(number):
                with plainly():
                    self._take(batch, number)
        except Exception as error:
            self.failure = error
            raise

    def _is_done(self, number: int) -> bool:
        query = json.loads((self.checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
        if self.learnt.query not in (None, query):
            raise FolderError(
                f"{self.checkpoint}: is not the checkpoint that the model was learnt with; restore "
                f"it, or begin anew in another folder"
            )
        self.learnt.query = query
        last = self.learnt.seq - 1
        if number not in (last, last + 1):
            raise FolderError(
                f"{self.checkpoint}: comes with batch {number}, and the model has learnt up to "
                f"batch {last}; restore both from the same moment, or begin anew in another folder"
            )
        return number == last

    def _take(self, batch: DataFrame, number: int) -> None:
        model, hashing = self.learnt.model, hashes_ahead(self.learnt.model.settings)
        sent = sending(batch, model)
        rows = staged(batch, sent, self.columns, self.output, hashing).persist()
        try:
            if self.write is not None:
                self.write(rows.drop(*OWN), number)
            table = self._collected(rows)
            good = table.filter(table.column(SOUND))
            truth = LabelSets.of(good.column(self.columns.labels))
            self._learn(rows, good, truth)
        finally:
            rows.unpersist()
            sent.destroy()
        self._keep(number, truth, LabelSets.of(good.column(self.output)), table.num_rows)

    def _collected(self, rows: DataFrame) -> pa.Table:
        """The rows of a batch, as far as the driver asks for them, in their order."""
        wanted = [SOUND, *self.columns.names, self.output, *self.order]
        if hashes_ahead(self.learnt.model.settings):
            wanted = [BUCKETS, COUNTS, *(name for name in wanted if name != self.columns.text)]
        table = rows.select(*map(self.columns.column, dict.fromkeys(wanted))).toArrow()
        if not self.order:
            return table
        return table.take(pc.sort_indices(table, [(name, "ascending") for name in self.order]))

    def _learn(self, rows: DataFrame, table: pa.Table, truth: LabelSets) -> None:
        """On the driver, in the order of the stream; or on executors, in parts."""
        model, columns = self.learnt.model, self.columns
        if self.on_executors:
            if table.num_rows:
                learn(columns.select(rows.where(column(SOUND))), model, columns)
            return
        if hashes_ahead(model.settings):
            source: Any = hashed_of(table, model.hash_many([]).analysis)
        else:
            source = table.column(columns.text)
        ids = None if columns.id is None else table.column(columns.id).to_pylist()
        model.learn_many(source, truth, ids)

    def _keep(self, number: int, truth: LabelSets, predicted: LabelSets, read: int) -> None:
        """Make what was learnt last: from here on the batch does not come again."""
        self.learnt.note(truth, predicted)
        self.learnt.seq = number + 1
        self.learnt.bad += read - len(truth)
        self.snapshots.write(self.learnt)
        self.snapshots.link_model(self.learnt.seq, self.checkpoint.parent / MODEL)
        if self.told is not None:
            labelled = int((truth.known != UNLABELLED).sum())
            found = figures(self.learnt.quality.all)
            f1 = found.macro_f1.value, found.micro_f1.value
            self.told(Progress(number, read, labelled, read - len(truth), *f1))
