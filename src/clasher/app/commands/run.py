"""``clasher run``: a stream in, labels out, learning on the way."""

from __future__ import annotations

import functools
from typing import Any

import click

from clasher.app.options import Command, option, output_option, quiet_option, with_options
from clasher.app.streams import NEVER_GUESSING, field_options, file_options
from clasher.app.wanted import Wanted, settings_options

EXAMPLES = """
    clasher run --from news.jsonl --to labelled.jsonl --model ./news
    clasher run --from inbox/ --to - --model ./news --route sport=sport.jsonl
    clasher run --from 'redis://localhost/news?group=desk' --model ./news
    clasher run --from kafka://one/a --to kafka://one/b --transactional -m ./news
    clasher run --from https://example.org/feed.xml --to - --model ./news
"""

_stream = functools.partial(option, section="Stream")
_running = functools.partial(option, section="Running")


def _fields(function: Any) -> Any:
    return with_options(function, field_options(labelled=True, separators=NEVER_GUESSING))


def _files(function: Any) -> Any:
    return with_options(function, file_options(_stream))


@click.command(
    "run", cls=Command, examples=EXAMPLES, short_help="Learn a stream, once each, and label it."
)
@_stream(
    "--from",
    "source",
    metavar="SOURCE",
    required=True,
    help="Where documents come from: a file, a folder that is watched, - for standard input, or "
    "a URL (kafka://, redis://, nats://, https:// for feeds).",
)
@_stream(
    "--labels-from",
    metavar="SOURCE",
    help="Where labels come from that are late: records with an id and labels.",
)
@_stream(
    "--decoder",
    metavar="MODULE:FUNCTION",
    help="Decode messages that are not JSON with a function of yours: bytes in, an object out.",
)
@_stream(
    "--new-stream",
    is_flag=True,
    help="Learn a stream that the folder of the model does not know, after those that it has "
    "learnt.",
)
@_fields
@_files
@output_option(
    "--to",
    "sink",
    metavar="SINK",
    help="Where documents go with their labels, as JSON: a file, - for standard output, or a URL "
    "(default: - where there is no --route).",
)
@output_option(
    "--route",
    "routes",
    metavar="RULE=SINK",
    multiple=True,
    help="Also write documents whose predicted labels fit RULE to SINK: a label, a|b (one of "
    "them), a&b (both), !a (not), a* (begins so). May be given again.",
)
@output_option(
    "--transactional",
    is_flag=True,
    help="Have outputs seen once, with the snapshot that knows of them, in one transaction; for "
    "sinks that are Kafka topics.",
)
@output_option("--texts", is_flag=True, help="Write the text of each document too.")
@output_option(
    "--dead-letters",
    metavar="SINK",
    help="Where arrivals go that are no records (default: dead-letters.jsonl in the folder).",
)
@option(
    "--model",
    "-m",
    "folder",
    metavar="FOLDER",
    required=True,
    section="Model",
    help="Where the model and the positions of its streams are kept; made where there is none.",
)
@option(
    "--begin-with",
    metavar="FILE",
    section="Model",
    help="Begin with this model file; for a folder that is new.",
)
@settings_options
@_running(
    "--snapshot-every",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How often to write a snapshot (default: 30, or less where a transaction would end "
    "before).",
)
@_running(
    "--remember",
    type=click.IntRange(min=0),
    default=10_000,
    metavar="N",
    help="Know the last N documents again when they come twice (default: 10000).",
)
@_running(
    "--idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End when nothing has come for so long (default: wait for ever).",
)
@_running(
    "--give-up",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End when a stream has not answered for so long (default: try for ever).",
)
@_running(
    "--metrics",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Show figures to Prometheus, at this port of this machine only; 0 for a free one.",
)
@quiet_option
def command(wanted: Wanted, quiet: bool, **given: Any) -> None:
    """Read documents, write their labels, learn from those that come labelled.

    Each document is learnt once, however often this is killed and started
    again: the positions of the streams are kept with the model. Outputs are
    written at least once, under the same ids.
    """
    from clasher.app.run import Streams, run

    run(Streams(**given), wanted, quiet=quiet)
