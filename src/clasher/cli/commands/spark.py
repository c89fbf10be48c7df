"""``clasher spark``: learn and predict on a Spark cluster."""

from __future__ import annotations

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
    CommandGroup,
    model_option,
    option,
    option_group,
    output_option,
    pop_values,
    quiet_option,
    section,
)
from clasher.cli.settings import ModelOptions, settings_options, tokenizer_option
from clasher.cli.streams import ignored_labels, label_text_options
from clasher.cli.terminal import check_model_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from clasher.adapters.spark.sources import RecordReader
    from clasher.adapters.spark.stream import Progress
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer

SCRIPT = Path(__file__).parents[1] / "submit" / "clasher_spark.py"
POLL = 0.5  # seconds between two looks for a signal


@dataclass(frozen=True, kw_only=True)
class Records:
    """How to read records, as the options say."""

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
        """The format of the files."""
        return {"format": self.format, "delimiter": self.delimiter, "encoding": self.encoding}

    def reader(
        self, *, labelled: bool = True, stop_on_error: bool = True, labels_required: bool = True
    ) -> RecordReader:
        """Make a reader for executors."""
        from clasher.adapters.spark.sources import RecordReader
        from clasher.io.records import Fields

        fields = Fields(self.text, self.labels, self.id, self.label_separator, self.labels_json)
        return RecordReader(fields, labelled, self.partial, stop_on_error, labels_required)


@contextmanager
def opened(master: str | None, conf: tuple[str, ...]) -> Iterator[SparkSession]:
    """Open a session, and close it unless it ran before."""
    from clasher.adapters.spark import session  # first: it names a missing extra

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

_spark = section("Spark")
_records = section("Records")
_RECORDS = Records.__dataclass_fields__


@click.group(
    "spark", cls=CommandGroup, examples=EXAMPLES, short_help="Learn and predict on a Spark cluster."
)
def spark_command() -> None:
    """Learn and predict on a Spark cluster, or on all cores of this machine.

    To run the same with spark-submit, give it the file that script prints,
    then the arguments of this command:

    \b
    spark-submit --master URL "$(clasher spark script)" fit ...
    """  # noqa: D301


def records_options(*, labelled: bool) -> Callable[[Any], Any]:
    """Give a command the options of records, and pass them as ``records``."""
    options = [
        _records("--text", default="text", metavar="FIELD",
                 help="The field of the text (default: text)."),
        _records("--id", default="id", metavar="FIELD", help="The field of the id (default: id)."),
        _records("--format", metavar="EXT",
                 help="jsonl, csv, tsv or parquet, if names do not tell (folders: jsonl)."),
        _records("--delimiter", metavar="CHAR",
                 help="The separator of cells in CSV and TSV (default: , or a tab)."),
        _records("--encoding", metavar="NAME",
                 help="The encoding of CSV and TSV, such as cp1252 (default: utf-8)."),
    ]  # fmt: skip
    if labelled:
        options += [
            _records("--labels", default="labels", metavar="FIELD",
                     help="The field of the labels (default: labels): a list, null (unlabelled), "
                          "or one text."),
            *label_text_options("Records", guess=False),
            _records("--partial", is_flag=True,
                     help="Labels are objects label → true or false; the rest is unknown."),
        ]  # fmt: skip

    def collect(given: dict[str, Any]) -> dict[str, Any]:
        values = pop_values(given, _RECORDS)
        if not labelled:
            values |= ignored_labels(values)
        return {"records": Records(**values)}

    return option_group(options, collect)


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
    help="Stop at a bad record (the default), or skip it.",
)


@spark_command.command(
    "fit", cls=Command, examples=FIT_EXAMPLES, short_help="Learn files, in parts side by side."
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@records_options(labelled=True)
@_on_error
@model_option("The model file to create or to continue.")
@settings_options
@_spark(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="How often the parts exchange what they have learnt (default: 1).",
)
@_spark(
    "--exact/--one-pass",
    default=True,
    help="Count words first, so that documents are weighted as in one process (default: exact).",
)
@session_options
@quiet_option
def fit(
    paths: tuple[str, ...], records: Records, on_error: str, model_path: str, options: ModelOptions,
    rounds: int, exact: bool, master: str | None, conf: tuple[str, ...], quiet: bool,
) -> None:  # fmt: skip
    """Learn files into a model file, their parts side by side.

    Continues the model if the file exists. Saves it at the end, whole or not
    at all.
    """
    check_model_file("--model", model_path)

    with opened(master, conf) as spark:
        from clasher.adapters import spark as adapter
        from clasher.adapters.spark.columns import Columns
        from clasher.adapters.spark.sources import read_files

        initial = options.load(model_path) if os.path.exists(model_path) else options.create()
        reader = records.reader(stop_on_error=on_error == "stop")
        df = read_files(spark, paths, reader, **records.files)
        if on_error == "skip":
            df = df.where(Columns().is_valid(df))
        model = adapter.fit(df, initial, id="id", rounds=rounds, exact=exact)
        model.save(model_path)
        learnt = counted(model.documents - initial.documents, "document")
        size = bytes_(os.path.getsize(model_path))
        terminal.say(f"learnt {learnt}; saved {model_path}: {_size(model)}, {size}", quiet=quiet)


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
    help="A new folder for JSON lines.",
)
@output_option("--probabilities", is_flag=True, help="Write the probability of every label too.")
@tokenizer_option()
@session_options
@quiet_option
def predict(
    paths: tuple[str, ...], records: Records, on_error: str, model_path: str, output: str,
    probabilities: bool, tokenizer: Tokenizer | None, master: str | None, conf: tuple[str, ...],
    quiet: bool,
) -> None:  # fmt: skip
    """Predict the labels of files: a folder of JSON lines of ids and labels."""
    with opened(master, conf) as spark:
        from clasher.adapters import spark as adapter
        from clasher.adapters.spark.sources import read_files
        from clasher.errors import SettingError
        from clasher.model import Clasher

        if os.path.exists(output):
            raise SettingError(f"--output {output}: exists already; name a new folder")
        model = Clasher.load(model_path, tokenizer=tokenizer)
        reader = records.reader(labelled=False, stop_on_error=on_error == "stop")
        df = read_files(spark, paths, reader, **records.files)
        df = df.where("error is null").select("id", "text")
        found = adapter.predict(df, model, probabilities="probabilities" if probabilities else None)
        with adapter.unwrap_errors():
            found.drop("text").withColumnRenamed("predicted", "labels").write.json(output)
        terminal.say(f"wrote {output}", quiet=quiet)


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
    help="The folder of the model and of Spark's checkpoint; created if missing.",
)
@option(
    "--initial-model",
    metavar="FILE",
    section="Model",
    help="Start a new folder with this model.",
)
@settings_options
@output_option("--to", metavar="FOLDER", help="Write predictions here, a folder for every batch.")
@output_option("--dead-letters", metavar="FOLDER", help="Write bad records here.")
@_spark("--once", is_flag=True, help="End with what is there now.")
@_spark(
    "--every",
    type=click.FloatRange(min=0.01),
    metavar="SECONDS",
    help="How often to look for new documents (default: 1).",
)
@_spark("--files", type=click.IntRange(min=1), metavar="N", help="The most files of a batch.")
@_spark(
    "--learn-on",
    type=click.Choice(["driver", "executors"]),
    default="driver",
    help="Learn in the order of the stream, or side by side in parts (default: driver).",
)
@session_options
@quiet_option
def stream(
    source: str, records: Records, folder: str, initial_model: str | None, options: ModelOptions,
    to: str | None, dead_letters: str | None, once: bool, every: float | None, files: int | None,
    learn_on: str, master: str | None, conf: tuple[str, ...], quiet: bool,
) -> None:  # fmt: skip
    """Predict and learn what arrives in a folder or a topic, batch by batch.

    However it ends, the next start continues where it was: no batch is learnt
    twice or left out. Settings of the model are for a new folder. SIGTERM and
    Ctrl-C end it.

    A topic needs Spark's Kafka connector: if it is missing, the error names
    the option that adds it.
    """
    with opened(master, conf) as spark:
        from clasher.adapters import spark as adapter
        from clasher.adapters.spark.kafka import KAFKA_ORDER, watch_kafka
        from clasher.adapters.spark.sources import FILE_ORDER, to_folders, watch_files
        from clasher.runtime.snapshots import InitialModel

        reader = records.reader(stop_on_error=False, labels_required=False)
        if source.startswith("kafka://"):
            df, order = watch_kafka(spark, source, reader), KAFKA_ORDER
        else:
            df = watch_files(spark, source, reader, files=files, **records.files)
            order = FILE_ORDER
        model, settings = _initial_model(folder, initial_model, options)
        origin = None
        if model is not None and initial_model is not None:
            origin = InitialModel.of(initial_model)
        trigger = {"availableNow": True} if once else {"processingTime": f"{every or 1:g} seconds"}
        with adapter.stream(
            df, folder, model, id="id", order=order, learn_on=learn_on, trigger=trigger,
            write=to_folders(to, dead_letters), on_progress=None if quiet else _say_progress,
            tokenizer=options.analysis.get("tokenizer"), initial_model=origin, **settings,
        ) as running, _stop_signals() as signals:  # fmt: skip
            while not signals and not running.wait(POLL):
                pass
            running.stop()
            size = _size(running.model)
        terminal.say(f"{folder}: {size}", quiet=quiet)


def _initial_model(
    folder: str, initial_model: str | None, options: ModelOptions
) -> tuple[Clasher | None, dict[str, Any]]:
    """Return the model or the settings that a new folder starts with.

    A folder that has a model must have been made with the same options, so that the same command
    can be started again.
    """
    from clasher.model import Clasher
    from clasher.runtime import snapshots
    from clasher.runtime.snapshots import MODEL

    tokenizer = options.analysis.get("tokenizer")
    kept = sorted(Path(folder, "snapshots").glob("[0-9]" * 16))
    if kept:
        if initial_model is not None:
            snapshots.check_initial_model(folder, initial_model, terminal.warn)
        if options.given or options.paper or options.analysis.keys() - {"tokenizer"}:
            options.check(Clasher.load(kept[-1] / MODEL, tokenizer=tokenizer), folder)
        return None, {}
    if initial_model is not None:
        model = Clasher.load(initial_model, tokenizer=tokenizer)
        options.check(model, initial_model)
        return model, {}
    settings = options.settings()
    return None, {name: getattr(settings, name) for name in settings.__dataclass_fields__}


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collect SIGTERM and SIGINT in a list."""
    received: list[int] = []
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = {
        kind: signal.signal(kind, lambda number, _: received.append(number)) for kind in kinds
    }
    try:
        yield received
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _say_progress(progress: Progress) -> None:
    bad = f", {counted(progress.bad, 'bad row')}" if progress.bad else ""
    f1 = ""
    if progress.micro_f1 is not None and progress.macro_f1 is not None:
        f1 = f"; F1 so far {progress.macro_f1:.3f} macro, {progress.micro_f1:.3f} micro"
    terminal.say(f"batch {progress.batch}: {counted(progress.rows, 'row')}{bad}{f1}")


def _size(model: Clasher) -> str:
    return f"{counted(model.documents, 'document')}, {counted(len(model.labels), 'label')}"


@spark_command.command(
    "script", cls=Command, examples=SCRIPT_EXAMPLES, short_help="The file for spark-submit."
)
def script() -> None:
    """Print the path of the file that spark-submit runs."""
    click.echo(SCRIPT)
