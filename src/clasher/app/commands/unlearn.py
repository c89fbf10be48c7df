"""``clasher unlearn``: take documents back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clasher.app import notes
from clasher.app.analysis import tokenizer_option
from clasher.app.figures import counted
from clasher.app.files import check_model_file, check_outputs
from clasher.app.options import Command, model_option, quiet_option
from clasher.app.streams import Stream, stream_options
from clasher.errors import LabelError, NotLearntError

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer
    from clasher.io import Batch
    from clasher.model import Clasher

EXAMPLES = """
    clasher unlearn wrong.jsonl --model news.clasher
    clasher learn corrected.jsonl --model news.clasher
"""


@click.command(
    "unlearn",
    cls=Command,
    examples=EXAMPLES,
    short_help="Take back documents with the labels they had.",
)
@stream_options(labelled=True)
@model_option("The model file to go on with.")
@tokenizer_option()
@quiet_option
def command(stream: Stream, model_path: str, tokenizer: Tokenizer | None, quiet: bool) -> None:
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
    with stream.opened() as batches, notes.compiling(quiet=quiet):
        for batch in batches:
            _unlearn(model, batch)
            documents += len(batch)
    model.save(model_path)
    notes.say(
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
