"""Commands that ask a model file: ``predict`` and ``explain``."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

import click

from clasher.cli import terminal
from clasher.cli.options import command, model_option, output_option, quiet_option, written_option
from clasher.cli.settings import tokenizer_option
from clasher.cli.streams import Stream, stream_options
from clasher.cli.terminal import STANDARD_STREAM, protect_inputs
from clasher.errors import TextError

if TYPE_CHECKING:
    from clasher.text.analyzer import Tokenizer

BATCH = 8192  # documents at a time: enough for all cores
CELLS = 1_000_000  # probabilities at a time


@command("predict", "Label a stream, as JSON lines.")
@stream_options(labelled=False)
@model_option("The model file to predict with; it is not changed.")
@written_option
@output_option("--probabilities  Write the probability of every label too.")
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

    $ clasher predict inbox.jsonl --model news.clasher > labelled.jsonl
    $ tail -f feed.jsonl | clasher predict - --model news.clasher | jq .labels
    $ clasher predict mail.csv --text body -m news.clasher --probabilities
    """
    protect_inputs({"--output": output}, stream.paths)
    from clasher.io import PredictionWriter
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    size = max(1, min(BATCH, CELLS // max(1, len(model.labels)))) if probabilities else BATCH
    with (
        stream.hashed(
            model,
            warm_up=functools.partial(terminal.warm_up, model.settings),
            batch_size=size,
            output=output,
            quiet=quiet,
        ) as source,
        PredictionWriter(output) as writer,
    ):
        for batch, hashed in source:
            labels = model.predict_many(hashed)
            if probabilities:
                writer.write(batch.ids, labels, model.probabilities_many(hashed), model.labels)
            else:
                writer.write(batch.ids, labels)
    source.exit_if_interrupted()


@command("explain", "Show which words decide the labels of a text.")
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@model_option("The model file to ask.")
@output_option(
    "labels --label -l LABEL  A label to explain, predicted or not; repeatable (default: the "
    "predicted labels, or the best one).",
    multiple=True,
)
@output_option("most --words -n N = 10  How many words to show.", type=click.IntRange(min=0))
@tokenizer_option()
def explain_command(
    words: tuple[str, ...],
    model_path: str,
    labels: tuple[str, ...],
    most: int,
    tokenizer: Tokenizer | None,
) -> None:
    """Show which words and which region count for and against a label.

    TEXT is the document, or - to read it from standard input. With the margin
    rule and the perceptron, the evidence adds up to the log-odds of the label;
    with the paper's rules, to the cosine of the nearest region.

    $ clasher explain --model news.clasher "wheat prices rise"
    $ clasher explain -m news.clasher --label grain - < document.txt
    """
    from clasher.cli.tables import explanation_view, show
    from clasher.model import Clasher

    text = " ".join(words)
    if text == STANDARD_STREAM:
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise TextError(f"standard input is not UTF-8, at byte {error.start + 1}") from error
    model = Clasher.load(model_path, tokenizer=tokenizer)
    with terminal.compiling():
        chosen = dict.fromkeys(labels) or sorted(model.predict(text))
        found = [model.explain(text, label) for label in chosen] or [model.explain(text)]
    if not labels:
        found.sort(key=lambda found: (-found.probability, -found.evidence))
    total = "log-odds" if model.settings.rule in ("margin", "perceptron") else "cosine"
    for explanation in found:
        show(explanation_view(explanation, most, total), "")
