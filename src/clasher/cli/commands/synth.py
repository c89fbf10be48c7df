"""``clasher synth``: a stream of multi-label text with a known drift."""

from __future__ import annotations

import json
import sys
from typing import Any

from clasher.cli.options import command, section


@command("synth", "Generate a stream with a known drift.")
@section("Stream")(
    "--drift none|sudden|gradual|recurring|new-labels|vanishing-labels = sudden  What changes, and "
    "how.",
)
@section("Stream")(
    "--documents N = 10000  The number of documents.",
    "--labels N = 50  The number of labels.",
    "--at N  The document at which the drift starts (default: half-way).",
    "--width N  How many documents the drift takes, or lie between two turns of a recurring one "
    "(default: a tenth of all).",
    "--seed N = 0  Another seed gives other documents.",
    type=int,
)
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
