"""``clasher synth``: a stream of multi-label text with a known drift."""

from __future__ import annotations

import json
import sys

import click

from clasher.cli.options import Command, option
from clasher.datasets.synthetic import DRIFTS, Stream

EXAMPLES = """
    clasher synth --drift sudden --documents 10000 > stream.jsonl
    clasher synth --drift recurring | clasher evaluate - --detector window
"""


@click.command(
    "synth", cls=Command, examples=EXAMPLES, short_help="Make up a stream whose drift is known."
)
@option(
    "--drift",
    type=click.Choice(DRIFTS),
    default="sudden",
    section="Stream",
    help="What changes, and how (default: sudden).",
)
@option(
    "--documents",
    type=int,
    default=10_000,
    metavar="N",
    section="Stream",
    help="How many documents there are (default: 10000).",
)
@option(
    "--labels",
    type=int,
    default=50,
    metavar="N",
    section="Stream",
    help="How many labels there are (default: 50).",
)
@option(
    "--at",
    type=int,
    metavar="N",
    section="Stream",
    help="The document at which the drift begins (default: half-way).",
)
@option(
    "--width",
    type=int,
    metavar="N",
    section="Stream",
    help="The documents it takes, or between two turns of a recurring one (default: a tenth of "
    "all).",
)
@option(
    "--seed",
    type=int,
    default=0,
    metavar="N",
    section="Stream",
    help="Another seed, other documents (default: 0).",
)
def synth_command(
    drift: str, documents: int, labels: int, at: int | None, width: int | None, seed: int
) -> None:
    """Write made-up documents with one to three labels, as JSON lines.

    Half of the labels change their words (sudden, gradual, recurring), or a
    third of them appear or vanish one by one (new-labels, vanishing-labels).
    """
    stream = Stream(documents, labels, drift, at, width, seed)
    for number, (text, names) in enumerate(stream):
        record = {"id": number, "text": text, "labels": names}
        sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
