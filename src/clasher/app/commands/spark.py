"""``clasher spark``: learning and predicting on a cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from clasher.app.analysis import tokenizer_option
from clasher.app.files import check_model_file
from clasher.app.options import (
    Command,
    Exemplified,
    handing_over,
    model_option,
    option,
    output_option,
    quiet_option,
    taken,
)
from clasher.app.streams import NEVER_GUESSING, json_option, separator_option, unlooked_at
from clasher.app.wanted import Wanted, settings_options

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer
    from clasher.app.sparking import Records

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
def command() -> None:
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
        from clasher.app.sparking import Records

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


@command.command(
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
    from clasher.app import sparking

    with sparking.opened(master, conf) as spark:
        sparking.fit(
            spark, paths, records, model_path, wanted, rounds=rounds, exact=exact,
            skip=on_error == "skip", quiet=quiet,
        )  # fmt: skip


@command.command("predict", cls=Command, examples=PREDICT_EXAMPLES, short_help="Label files.")
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
    from clasher.app import sparking

    with sparking.opened(master, conf) as spark:
        sparking.predict(
            spark, paths, records, model_path, output, tokenizer, probabilities=probabilities,
            skip=on_error == "skip", quiet=quiet,
        )  # fmt: skip


@command.command(
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
    from clasher.app import sparking

    with sparking.opened(master, conf) as spark:
        sparking.stream(
            spark, source, records, folder, wanted, begun=begin_with, to=to, letters=dead_letters,
            every=every, once=once, files=files, learn_on=learn_on, quiet=quiet,
        )  # fmt: skip


@command.command(
    "script", cls=Command, examples=SCRIPT_EXAMPLES, short_help="The file for spark-submit."
)
def script_() -> None:
    """Print the path of the file that spark-submit runs."""
    from clasher.app.sparking import SCRIPT

    click.echo(SCRIPT)
