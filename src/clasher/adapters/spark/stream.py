"""``stream``: predict and learn batch after batch, each exactly once, whatever happens in between.

Spark hands out batches by number, and after a crash repeats the one it had not yet marked as done.
The model is saved with the number of the last batch it has learnt, in one rename. So a batch that
comes again is either the next one, of which nothing is saved, or the last one, of which everything
is. Any other number means that the checkpoint and the model do not belong together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from clasher.adapters.spark import columns as cells
from clasher.adapters.spark.columns import HASHED, LABELS, Columns, column
from clasher.adapters.spark.fit import learn
from clasher.adapters.spark.predict import labelled
from clasher.adapters.spark.session import context_of, error_in, unwrap_errors
from clasher.errors import FolderError, SettingError
from clasher.labels import UNLABELLED, LabelSets
from clasher.model import Clasher
from clasher.runtime import deltas
from clasher.runtime.judged import Judged
from clasher.runtime.quality import figures
from clasher.runtime.snapshots import MODEL, InitialModel, LockedFolder, check_settings
from clasher.text.analyzer import Tokenizer

Write: TypeAlias = Callable[[DataFrame, int], object]
"""Writes the predictions of a batch, given its number; the same batch may come again."""

VALID = "_clasher_valid"


def stream(
    df: DataFrame,
    folder: str | Path,
    model: Clasher | None = None,
    *,
    text: str = "text",
    labels: str = "labels",
    id: str | None = None,  # noqa: A002
    output: str = "predicted",
    order: Sequence[str] = (),
    learn_on: str = "driver",
    write: Write | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    trigger: Mapping[str, Any] | None = None,
    tokenizer: Tokenizer | None = None,
    initial_model: InitialModel | None = None,
    **settings: Any,
) -> Stream:
    r"""Predict and learn a streaming data frame, batch by batch.

    The executors predict every batch with the model of the batch before. Then ``write`` gets the
    predictions, the model learns the batch, and ``folder`` gets both the model and the number of
    the batch in one rename. A driver that is killed at any moment and started again continues where
    it was: no batch is learnt twice or left out, and the model is byte for byte that of a run
    without interruption.

    Parameters
    ----------
    df
        The documents.
    folder
        The folder of the model and of Spark's checkpoint, on the driver's own file system whatever
        ``fs.defaultFS`` says.
    model
        The model that a new folder starts with. None: a new model with ``settings``.
    text, labels, id
        The columns, as for ``fit``. Rows without text, or with a null or empty label, are counted
        and skipped.
    output
        The column of the predictions.
    order
        Learn the rows of a batch in the order of these columns; otherwise in the order in which
        Spark reads them, which stays the same as long as the cluster does.
    learn_on
        ``driver``: in the order of the stream, as one process would. ``executors``: side by side,
        as ``fit`` does, for batches too large for one core.
    write
        Called before a batch is learnt, with its predictions (a data frame with all columns of
        ``df``) and its number. After a crash it may be called again with the same batch and the
        same predictions: it should replace what it wrote.
    on_progress
        Called with the ``Progress`` of every batch, after it was saved.
    trigger
        When batches start, as for Spark's ``trigger``: ``{"availableNow": True}`` ends with what is
        there now, ``{"processingTime": "10 seconds"}`` looks every ten seconds.
    tokenizer
        The function that splits text, for a folder whose model was made with one: it is in no file.
    initial_model
        The file of ``model``, noted in a new folder.
    **settings
        Those of ``Clasher``, for a new folder; for another one, the same as before.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clasher.adapters.spark import session, stream
    >>> home = tempfile.TemporaryDirectory()
    >>> inbox, folder = pathlib.Path(home.name, "inbox"), pathlib.Path(home.name, "news")
    >>> inbox.mkdir()
    >>> _ = (inbox / "1.json").write_text('{"text": "wheat and corn", "labels": ["grain"]}\n' * 5)
    >>> reader = session("local[2]").readStream.schema("text string, labels array<string>")
    >>> with stream(
    ...     reader.json(str(inbox)), folder, dimensions=1024, trigger={"availableNow": True}
    ... ) as news:
    ...     news.wait(), news.model.support
    (True, {'grain': 5})
    >>> home.cleanup()
    """
    if learn_on not in ("driver", "executors"):
        raise SettingError.of("learn_on", "'driver' or 'executors'", learn_on, "stream")
    if model is not None and settings:
        raise SettingError(f"a model has settings: leave out {', '.join(settings)}, or the model")
    Columns(text, labels, id).check(df)
    cells.with_columns(df, {output: LABELS})
    for name in order:
        if name not in df.columns:
            raise SettingError(f"the data frame has no column {name!r} to order rows by")
    given = Clasher(**settings) if model is None else model
    with ExitStack() as stack:
        opened = LockedFolder(folder, tokenizer or given.settings.analyzer.tokenizer)
        stack.callback(opened.close)
        checkpoint = opened.path / "checkpoint"
        learnt, notes = opened.snapshots.load(Learnt.of)
        if learnt is None:
            if notes or checkpoint.exists():
                why = "; ".join(notes) or "there is no snapshot beside the checkpoint"
                raise FolderError(
                    f"{opened.path}: no model is whole: {why}. Restore it from a backup."
                )
            if initial_model is not None:
                initial_model.keep(opened.path)
            learnt = Learnt(given if model is None else model.copy())
            opened.snapshots.write(learnt)
        elif model is not None or settings:
            check_settings(opened.path, learnt.model, given.settings)
        if learn_on == "executors":
            deltas.check(learnt.model.settings, is_new=False)
        columns = Columns(text, labels, id if learnt.model.settings.pending else None)
        running = Stream(
            learnt, opened, checkpoint, columns, output, order, learn_on == "executors", write,
            on_progress,
        )  # fmt: skip
        # a file address, since Spark's default may be another file system; Hadoop needs no escapes
        query = df.writeStream.option("checkpointLocation", f"file://{checkpoint}")
        query = query.trigger(**trigger or {"processingTime": "0 seconds"})
        running.query = query.foreachBatch(running.take).start()
        running.open = stack.pop_all()
    return running


class Learnt(Judged):
    """The model of a query, how good it was, and which batches it has learnt (``seq``)."""

    kept = ("seq", "bad", "query")

    def __init__(self, model: Clasher) -> None:
        super().__init__(model)
        self.bad = 0  # rows that could not be learnt
        self.query: str | None = None  # its identity in Spark's checkpoint

    def judge(self, truth: LabelSets, predicted: LabelSets) -> None:
        self.adopt()
        # The model may have evicted some of their labels again.
        self.labels.adopt(truth.names[used] for used in truth.used.tolist())
        self.quality.judge(truth, predicted, self.labels.numbers)
        self.drop_evicted()

    @classmethod
    def of(cls, plain: dict[str, Any], model: Clasher) -> Learnt:
        learnt = cls(model)
        learnt.restore(plain)
        return learnt


class Progress(NamedTuple):
    """The rows of a batch, and the quality of all predictions so far, made before learning."""

    batch: int
    rows: int
    labelled: int
    bad: int
    macro_f1: float | None
    micro_f1: float | None


@dataclass
class Stream:
    """A running query, and the folder of its model, which nobody else may use meanwhile."""

    learnt: Learnt
    folder: LockedFolder
    checkpoint: Path
    columns: Columns
    output: str
    order: Sequence[str]
    on_executors: bool
    write: Write | None
    on_progress: Callable[[Progress], object] | None
    failure: Exception | None = None
    query: StreamingQuery = field(init=False)
    """Spark's own query: its progress, its status, its name."""
    open: ExitStack = field(init=False)  # unlocks the folder

    @property
    def model(self) -> Clasher:
        """The model after the last batch; ``copy`` it to keep it while the stream runs."""
        return self.learnt.model

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the stream has ended, or for some seconds; return whether it has ended.

        Raises the error that ended it, if any.
        """
        try:
            ended = bool(self.query.awaitTermination(seconds)) or seconds is None  # type: ignore[arg-type]
        except StreamingQueryException as error:
            self.open.close()
            own = self.failure or error_in(str(error))
            if own is None:
                raise
            raise own from None
        if ended:
            self.open.close()
        return ended

    def stop(self) -> None:
        """End the stream; the next start repeats a batch that was not learnt completely."""
        self.query.stop()
        self.open.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def take(self, batch: DataFrame, number: int) -> None:
        """Predict and learn a batch, unless that is done; Spark calls this."""
        try:
            if not self._is_done(number):
                with unwrap_errors():
                    self._take(batch, number)
        except Exception as error:
            self.failure = error
            raise

    def _is_done(self, number: int) -> bool:
        query = json.loads((self.checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
        if self.learnt.query not in (None, query):
            raise FolderError(
                f"{self.checkpoint}: is that of another model; restore it, or use another folder"
            )
        self.learnt.query = query
        last = self.learnt.seq - 1
        if number not in (last, last + 1):
            raise FolderError(
                f"{self.checkpoint}: is at batch {number}, but the model has learnt up to batch "
                f"{last}; restore both from the same moment, or start in another folder"
            )
        return number == last

    @property
    def _hashes(self) -> bool:
        settings = self.learnt.model.settings  # executors hash, unless the driver needs the words
        return not settings.keeps_words and settings.depth == 1

    def _take(self, batch: DataFrame, number: int) -> None:
        sent = context_of(batch).broadcast(self.learnt.model)
        rows = labelled(batch, sent, self.columns.text, self.output, hashed=self._hashes)
        rows = rows.withColumn(VALID, self.columns.is_valid(batch)).persist()
        try:
            if self.write is not None:
                self.write(rows.drop(VALID, *HASHED), number)
            names = [VALID, *self.columns.names, self.output, *self.order]
            if self._hashes:
                names = [*HASHED, *(name for name in names if name != self.columns.text)]
            table = rows.select(*map(self.columns.column, dict.fromkeys(names))).toArrow()
            if self.order:
                table = table.sort_by([(name, "ascending") for name in self.order])
            valid = table.filter(table.column(VALID))
            truth = LabelSets.of(valid.column(self.columns.labels))
            self._learn(rows, valid, truth)
        finally:
            rows.unpersist()
            sent.destroy()
        self._save(number, truth, LabelSets.of(valid.column(self.output)), table.num_rows)

    def _learn(self, rows: DataFrame, valid: pa.Table, truth: LabelSets) -> None:
        model, columns = self.learnt.model, self.columns
        if self.on_executors:
            if valid.num_rows:
                learn(columns.select(rows.where(column(VALID))), model, columns)
            return
        if self._hashes:
            documents: Any = cells.hashed_rows(valid, model.hash_many([]).analysis)
        else:
            documents = valid.column(columns.text)
        ids = None if columns.id is None else valid.column(columns.id).to_pylist()
        model.learn_many(documents, truth, ids)

    def _save(self, number: int, truth: LabelSets, predicted: LabelSets, rows: int) -> None:
        """Save the model with the number of the batch, which from now on counts as learnt."""
        learnt, bad = self.learnt, rows - len(truth)
        learnt.judge(truth, predicted)
        learnt.seq = number + 1
        learnt.bad += bad
        self.folder.snapshots.write(learnt)
        self.folder.snapshots.link_model(learnt.seq, self.folder.path / MODEL)
        if self.on_progress is not None:
            labelled = int((truth.known != UNLABELLED).sum())
            found = figures(learnt.quality.all)
            f1 = found.macro_f1.value, found.micro_f1.value
            self.on_progress(Progress(number, rows, labelled, bad, *f1))
