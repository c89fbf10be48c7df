"""``clasher spark``: learn and predict on a Spark cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, summary
from clasher.cli.options import command, group, model_option, option_group, output_option, section
from clasher.cli.settings import Loader, ModelOptions, folder_options, load_option, settings_options
from clasher.cli.streams import label_texts, record_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from clasher.adapters.spark.stream import Progress
    from clasher.io.records import Fields

SCRIPT = Path(__file__).parents[1] / "submit" / "clasher_spark.py"
POLL = 0.5  # seconds between two looks for a signal

Session: TypeAlias = "AbstractContextManager[SparkSession]"

_spark = section("Spark")
_records = section("Records")


@contextmanager
def opened(master: str | None, conf: dict[str, str]) -> Iterator[SparkSession]:
    """Open a session, and close it unless it ran before."""
    from clasher.adapters.spark import session  # first: it names a missing extra

    from pyspark import SparkContext  # isort: skip

    # Not getActiveSession: that is None in every thread but the one that made the session.
    before = SparkContext._active_spark_context
    spark = session(master, conf)
    if before is not None:
        yield spark
        return
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


@group("spark", "Learn and predict on a Spark cluster.")
def spark_command() -> None:
    """Learn and predict on a Spark cluster, or on all cores of this machine.

    To run the same with spark-submit, give it the file that script prints,
    then the arguments of this command:

    \b
    spark-submit --master URL "$(clasher spark script)" fit ...

    $ clasher spark fit news/*.parquet --model news.clasher --rule centroid
    $ clasher spark predict inbox/ -m news.clasher -o labelled
    $ clasher spark stream inbox/ --model news/ --to labelled/
    $ clasher spark script
    """  # noqa: D301


_fields = _records(
    "--text FIELD = text  The field of the text (default: text).",
    "--id FIELD = id  The field of the id (default: id).",
    "--format EXT  jsonl, csv, tsv or parquet, unless file names say it (folders: jsonl).",
    "--delimiter CHAR  The separator of cells in CSV and TSV (default: , or a tab).",
    "--encoding NAME  The encoding of CSV and TSV, such as cp1252 (default: utf-8).",
)
_labels = _records(
    "--labels FIELD = labels  The field of the labels (default: labels): a list, null "
    "(unlabelled), or one text.",
    *label_texts(guess=False),
)
_partial = _records("--partial  Labels are objects label → true or false; the rest is unknown.")
_on_error = _records("--on-error stop|skip = stop  Stop at a bad record (the default), or skip it.")


def _pairs(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE.")
    return dict(value.split("=", 1) for value in values)


def session_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a session."""
    master = _spark(
        "--master URL  Where to run: local[4], spark://host:7077 (default: all cores here, or "
        "where spark-submit says)."
    )
    conf = _spark(
        "--conf NAME=VALUE  A setting of Spark; repeatable.", multiple=True, callback=_pairs
    )
    return option_group(
        [master, conf], lambda given: {"session": opened(given.pop("master"), given.pop("conf"))}
    )(function)


@command("fit", "Learn files in parallel.", group=spark_command)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@record_options(_fields, _labels)
@_partial
@_on_error
@model_option("The model file to create or to continue.")
@settings_options
@_spark("--rounds N = 1  How often the parts exchange what they have learnt.")
@_spark(
    "--exact/--one-pass  Count words first, so that documents are weighted as in one process "
    "(default: exact).",
    default=True,
)
@session_options
def fit(
    paths: tuple[str, ...], fields: Fields, files: dict[str, Any], partial: bool, on_error: str,
    model_path: str, options: ModelOptions, rounds: int, exact: bool, session: Session,
) -> None:  # fmt: skip
    """Learn files into a model file, in parallel.

    Continues the model if the file exists, and saves it at the end, atomically.

    $ clasher spark fit news.jsonl --model news.clasher --rule centroid
    $ clasher spark fit s3a://news/2024/ --format parquet -m news.clasher --rounds 8
    """
    terminal.check_model_file("--model", model_path)

    with session as spark:
        from clasher.adapters import spark as adapter
        from clasher.adapters.spark.columns import Columns
        from clasher.adapters.spark.sources import RecordReader, read_files

        initial = options.load(model_path) if os.path.exists(model_path) else options.create()
        reader = RecordReader(fields, partial=partial, stop_on_error=on_error == "stop")
        df = read_files(spark, paths, reader, **files)
        if on_error == "skip":
            df = df.where(Columns().is_valid(df))
        model = adapter.fit(df, initial, id="id", rounds=rounds, exact=exact)
        model.save(model_path)
        learnt = counted(model.documents - initial.documents, "document")
        size = bytes_(os.path.getsize(model_path))
        terminal.say(f"learnt {learnt}; saved {model_path}: {summary(model)}, {size}")


@command("predict", "Label files.", group=spark_command)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@record_options(_fields)
@_on_error
@model_option("The model file to predict with; it is not changed.")
@output_option("--output -o FOLDER  A new folder for JSON lines.", required=True)
@output_option("--probabilities  Write the probability of every label too.")
@load_option
@session_options
def predict(
    paths: tuple[str, ...], fields: Fields, files: dict[str, Any], on_error: str, model_path: str,
    output: str, probabilities: bool, load: Loader, session: Session,
) -> None:  # fmt: skip
    """Predict the labels of files: a folder of JSON lines of ids and labels.

    $ clasher spark predict inbox.jsonl --model news.clasher --output labelled
    $ clasher spark predict mail.csv --text body -m news.clasher -o out --probabilities
    """
    with session as spark:
        from clasher.adapters import spark as adapter
        from clasher.adapters.spark.sources import RecordReader, read_files
        from clasher.errors import SettingError

        if os.path.exists(output):
            raise SettingError(f"--output {output}: exists already; name a new folder")
        model = load(model_path)
        reader = RecordReader(fields, labelled=False, stop_on_error=on_error == "stop")
        df = read_files(spark, paths, reader, **files)
        df = df.where("error is null").select("id", "text")
        found = adapter.predict(df, model, probabilities="probabilities" if probabilities else None)
        with adapter.unwrap_errors():
            found.drop("text").withColumnRenamed("predicted", "labels").write.json(output)
        terminal.say(f"wrote {output}")


@command("stream", "Predict and learn what arrives.", group=spark_command)
@click.argument("source", metavar="FOLDER|kafka://...")
@record_options(_fields, _labels)
@_partial
@folder_options("Spark's checkpoint")
@settings_options
@output_option(
    "--to FOLDER  Write predictions here, a folder for every batch.",
    "--dead-letters FOLDER  Write bad records here.",
)
@_spark(
    "--every SECONDS = 1  How often to look for new documents.", type=click.FloatRange(min=0.01)
)
@_spark(
    "--once  Stop after the documents that are there now.",
    "most --files N  The maximum number of files in a batch.",
    "--learn-on driver|executors = driver  Learn on the driver, in the order of the stream, or in "
    "parallel on the executors (default: driver).",
)
@session_options
def stream(
    source: str, fields: Fields, files: dict[str, Any], partial: bool, folder: str,
    initial_model: str | None, options: ModelOptions, to: str | None, dead_letters: str | None,
    once: bool, every: float, most: int | None, learn_on: str, session: Session,
) -> None:  # fmt: skip
    """Predict and learn what arrives in a folder or a topic, batch by batch.

    However it stops, the next run continues where it stopped: no batch is
    learnt twice or left out. Model settings are for a new folder. SIGTERM and
    Ctrl-C stop it.

    A topic needs Spark's Kafka connector: if it is missing, the error names
    the option that adds it.

    $ clasher spark stream inbox/ --model news/ --to labelled/
    $ clasher spark stream inbox/ --model news/ --once --files 10
    $ clasher spark stream kafka://broker:9092/news?max=10000 -m news/
    """
    with session as spark:
        from clasher.adapters import spark as adapter
        from clasher.adapters.spark.kafka import KAFKA_ORDER, watch_kafka
        from clasher.adapters.spark.sources import FILE_ORDER, RecordReader, to_folders, watch_files
        from clasher.runtime.snapshots import MODEL

        reader = RecordReader(fields, True, partial, stop_on_error=False, labels_required=False)
        if source.startswith("kafka://"):
            df, order = watch_kafka(spark, source, reader), KAFKA_ORDER
        else:
            df = watch_files(spark, source, reader, files=most, **files)
            order = FILE_ORDER
        saved = max(Path(folder, "snapshots").glob("[0-9]" * 16), default=None)
        settings, model, origin = options.begin(folder, saved and saved / MODEL, initial_model)
        trigger = {"availableNow": True} if once else {"processingTime": f"{every:g} seconds"}
        signals: list[int] = []
        stopping = terminal.signal_handler(lambda number, _: signals.append(number))
        with adapter.stream(
            df, folder, model, id="id", order=order, learn_on=learn_on, trigger=trigger,
            write=to_folders(to, dead_letters), initial_model=origin,
            on_progress=None if terminal.is_quiet() else _say_progress,
            tokenizer=options.analysis.get("tokenizer"),
            **({} if settings is None else vars(settings)),
        ) as running, stopping:  # fmt: skip
            while not signals and not running.wait(POLL):
                pass
            running.stop()
            size = summary(running.model)
        terminal.say(f"{folder}: {size}")


def _say_progress(progress: Progress) -> None:
    bad = f", {counted(progress.bad, 'bad row')}" if progress.bad else ""
    f1 = ""
    if progress.micro_f1 is not None and progress.macro_f1 is not None:
        f1 = f"; F1 so far {progress.macro_f1:.3f} macro, {progress.micro_f1:.3f} micro"
    terminal.say(f"batch {progress.batch}: {counted(progress.rows, 'row')}{bad}{f1}")


@command("script", "The file for spark-submit.", group=spark_command, quiet=False)
def script() -> None:
    """Print the path of the file that spark-submit runs.

    $ clasher spark script
    """
    click.echo(SCRIPT)
