"""What ``clasher spark`` does: a session, a source, a job, and what there is to tell of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clasher.app import notes
from clasher.app.figures import bytes_, counted
from clasher.app.wanted import Wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from clasher.adapters.spark.batches import Progress
    from clasher.adapters.spark.records import Reading
    from clasher.analyzer import Tokenizer
    from clasher.model import Clasher

SCRIPT = Path(__file__).parent / "submit" / "clasher_spark.py"
LOOK = 0.5  # seconds between two looks at whether to stop


@dataclass(frozen=True, kw_only=True)
class Records:
    """What is read, as the command line says it."""

    text: str
    labels: str
    id: str
    label_separator: str | None
    labels_json: bool = False
    format: str | None
    delimiter: str | None = None
    encoding: str | None = None
    partial: bool = False

    @property
    def files(self) -> dict[str, str | None]:
        """How files are written."""
        return {"format": self.format, "delimiter": self.delimiter, "encoding": self.encoding}

    def reading(
        self, *, labelled: bool = True, stopping: bool = True, required: bool = True
    ) -> Reading:
        """How to read it."""
        from clasher.adapters.spark.records import Reading
        from clasher.io.records import Fields

        fields = Fields(self.text, self.labels, self.id, self.label_separator, self.labels_json)
        return Reading(fields, labelled, self.partial, stopping, required)


@contextmanager
def opened(master: str | None, conf: tuple[str, ...]) -> Iterator[SparkSession]:
    """A session, which ends with the command unless it was there before."""
    from clasher.adapters.spark import session  # first: it says which extra is missing

    from pyspark import SparkContext  # isort: skip

    # Not getActiveSession: that is None in every thread but the one that made the session.
    before = SparkContext._active_spark_context
    spark = session(master, dict(pair.split("=", 1) for pair in conf))
    if before is not None:
        yield spark
        return
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def fit(
    spark: SparkSession, paths: tuple[str, ...], records: Records, path: str, wanted: Wanted,
    *, rounds: int, exact: bool, skip: bool, quiet: bool,
) -> None:  # fmt: skip
    """Learn files into a model file."""
    from clasher.adapters import spark as adapter
    from clasher.adapters.spark.columns import Columns
    from clasher.adapters.spark.sources import read_files

    begun = wanted.load(path) if os.path.exists(path) else wanted.create()
    reading = records.reading(stopping=not skip)
    df = read_files(spark, paths, reading, **records.files)
    if skip:
        df = df.where(Columns().is_sound(df))
    model = adapter.fit(df, begun, id="id", rounds=rounds, exact=exact)
    model.save(path)
    learnt = counted(model.documents - begun.documents, "document")
    notes.say(f"learnt {learnt}; saved {path}: {_told(model, path)}", quiet=quiet)


def predict(
    spark: SparkSession, paths: tuple[str, ...], records: Records, path: str, output: str,
    tokenizer: Tokenizer | None, *, probabilities: bool, skip: bool, quiet: bool,
) -> None:  # fmt: skip
    """Label files, as JSON lines in a folder."""
    from clasher.adapters import spark as adapter
    from clasher.adapters.spark.sources import read_files
    from clasher.errors import SettingError
    from clasher.model import Clasher

    if os.path.exists(output):
        raise SettingError(f"--output {output}: is there already; name a folder that is new")
    model = Clasher.load(path, tokenizer=tokenizer)
    reading = records.reading(labelled=False, stopping=not skip)
    df = read_files(spark, paths, reading, **records.files)
    df = df.where("error is null").select("id", "text")
    found = adapter.predict(df, model, probabilities="probabilities" if probabilities else None)
    kept = found.drop("text").withColumnRenamed("predicted", "labels")
    with adapter.plainly():
        kept.write.json(output)
    notes.say(f"wrote {output}", quiet=quiet)


def stream(
    spark: SparkSession, source: str, records: Records, folder: str, wanted: Wanted,
    *, begun: str | None, to: str | None, letters: str | None, every: float | None, once: bool,
    files: int | None, learn_on: str, quiet: bool,
) -> None:  # fmt: skip
    """Predict and learn until there is no more, or until it is told to stop."""
    from clasher.adapters import spark as adapter
    from clasher.adapters.spark import sinks
    from clasher.adapters.spark.kafka_topics import KAFKA_ORDER, watch_kafka
    from clasher.adapters.spark.sources import FILE_ORDER, watch_files
    from clasher.service.beginnings import Beginning

    reading = records.reading(stopping=False, required=False)
    if source.startswith("kafka://"):
        df, order = watch_kafka(spark, source, reading), KAFKA_ORDER
    else:
        df = watch_files(spark, source, reading, files=files, **records.files)
        order = FILE_ORDER
    writes = [sinks.to_folder(to)] if to is not None else []
    writes += [sinks.dead_letters(letters)] if letters is not None else []
    tokenizer = wanted.analysis.get("tokenizer")
    model, settings = _model(folder, begun, wanted)
    trigger = {"availableNow": True} if once else {"processingTime": f"{every or 1:g} seconds"}
    with adapter.stream(
        df, folder, model, id="id", order=order, learn_on=learn_on, trigger=trigger,
        write=sinks.to_all(writes), told=None if quiet else _tell, tokenizer=tokenizer,
        begun=None if model is None or begun is None else Beginning.of(begun), **settings,
    ) as running, _told_to_stop() as stopping:  # fmt: skip
        while not stopping and not running.wait(LOOK):
            pass
        running.stop()
        documents, labels = running.model.documents, len(running.model.labels)
    notes.say(
        f"{folder}: {counted(documents, 'document')}, {counted(labels, 'label')}", quiet=quiet
    )


def _model(folder: str, begun: str | None, wanted: Wanted) -> tuple[Clasher | None, dict[str, Any]]:
    """The model or the settings of a new folder.

    What is said of one that has a model must be what it was made with: so the same command may be
    started again.
    """
    from clasher.model import Clasher
    from clasher.service import beginnings
    from clasher.service.snapshots import MODEL

    tokenizer = wanted.analysis.get("tokenizer")
    kept = sorted(Path(folder, "snapshots").glob("[0-9]" * 16))
    if kept:
        if begun is not None:
            beginnings.check(folder, begun, notes.warn)
        if wanted.given or wanted.paper or wanted.analysis.keys() - {"tokenizer"}:
            wanted.check(Clasher.load(kept[-1] / MODEL, tokenizer=tokenizer), folder)
        return None, {}
    if begun is not None:
        model = Clasher.load(begun, tokenizer=tokenizer)
        wanted.check(model, begun)
        return model, {}
    chosen = wanted.settings()
    return None, {name: getattr(chosen, name) for name in chosen.__dataclass_fields__}


@contextmanager
def _told_to_stop() -> Iterator[list[int]]:
    """A list that is no longer empty when SIGTERM or Ctrl-C has come."""
    asked: list[int] = []
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = {kind: signal.signal(kind, lambda number, _: asked.append(number)) for kind in kinds}
    try:
        yield asked
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _tell(progress: Progress) -> None:
    bad = f", {counted(progress.bad, 'bad row')}" if progress.bad else ""
    f1 = ""
    if progress.micro_f1 is not None and progress.macro_f1 is not None:
        f1 = f"; F1 so far {progress.macro_f1:.3f} macro, {progress.micro_f1:.3f} micro"
    notes.say(f"batch {progress.batch}: {counted(progress.rows, 'row')}{bad}{f1}")


def _told(model: Clasher, path: str) -> str:
    parts = counted(model.documents, "document"), counted(len(model.labels), "label")
    return ", ".join([*parts, bytes_(os.path.getsize(path))])
