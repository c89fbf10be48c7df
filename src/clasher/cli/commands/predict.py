"""``clasher explain``: why a text gets its labels.

``clasher predict``: label a stream with a model file.
"""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from clasher.cli import terminal
from clasher.cli.options import (
    Command,
    model_option,
    option,
    output_option,
    quiet_option,
    written_option,
)
from clasher.cli.settings import tokenizer_option
from clasher.cli.streams import Stream, hashed_ahead, stream_options
from clasher.cli.terminal import STANDARD_STREAM, keep_inputs
from clasher.errors import TextError
from clasher.io.read_ahead import HeldInterrupt

if TYPE_CHECKING:
    from clasher.io import Batch, PredictionWriter
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer
    from clasher.text.hashing import Hashed


BATCH = 8192  # documents at a time: enough for all cores
CELLS = 1_000_000  # probabilities at a time

EXAMPLES = """
    clasher predict inbox.jsonl --model news.clasher > labelled.jsonl
    tail -f feed.jsonl | clasher predict - --model news.clasher | jq .labels
    clasher predict mail.csv --text body -m news.clasher --probabilities
"""


@click.command(
    "predict", cls=Command, examples=EXAMPLES, short_help="Label a stream, as JSON lines."
)
@stream_options(labelled=False)
@model_option("The model file to predict with; it is not changed.")
@written_option
@output_option("--probabilities", is_flag=True, help="Write the probability of every label too.")
@tokenizer_option()
@quiet_option
def predict_command(
    stream: Stream,
    model_path: str,
    output: str,
    probabilities: bool,
    tokenizer: Tokenizer | None,
    quiet: bool,
) -> None:
    """Predict the labels of a stream; the model does not change.

    Writes a JSON line for each document, in the order of the stream: its id,
    its labels and, with --probabilities, the probability of each label.
    """
    keep_inputs({"--output": output}, stream.paths)
    from clasher.io import PredictionWriter
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    size = max(1, min(BATCH, CELLS // max(1, len(model.labels)))) if probabilities else BATCH
    with (
        stream.opened(labelled=False, batch_size=size) as batches,
        PredictionWriter(output) as writer,
    ):
        terminal.prepare(model.settings, quiet=quiet)
        aside = output != STANDARD_STREAM or not terminal.on_terminal()
        with (
            stream.bar(quiet=quiet or not aside) as bar,
            HeldInterrupt() as ctrl_c,
            closing(hashed_ahead(model, batches)) as source,
        ):
            for batch, hashed in ctrl_c.between(source):
                _predict(model, batch, hashed, writer, probabilities=probabilities)
                bar.predicted(len(batch))
    if ctrl_c.asked:
        terminal.leave_interrupted(bar.documents)


def _predict(
    model: Clasher, batch: Batch, hashed: Hashed, writer: PredictionWriter, *, probabilities: bool
) -> None:
    labels = model.predict_many(hashed)
    if probabilities:
        writer.write(batch.ids, labels, model.probabilities_many(hashed), model.labels)
    else:
        writer.write(batch.ids, labels)


EXPLAIN_EXAMPLES = """
    clasher explain --model news.clasher "wheat prices rise"
    clasher explain -m news.clasher --label grain - < document.txt
"""


@click.command(
    "explain",
    cls=Command,
    examples=EXPLAIN_EXAMPLES,
    short_help="Show which words decide the labels of a text.",
)
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@model_option("The model file to ask.")
@option(
    "--label",
    "-l",
    "labels",
    multiple=True,
    metavar="LABEL",
    section="Output",
    help="The label to explain, also one that is not predicted; may be given several times "
    "(default: those predicted, or else the best).",
)
@option(
    "--words",
    "-n",
    "most",
    type=click.IntRange(min=0),
    default=10,
    metavar="N",
    section="Output",
    help="How many words to show (default: 10).",
)
@tokenizer_option()
def explain_command(
    words: tuple[str, ...],
    model_path: str,
    labels: tuple[str, ...],
    most: int,
    tokenizer: Tokenizer | None,
) -> None:
    """Show which words and which region spoke for and against a label.

    TEXT is the document, or - to read it from standard input. With the margin
    rule and the perceptron, the evidence shown adds up to the log-odds of the
    label; with the paper's rules, to the cosine of the region it fell into.
    """
    from clasher.cli.format import explanation_view, show
    from clasher.model import Clasher

    text = _standard_input() if words == (STANDARD_STREAM,) else " ".join(words)
    model = Clasher.load(model_path, tokenizer=tokenizer)
    with terminal.compiling():
        chosen = dict.fromkeys(labels) or sorted(model.predict(text))
        found = [model.explain(text, label) for label in chosen] or [model.explain(text)]
    if not labels:
        found.sort(key=lambda found: (-found.probability, -found.evidence))
    total = "log-odds" if model.settings.rule in ("margin", "perceptron") else "cosine"
    for explanation in found:
        show(explanation_view(explanation, most, total), "")


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise TextError(f"standard input is no UTF-8 text, at byte {error.start + 1}") from error
