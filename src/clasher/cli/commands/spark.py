"""``clasher spark``: learning and predicting on a cluster.

What ``clasher spark`` does: a session, a source, a job, and what there is to tell of it.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted
from clasher.cli.options import (
    Command,
    Exemplified,
    handing_over,
    model_option,
    option,
    output_option,
    quiet_option,
    taken,
)
from clasher.cli.settings import Wanted, settings_options, tokenizer_option
from clasher.cli.streams import NEVER_GUESSING, json_option, separator_option, unlooked_at
from clasher.cli.terminal import check_model_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from clasher.adapters.spark.batches import Progress
    from clasher.adapters.spark.sources import Reading
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer


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
        from clasher.adapters.spark.sources import Reading
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
    from clasher.adapters.spark.predict import Columns
    from clasher.adapters.spark.sources import read_files

    begun = wanted.load(path) if os.path.exists(path) else wanted.create()
    reading = records.reading(stopping=not skip)
    df = read_files(spark, paths, reading, **records.files)
    if skip:
        df = df.where(Columns().is_sound(df))
    model = adapter.fit(df, begun, id="id", rounds=rounds, exact=exact)
    model.save(path)
    learnt = counted(model.documents - begun.documents, "document")
    terminal.say(f"learnt {learnt}; saved {path}: {_told(model, path)}", quiet=quiet)


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
    terminal.say(f"wrote {output}", quiet=quiet)


def stream(
    spark: SparkSession, source: str, records: Records, folder: str, wanted: Wanted,
    *, begun: str | None, to: str | None, letters: str | None, every: float | None, once: bool,
    files: int | None, learn_on: str, quiet: bool,
) -> None:  # fmt: skip
    """Predict and learn until there is no more, or until it is told to stop."""
    from clasher.adapters import spark as adapter
    from clasher.adapters.spark import sources
    from clasher.adapters.spark.kafka import KAFKA_ORDER, watch_kafka
    from clasher.adapters.spark.sources import FILE_ORDER, watch_files
    from clasher.runtime.snapshots import Beginning

    reading = records.reading(stopping=False, required=False)
    if source.startswith("kafka://"):
        df, order = watch_kafka(spark, source, reading), KAFKA_ORDER
    else:
        df = watch_files(spark, source, reading, files=files, **records.files)
        order = FILE_ORDER
    writes = [sources.to_folder(to)] if to is not None else []
    writes += [sources.dead_letters(letters)] if letters is not None else []
    tokenizer = wanted.analysis.get("tokenizer")
    model, settings = _model(folder, begun, wanted)
    trigger = {"availableNow": True} if once else {"processingTime": f"{every or 1:g} seconds"}
    with adapter.stream(
        df, folder, model, id="id", order=order, learn_on=learn_on, trigger=trigger,
        write=sources.to_all(writes), told=None if quiet else _tell, tokenizer=tokenizer,
        begun=None if model is None or begun is None else Beginning.of(begun), **settings,
    ) as running, _told_to_stop() as stopping:  # fmt: skip
        while not stopping and not running.wait(LOOK):
            pass
        running.stop()
        documents, labels = running.model.documents, len(running.model.labels)
    terminal.say(
        f"{folder}: {counted(documents, 'document')}, {counted(labels, 'label')}", quiet=quiet
    )


def _model(folder: str, begun: str | None, wanted: Wanted) -> tuple[Clasher | None, dict[str, Any]]:
    """The model or the settings of a new folder.

    What is said of one that has a model must be what it was made with: so the same command may be
    started again.
    """
    from clasher.model import Clasher
    from clasher.runtime import snapshots
    from clasher.runtime.snapshots import MODEL

    tokenizer = wanted.analysis.get("tokenizer")
    kept = sorted(Path(folder, "snapshots").glob("[0-9]" * 16))
    if kept:
        if begun is not None:
            snapshots.check_beginning(folder, begun, terminal.warn)
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
    terminal.say(f"batch {progress.batch}: {counted(progress.rows, 'row')}{bad}{f1}")


def _told(model: Clasher, path: str) -> str:
    parts = counted(model.documents, "document"), counted(len(model.labels), "label")
    return ", ".join([*parts, bytes_(os.path.getsize(path))])


EXAMPLES = """
    clasher spark fit news/*.parquet --model news.clasher --rule centroid
    clasher spark predict inbox/ -m news.clasher -o labelled
    clasher spark stream inbox/ --model news/ --to labelled/
    clasher spark script
"""
FIT_EXAMPLES = """
    clasher spark fit news.jsonl --model news.clasher --rule centroid
    clasher spark fit s3a://news/2024/ --format parquet -m news.clasher --rounds 8
"""
PREDICT_EXAMPLES = """
    clasher spark predict inbox.jsonl --model news.clasher --output labelled
    clasher spark predict mail.csv --text body -m news.clasher -o out --probabilities
"""
STREAM_EXAMPLES = """
    clasher spark stream inbox/ --model news/ --to labelled/
    clasher spark stream inbox/ --model news/ --once --files 10
    clasher spark stream kafka://broker:9092/news?max=10000 -m news/
"""
SCRIPT_EXAMPLES = """
    clasher spark script
"""

_spark = functools.partial(option, section="Spark")
_records = functools.partial(option, section="Records")
_NAMES = (
    "text",
    "labels",
    "id",
    "label_separator",
    "labels_json",
    "format",
    "delimiter",
    "encoding",
    "partial",
)


class Subcommands(Exemplified, click.Group):
    """Commands under a command."""


@click.group(
    "spark", cls=Subcommands, examples=EXAMPLES, short_help="Learn and predict on a Spark cluster."
)
def spark_command() -> None:
    """Learn and predict on a Spark cluster, or on all cores of this machine.

    spark-submit runs the same: script tells the file to give it, and what
    follows are the arguments of this command:

    \b
    spark-submit --master URL "$(clasher spark script)" fit ...
    """  # noqa: D301


def records_options(*, labelled: bool) -> Callable[[Any], Any]:
    """Give a command the options of records, and hand them over as ``records``."""
    options = [
        _records("--text", default="text", metavar="FIELD",
                 help="The field of the text (default: text)."),
        _records("--id", default="id", metavar="FIELD", help="The field of the id (default: id)."),
        _records("--format", metavar="EXT",
                 help="jsonl, csv, tsv or parquet, where names do not tell (folders: jsonl)."),
        _records("--delimiter", metavar="CHAR",
                 help="What stands between the cells of CSV and TSV (default: , or a tab)."),
        _records("--encoding", metavar="NAME",
                 help="The encoding of CSV and TSV, such as cp1252 (default: utf-8)."),
    ]  # fmt: skip
    if labelled:
        options += [
            _records("--labels", default="labels", metavar="FIELD",
                     help="The field of the labels (default: labels): a list, null (unlabelled), "
                          "or one text."),
            separator_option(_records, NEVER_GUESSING),
            json_option(_records),
            _records("--partial", is_flag=True,
                     help="Labels are objects label → true or false; the rest is unknown."),
        ]  # fmt: skip

    def gather(given: dict[str, Any]) -> dict[str, Any]:

        values = taken(given, _NAMES)
        if not labelled:
            values |= unlooked_at(values)
        return {"records": Records(**values)}

    return handing_over(options, gather)


def session_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a session."""
    master = _spark("--master", metavar="URL",
                    help="Where to run: local[4], spark://host:7077 (default: all cores here, or "
                         "where spark-submit says).")  # fmt: skip
    conf = _spark("--conf", multiple=True, metavar="NAME=VALUE", callback=_pairs,
                  help="A setting of Spark; may be given again.")  # fmt: skip
    return master(conf(function))


def _pairs(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE.")
    return values


_on_error = _records(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    help="What to do with a bad record: stop (the default), or pass over it.",
)


@spark_command.command(
    "fit", cls=Command, examples=FIT_EXAMPLES, short_help="Learn files, in parts side by side."
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@records_options(labelled=True)
@_on_error
@model_option("The model file to begin or to go on with.")
@settings_options
@_spark(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="How often the parts tell each other what they have learnt (default: 1).",
)
@_spark(
    "--exact/--one-pass",
    default=True,
    help="Whether to count words first, so that documents are weighed as in one process "
    "(default: exact).",
)
@session_options
@quiet_option
def fit_(
    paths: tuple[str, ...], records: Records, on_error: str, model_path: str, wanted: Wanted,
    rounds: int, exact: bool, master: str | None, conf: tuple[str, ...], quiet: bool,
) -> None:  # fmt: skip
    """Learn files into a model file, their parts side by side.

    A model file that exists is taken up where it was left. It is saved at the
    end, whole or not at all.
    """
    check_model_file("--model", model_path)

    with opened(master, conf) as spark:
        fit(
            spark, paths, records, model_path, wanted, rounds=rounds, exact=exact,
            skip=on_error == "skip", quiet=quiet,
        )  # fmt: skip


@spark_command.command("predict", cls=Command, examples=PREDICT_EXAMPLES, short_help="Label files.")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@records_options(labelled=False)
@_on_error
@model_option("The model file to predict with; it is not changed.")
@output_option(
    "--output",
    "-o",
    metavar="FOLDER",
    required=True,
    help="Where to write JSON lines; a folder that is new.",
)
@output_option("--probabilities", is_flag=True, help="Write the probability of every label too.")
@tokenizer_option()
@session_options
@quiet_option
def predict_(
    paths: tuple[str, ...], records: Records, on_error: str, model_path: str, output: str,
    probabilities: bool, tokenizer: Tokenizer | None, master: str | None, conf: tuple[str, ...],
    quiet: bool,
) -> None:  # fmt: skip
    """Predict the labels of files: a folder of JSON lines of ids and labels."""
    with opened(master, conf) as spark:
        predict(
            spark, paths, records, model_path, output, tokenizer, probabilities=probabilities,
            skip=on_error == "skip", quiet=quiet,
        )  # fmt: skip


@spark_command.command(
    "stream", cls=Command, examples=STREAM_EXAMPLES, short_help="Predict and learn what arrives."
)
@click.argument("source", metavar="FOLDER|kafka://...")
@records_options(labelled=True)
@option(
    "--model",
    "-m",
    "folder",
    metavar="FOLDER",
    required=True,
    section="Model",
    help="Where the model and Spark's checkpoint are kept; made where there is none.",
)
@option(
    "--begin-with",
    metavar="FILE",
    section="Model",
    help="Begin with this model; for a folder that is new.",
)
@settings_options
@output_option(
    "--to", metavar="FOLDER", help="Where to write predictions, a folder for every batch."
)
@output_option("--dead-letters", metavar="FOLDER", help="Where to write bad records.")
@_spark("--once", is_flag=True, help="End with what there is now.")
@_spark(
    "--every",
    type=click.FloatRange(min=0.01),
    metavar="SECONDS",
    help="How often to look for new files (default: 1).",
)
@_spark("--files", type=click.IntRange(min=1), metavar="N", help="Files of a batch at most.")
@_spark(
    "--learn-on",
    type=click.Choice(["driver", "executors"]),
    default="driver",
    help="Learn in the order of the stream, or side by side in parts (default: driver).",
)
@session_options
@quiet_option
def stream_(
    source: str, records: Records, folder: str, begin_with: str | None, wanted: Wanted,
    to: str | None, dead_letters: str | None, once: bool, every: float | None, files: int | None,
    learn_on: str, master: str | None, conf: tuple[str, ...], quiet: bool,
) -> None:  # fmt: skip
    """Predict and learn what arrives in a folder or a topic, batch by batch.

    However it ends, the next start goes on where it was: no batch is learnt
    twice, none is left out. Settings of the model are for a folder that is
    new. SIGTERM and Ctrl-C end it.
    """
    with opened(master, conf) as spark:
        stream(
            spark, source, records, folder, wanted, begun=begin_with, to=to, letters=dead_letters,
            every=every, once=once, files=files, learn_on=learn_on, quiet=quiet,
        )  # fmt: skip


@spark_command.command(
    "script", cls=Command, examples=SCRIPT_EXAMPLES, short_help="The file for spark-submit."
)
def script_() -> None:
    """Print the path of the file that spark-submit runs."""
    click.echo(SCRIPT)
