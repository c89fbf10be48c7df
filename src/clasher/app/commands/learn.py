"""``clasher learn``: teach a model file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from clasher.ahead import HeldInterrupt
from clasher.app import notes
from clasher.app.figures import bytes_
from clasher.app.files import check_model_file, check_outputs
from clasher.app.options import Command, model_option, output_option, quiet_option
from clasher.app.progress import Bar
from clasher.app.streams import Stream, hashed_ahead, stream_options
from clasher.app.wanted import Wanted, settings_options
from clasher.errors import ClasherError

if TYPE_CHECKING:
    from clasher.io import Batch
    from clasher.model import Clasher


@click.command("learn", cls=Command, short_help="Teach a model file, new or not.")
@stream_options(labelled=True)
@model_option
@settings_options
@output_option("--save-every", type=click.IntRange(min=1), metavar="N",
               help="Also save after every N documents.")
@quiet_option
def command(
    stream: Stream, model_path: str, wanted: Wanted, save_every: int | None, quiet: bool
) -> None:  # fmt: skip
    """Learn a stream into a model file.

    A file that exists is taken up where it was left, with its own settings;
    one that does not is begun. It is saved at the end, and on Ctrl-C, whole
    or not at all.

    \b
    Examples:
      clasher learn news.jsonl --model news.clasher
      clasher learn more.csv.gz --label-separator , --model news.clasher
      tail -f feed.jsonl | clasher learn - -m news.clasher --save-every 1000
    """
    check_model_file("--model", model_path)
    check_outputs({"--model": model_path}, stream.paths)
    model = _open(model_path, wanted, quiet=quiet)
    before = model.documents
    with stream.opened() as batches:
        notes.warm_up(quiet=quiet)
        with HeldInterrupt() as ctrl_c, stream.bar(quiet=quiet) as bar:
            _learn(model, ctrl_c.between(...), bar)
