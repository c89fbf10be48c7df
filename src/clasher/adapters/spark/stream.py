"""``stream``: a model that predicts and learns batch after batch, none twice and none lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from clasher.adapters.spark.batches import Batches, Learnt, Progress, Write
from clasher.adapters.spark.predict import LABELS, Columns, with_columns
from clasher.adapters.spark.session import raised_in
from clasher.errors import FolderError, SettingError
from clasher.model import Clasher
from clasher.runtime import deltas
from clasher.runtime.folder import LockedFolder
from clasher.runtime.snapshots import Beginning, Snapshots
from clasher.text.analyzer import Tokenizer


class Stream:
    """A query that learns, and the folder it keeps the model in; nobody else may use that.

    Examples
    --------
    See :func:`stream`.
    """

    def __init__(self, query: StreamingQuery, batches: Batches, folder: LockedFolder) -> None:
        self.query = query
        """Spark's own: its progress, its status, its name."""
        self._batches = batches
        self._open = ExitStack()
        self._open.callback(folder.close)

    @property
    def model(self) -> Clasher:
        """The model as of the last batch; ``copy`` it to keep it while the stream goes on."""
        return self._batches.learnt.model

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the stream has ended, or for some seconds; whether it has.

        Raises what ended it, if it was not ``stop`` or the end of what there was to read.
        """
        try:
            ended = self._wait(seconds)
        except StreamingQueryException as error:
            self._open.close()
            own = self._batches.failure or raised_in(str(error))
            if own is None:
                raise
            raise own from None
        if ended:
            self._open.close()
        return ended

    def stop(self) -> None:
        """End the stream; a batch that was not learnt to its end comes again at the next start."""
        self.query.stop()
        self._open.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _wait(self, seconds: float | None) -> bool:
        if seconds is not None:
            return bool(self.query.awaitTermination(seconds))  # type: ignore[arg-type]
        self.query.awaitTermination()
        return True


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
    told: Callable[[Progress], object] | None = None,
    trigger: Mapping[str, Any] | None = None,
    tokenizer: Tokenizer | None = None,
    begun: Beginning | None = None,
    **settings: Any,
) -> Stream:
    r"""Predict and learn a streaming data frame, batch by batch.

    Every batch is predicted on the executors with the model of the batch before, handed to
    ``write``, learnt, and kept in ``folder`` with its number, in one rename. A driver that is
    killed at any moment and started again goes on where it was: no batch is learnt twice, none is
    left out, and the model is byte for byte that of a run without interruption.

    Parameters
    ----------
    df
        The documents.
    folder
        Where the model and Spark's checkpoint are: a folder of the driver's own file system,
        whatever ``fs.defaultFS`` says.
    model
        What to begin with in a folder that is new. None: a new model with ``settings``.
    text, labels, id
        The columns, as with ``fit``. A row without text, or with a label that is null or empty, is
        counted and passed over.
    output
        The column of the predictions.
    order
        The rows of a batch are learnt in the order of these columns; without them, as Spark reads
        them, which is always the same as long as the cluster is.
    learn_on
        ``driver``: in the order of the stream, as one process would. ``executors``: side by side,
        as ``fit`` does; for batches too large for one core.
    write
        Called with the predictions of a batch, a data frame with all columns of ``df``, and the
        number of the batch, before it is learnt. After a crash it may be called again for the same
        batch, with the same predictions: it should replace what it wrote.
    told
        Called with the ``Progress`` of every batch, after it was kept.
    trigger
        When batches begin, as Spark's ``trigger`` has it: ``{"availableNow": True}`` ends with what
        there is, ``{"processingTime": "10 seconds"}`` looks every ten seconds.
    tokenizer
        The function that cuts text, for a folder whose model was made with one: it is in no file.
    begun
        The file of ``model``, noted in a folder that is new.
    **settings
        Those of ``Clasher``, for a folder that is new; for another one, the same as before.

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
    Columns(text, labels, id).select(df)
    with_columns(df, {output: LABELS})
    for name in order:
        if name not in df.columns:
            raise SettingError(f"the data frame has no column {name!r} to put rows in order by")
    opened = LockedFolder(folder)
    try:
        snapshots = Snapshots(opened.snapshots, tokenizer or _tokenizer(model, settings))
        learnt = _learnt(snapshots, opened.path, model, begun, settings)
        kept = learnt.model.settings
        if learn_on == "executors":
            deltas.check(kept, is_new=False)
        batches = Batches(
            learnt, snapshots, opened.path / "checkpoint",
            Columns(text, labels, id if kept.pending else None), output, order,
            learn_on == "executors", write, told,
        )  # fmt: skip
        query = df.writeStream.foreachBatch(batches).option(
            "checkpointLocation", local_uri(batches.checkpoint)
        )
        if trigger is not None:
            query = query.trigger(**trigger)
        return Stream(query.start(), batches, opened)
    except BaseException:
        opened.close()
        raise


def local_uri(path: Path) -> str:
    """A local path for Spark, whose own file system may be another one.

    Hadoop takes what follows the scheme as it is: nothing is to be escaped.

    >>> local_uri(Path("/my models/100% new"))
    'file:///my models/100% new'
    """
    return f"file://{path.absolute()}"


def _tokenizer(model: Clasher | None, settings: dict[str, Any]) -> Tokenizer | None:
    """The function that cuts text, if it is one of the user's."""
    if model is not None:
        return model.settings.analyzer.tokenizer
    return getattr(settings.get("analyzer"), "tokenizer", None)


def _learnt(
    snapshots: Snapshots,
    folder: Path,
    model: Clasher | None,
    begun: Beginning | None,
    settings: dict[str, Any],
) -> Learnt:
    """What the folder holds; a new one gets the model to begin with."""
    if model is not None and settings:
        raise SettingError(
            f"a stream begins with a model, whose settings stay as they are: leave out "
            f"{', '.join(settings)}, or the model"
        )
    learnt, told = snapshots.load(Learnt.of)
    if learnt is None:
        if told or (folder / "checkpoint").exists():
            why = "; ".join(told) or "there is no snapshot beside the checkpoint"
            raise FolderError(f"{folder}: no model is whole: {why}. Restore it from a backup.")
        if begun is not None:
            begun.keep(folder)
        learnt = Learnt(Clasher(**settings) if model is None else model.copy())
        snapshots.write(learnt)
    elif model is not None or settings:
        asked = Clasher(**settings) if model is None else model
        if names := learnt.model.settings.differences(asked.settings):
            raise SettingError(
                f"{folder}: its model was made with other settings ({', '.join(names)}); leave "
                f"them out to go on with it, or name another folder"
            )
    return learnt
