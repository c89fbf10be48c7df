"""``clasher unlearn``: take documents back.

``clasher learn``: teach a model file.

``clasher late``: labels for documents that were learnt without them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted
from clasher.cli.options import Command, model_option, output_option, quiet_option
from clasher.cli.settings import Wanted, settings_options, tokenizer_option
from clasher.cli.streams import BATCH, Stream, hashed_ahead, stream_options
from clasher.cli.terminal import Bar, check_model_file, check_outputs
from clasher.errors import ClasherError, LabelError, NotLearntError
from clasher.io.read_ahead import HeldInterrupt

if TYPE_CHECKING:
    from clasher.io import Batch
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer


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
def learn_command(
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
        terminal.prepare(lesson.model.settings, quiet=quiet)
        with stream.bar(quiet=quiet) as bar:
            interrupted = lesson.run(batches, bar)
    terminal.say(lesson.summary(bar), quiet=quiet)
    if interrupted:
        terminal.leave_interrupted(bar.documents)


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
                    terminal.warn(f"{self.path} holds {counted(kept, 'document')} of this stream")
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


LATE_EXAMPLES = """
    clasher learn inbox.jsonl --model inbox.clasher --pending 10000
    clasher late decisions.jsonl --model inbox.clasher
"""


@click.command(
    "late",
    cls=Command,
    examples=LATE_EXAMPLES,
    short_help="Teach labels that came after their documents.",
)
@stream_options(labelled=True, texts=False)
@model_option("The model file to go on with; it was begun with --pending.")
@tokenizer_option()
@quiet_option
def late_command(stream: Stream, model_path: str, tokenizer: Tokenizer | None, quiet: bool) -> None:
    """Learn labels of documents that a model has met without them.

    Records need an id and labels, no text. Unlabelled documents wait under
    their ids in a model begun with --pending N, the last N of them. Labels of
    a document that does not wait are passed over, and counted.
    """
    check_outputs({"--model": model_path}, stream.paths)
    check_model_file("--model", model_path)
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    late = Late(model)
    with stream.opened() as batches, terminal.compiling(quiet=quiet), HeldInterrupt() as ctrl_c:
        for batch in ctrl_c.between(batches):
            late.learn(batch)
        if late.learnt:
            model.save(model_path)
    if late.missing:
        terminal.warn(f"passed over {counted(late.missing, 'record')}; the first: {late.first}")
    terminal.say(
        f"learnt the labels of {counted(late.learnt, 'document')}; "
        f"{counted(model.pending, 'document')} in {model_path} wait for theirs",
        quiet=quiet,
    )
    if ctrl_c.asked:
        terminal.leave_interrupted(late.learnt)


class Late:
    """Learning late labels, and what became of them."""

    def __init__(self, model: Clasher) -> None:
        self.model = model
        self.learnt = 0
        self.missing = 0
        self.first: NotLearntError | None = None

    def learn(self, batch: Batch) -> None:
        """Learn the labels of a batch; records without labels say nothing."""
        for number, name in enumerate(batch.ids):
            labels = batch.labels.as_given(number)
            if labels is None:
                continue
            try:
                self.model.learn_later(str(name), labels)
                self.learnt += 1
            except NotLearntError as error:
                self.missing += 1
                self.first = self.first or error


UNLEARN_EXAMPLES = """
    clasher unlearn wrong.jsonl --model news.clasher
    clasher learn corrected.jsonl --model news.clasher
"""


@click.command(
    "unlearn",
    cls=Command,
    examples=UNLEARN_EXAMPLES,
    short_help="Take back documents with the labels they had.",
)
@stream_options(labelled=True)
@model_option("The model file to go on with.")
@tokenizer_option()
@quiet_option
def unlearn_command(
    stream: Stream, model_path: str, tokenizer: Tokenizer | None, quiet: bool
) -> None:
    """Unlearn documents, given with the labels they were learnt with.

    Exact for the word statistics; for prototypes and region statistics with
    --weighting tf, and nearly so with others, which weigh words as of today.
    Weights of the margin rule and the perceptron stay until new documents
    move them. All documents are taken back, or none.
    """
    check_outputs({"--model": model_path}, stream.paths)
    check_model_file("--model", model_path)
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    documents = 0
    with stream.opened() as batches, terminal.compiling(quiet=quiet):
        for batch in batches:
            _unlearn(model, batch)
            documents += len(batch)
    model.save(model_path)
    terminal.say(
        f"unlearnt {counted(documents, 'document')}; saved {model_path}: "
        f"{counted(model.documents, 'document')}",
        quiet=quiet,
    )


def _unlearn(model: Clasher, batch: Batch) -> None:
    for number, name in enumerate(batch.ids):
        try:
            model.unlearn(batch.texts[number].as_py(), batch.labels.as_given(number))
        except (LabelError, NotLearntError) as error:
            raise type(error)(f"document {name!r}: {error}; nothing was unlearnt") from error
