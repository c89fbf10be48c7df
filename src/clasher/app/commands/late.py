"""``clasher late``: labels for documents that were learnt without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clasher.ahead import HeldInterrupt
from clasher.app import notes
from clasher.app.analysis import tokenizer_option
from clasher.app.figures import counted
from clasher.app.files import check_model_file, check_outputs
from clasher.app.options import Command, model_option, quiet_option
from clasher.app.streams import Stream, stream_options
from clasher.errors import NotLearntError

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer
    from clasher.io import Batch
    from clasher.model import Clasher

EXAMPLES = """
    clasher learn inbox.jsonl --model inbox.clasher --pending 10000
    clasher late decisions.jsonl --model inbox.clasher
"""


@click.command(
    "late",
    cls=Command,
    examples=EXAMPLES,
    short_help="Teach labels that came after their documents.",
)
@stream_options(labelled=True, texts=False)
@model_option("The model file to go on with; it was begun with --pending.")
@tokenizer_option()
@quiet_option
def command(stream: Stream, model_path: str, tokenizer: Tokenizer | None, quiet: bool) -> None:
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
    with stream.opened() as batches, notes.compiling(quiet=quiet), HeldInterrupt() as ctrl_c:
        for batch in ctrl_c.between(batches):
            late.learn(batch)
        if late.learnt:
            model.save(model_path)
    if late.missing:
        notes.warn(f"passed over {counted(late.missing, 'record')}; the first: {late.first}")
    notes.say(
        f"learnt the labels of {counted(late.learnt, 'document')}; "
        f"{counted(model.pending, 'document')} in {model_path} wait for theirs",
        quiet=quiet,
    )
    if ctrl_c.asked:
        notes.leave_interrupted(late.learnt)


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
