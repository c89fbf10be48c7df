"""``clasher explain``: why a text gets its labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from clasher.app import notes
from clasher.app.analysis import tokenizer_option
from clasher.app.files import STANDARD_STREAM
from clasher.app.options import Command, model_option, option
from clasher.errors import TextError

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer

EXAMPLES = """
    clasher explain --model news.clasher "wheat prices rise"
    clasher explain -m news.clasher --label grain - < document.txt
"""


@click.command(
    "explain",
    cls=Command,
    examples=EXAMPLES,
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
def command(
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
    from clasher.app.tables import explanation_view, show
    from clasher.model import Clasher

    text = _standard_input() if words == (STANDARD_STREAM,) else " ".join(words)
    model = Clasher.load(model_path, tokenizer=tokenizer)
    with notes.compiling():
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
