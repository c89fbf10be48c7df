"""``clasher predict``: label a stream with a model file."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from clasher.ahead import HeldInterrupt
from clasher.app import notes
from clasher.app.analysis import tokenizer_option
from clasher.app.files import STANDARD_STREAM, keep_inputs
from clasher.app.options import Command, model_option, output_option, quiet_option, written_option
from clasher.app.streams import Stream, hashed_ahead, stream_options

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer
    from clasher.hashing import Hashed
    from clasher.io import Batch, PredictionWriter
    from clasher.model import Clasher

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
def command(
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
        notes.prepare(model.settings, quiet=quiet)
        aside = output != STANDARD_STREAM or not notes.on_terminal()
        with (
            stream.bar(quiet=quiet or not aside) as bar,
            HeldInterrupt() as ctrl_c,
            closing(hashed_ahead(model, batches)) as source,
        ):
            for batch, hashed in ctrl_c.between(source):
                _predict(model, batch, hashed, writer, probabilities=probabilities)
                bar.predicted(len(batch))
    if ctrl_c.asked:
        notes.leave_interrupted(bar.documents)


def _predict(
    model: Clasher, batch: Batch, hashed: Hashed, writer: PredictionWriter, *, probabilities: bool
) -> None:
    labels = model.predict_many(hashed)
    if probabilities:
        writer.write(batch.ids, labels, model.probabilities_many(hashed), model.labels)
    else:
        writer.write(batch.ids, labels)
