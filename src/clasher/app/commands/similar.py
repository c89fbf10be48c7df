"""``clasher similar``: near-duplicates of a stream."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from clasher.ahead import HeldInterrupt
from clasher.app import notes
from clasher.app.figures import counted
from clasher.app.files import STANDARD_STREAM, keep_inputs
from clasher.app.options import Command, quiet_option, written_option
from clasher.app.streams import Stream, hashed_ahead, stream_options
from clasher.app.unsupervised import vector_option, vector_options

DECIMALS = 6

EXAMPLES = """
    clasher similar news.jsonl > duplicates.jsonl
    clasher similar inbox.csv --text body --threshold 0.7 --window 100000
    tail -f feed.jsonl | clasher similar - | jq .of
"""


@click.command(
    "similar", cls=Command, examples=EXAMPLES, short_help="Find near-duplicates in a stream."
)
@stream_options(labelled=False)
@vector_option(
    "--threshold",
    type=float,
    default=0.9,
    metavar="X",
    help="How similar two documents have to be: their cosine (default: 0.9).",
)
@vector_option(
    "--window",
    type=int,
    default=10_000,
    metavar="N",
    help="How many of the latest documents to compare with (default: 10000).",
)
@vector_options
@written_option
@quiet_option
def command(
    stream: Stream,
    threshold: float,
    window: int,
    vectors: dict[str, Any],
    output: str,
    quiet: bool,
) -> None:
    """Find the documents of a stream that are nearly the same as earlier ones.

    Writes a JSON line for each: its id, the id of the most similar document
    before it, and their similarity.
    """
    keep_inputs({"--output": output}, stream.paths)
    from clasher.io import LineWriter
    from clasher.similar import Similar, check_threshold

    check_threshold(threshold)
    similar = Similar(window, **vectors)
    found = 0
    with stream.opened(labelled=False) as batches, LineWriter(output) as writer:
        with notes.compiling(quiet=quiet):
            Similar(1, 2).add_many(["a word"])
        aside = output != STANDARD_STREAM or not notes.on_terminal()
        with (
            stream.bar(quiet=quiet or not aside) as bar,
            HeldInterrupt() as ctrl_c,
            closing(hashed_ahead(similar, batches)) as source,
        ):
            for batch, hashed in ctrl_c.between(source):
                copies = similar.near_duplicates(hashed, batch.ids, threshold)
                writer.write_lines(
                    [copy._asdict() | {"similarity": round(copy.similarity, DECIMALS)}
                     for copy in copies]
                )  # fmt: skip
                found += len(copies)
                bar.predicted(len(batch))
    of = counted(bar.documents, "document")
    notes.say(f"{counted(found, 'near-duplicate')} in {of}", quiet=quiet)
    if ctrl_c.asked:
        notes.leave_interrupted(bar.documents)
