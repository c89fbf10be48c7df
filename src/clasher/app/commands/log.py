"""``clasher log``: what was taught to a service, as JSON lines."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import IO

import click

from clasher.app.files import STANDARD_STREAM, check_outputs
from clasher.app.options import Command, option, written_option

EXAMPLES = """
    clasher log ./my-clasher > taught.jsonl
    clasher log ./my-clasher --after 12000 | jq 'select(.kind == "feedback")'
"""


@click.command(
    "log", cls=Command, examples=EXAMPLES, short_help="Export what was taught to a service."
)
@click.argument("folder", metavar="FOLDER")
@option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    section="Log",
    help="Only what came after version N (default: all that is kept).",
)
@written_option
def command(folder: str, after: int, output: str) -> None:
    """Write what people taught, oldest first: who, when, before and after.

    FOLDER is the data folder of a service that does not run; one that runs is
    asked at /v1/log. Each document, answer and change of a label is a JSON
    line with the version of the model that it made.
    """
    check_outputs({"--output": output})
    import msgspec

    from clasher.service.lessons import read_folder

    encoder = msgspec.json.Encoder()
    with ExitStack() as stack:
        file: IO[bytes] = sys.stdout.buffer
        for number, lesson in enumerate(read_folder(folder, after)):
            if not number and output != STANDARD_STREAM:  # a folder without a log spoils no file
                file = stack.enter_context(open(output, "wb"))
            file.write(encoder.encode(lesson) + b"\n")
        file.flush()
