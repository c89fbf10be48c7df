"""``clasher synth``: a stream of multi-label text with a known drift."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from clasher.cli.options import command, section

# As in clasher.datasets.synthetic, which takes too long to import for a help text.
DRIFTS = ("none", "sudden", "gradual", "recurring", "new-labels", "vanishing-labels")

_stream = section("Stream")


@command("synth", "Generate a stream with a known drift.")
@_stream("--drift", type=click.Choice(DRIFTS), default="sudden", help="What changes, and how.")
@_stream("--documents N", type=int, default=10_000, help="The number of documents.")
@_stream("--labels N", type=int, default=50, help="The number of labels.")
@_stream("--at N", type=int, help="The document at which the drift starts (default: half-way).")
@_stream(
    "--width N",
    type=int,
    help="How many documents the drift takes, or lie between two turns of a recurring one "
    "(default: a tenth of all).",
)
@_stream("--seed N", type=int, default=0, help="Another seed gives other documents.")
def synth_command(**settings: Any) -> None:
    """Write artificial documents with one to three labels, as JSON lines.

    Half of the labels change their words (sudden, gradual, recurring), or a
    third of them appear or vanish one by one (new-labels, vanishing-labels).

    $ clasher synth --drift sudden --documents 10000 > stream.jsonl
    $ clasher synth --drift recurring | clasher evaluate - --detector window
    """
    from clasher.datasets.synthetic import Stream

    for number, (text, names) in enumerate(Stream(**settings)):
        record = {"id": number, "text": text, "labels": names}
        sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
