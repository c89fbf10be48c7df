"""``clasher learn``: teach a model file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from clasher.ahead import HeldInterrupt
from clasher.app import notes
from clasher.app.figures import bytes_, counted
from clasher.app.files import check_model_file, check_outputs
from clasher.app.options import Command, model_option, output_option, quiet_option
from clasher.app.progress import Bar
from clasher.app.streams import BATCH, Stream, hashed_ahead, stream_options
from clasher.app.wanted import Wanted, settings_options
from clasher.errors import ClasherError

if TYPE_CHECKING:
    from clasher.io import Batch
    from clasher.model import Clasher

EXAMPLES = """
    clasher learn news.jsonl --model news.clasher
    clasher learn more.csv.gz --label-separator , --model news.clasher
    tail -f feed.jsonl | clasher learn - -m news.clasher --save-every 1000
    clasher learn inbox.jsonl -m inbox.clasher --pending 10000
"""


@click.command(
    "learn",
    cls=Command,
    examples=EXAMPLES,
    short_help="Teach a model file, a new one or an old one.",
)
@stream_options(labelled=True)
@model_option("The model file to begin or to go on with.")
@settings_options
@output_option(
    "--save-every",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also save after every N documents.",
)
@quiet_option
def command(
    stream: Stream, model_path: str, wanted: Wanted, save_every: int | None, quiet: bool
) -> None:
    """Learn a stream into a model file.

    A file that exists is taken up where it was left, with its own settings;
    otherwise it is begun. It is saved at the end and on Ctrl-C, whole or not
    at all. With --pending, unlabelled documents wait for their labels:
    clasher late learns them by their ids.
    """
    check_outputs({"--model": model_path}, stream.paths)
    check_model_file("--model", model_path)
    lesson = Lesson(_open(model_path, wanted), model_path, save_every)
    with stream.opened(batch_size=min(BATCH, save_every or BATCH)) as batches:
        notes.prepare(lesson.model.settings, quiet=quiet)
        with stream.bar(quiet=quiet) as bar:
            interrupted = lesson.run(batches, bar)
    notes.say(lesson.summary(bar), quiet=quiet)
    if interrupted:
        notes.leave_interrupted(bar.documents)


def _open(path: str, wanted: Wanted) -> Clasher:
    return wanted.load(path) if os.path.exists(path) else wanted.create()


@dataclass
class Lesson:
    """Learning into a model file."""

    model: Clasher
    path: str
    save_every: int | None = None
    unsaved: int = 0

    def run(self, batches: Iterator[Batch], bar: Bar) -> bool:
        """Learn, save, and tell whether Ctrl-C came in between."""
        with HeldInterrupt() as ctrl_c, closing(hashed_ahead(self.model, batches)) as source:
            try:
                for batch, hashed in ctrl_c.between(source):
                    self.model.learn_many(hashed, batch.labels, self._ids(batch))
                    self.unsaved += len(batch)
                    bar.learnt(len(batch), self.model)
                    if self.save_every is not None and self.unsaved >= self.save_every:
                        self._save()
            except ClasherError:
                if bar.documents:
                    kept = bar.documents - self.unsaved
                    notes.warn(f"{self.path} holds {counted(kept, 'document')} of this stream")
                raise
            if self.unsaved:
                self._save()
        return ctrl_c.asked

    def summary(self, bar: Bar) -> str:
        """What was learnt, and what the file holds."""
        if not bar.documents:
            return f"nothing learnt, {self.path} is as it was"
        return (
            f"learnt {counted(bar.documents, 'document')}, {bar.rate:,.0f} a second; "
            f"saved {self.path}: {counted(self.model.documents, 'document')}, "
            f"{counted(len(self.model.labels), 'label')}, {bytes_(os.path.getsize(self.path))}"
        )

    def _ids(self, batch: Batch) -> list[str] | None:
        """Under which ids unlabelled documents wait for their labels, if any are to."""
        return [str(name) for name in batch.ids] if self.model.settings.pending else None

    def _save(self) -> None:
        self.model.save(self.path)
        self.unsaved = 0
