"""``clasher inspect``: what is in a model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from clasher.app.analysis import tokenizer_option
from clasher.app.figures import bytes_, counted, decimals, setting
from clasher.app.files import STANDARD_STREAM, check_outputs, write_json
from clasher.app.options import Command, output_option

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer
    from clasher.explain import WordWeight
    from clasher.model import Clasher

SHOWN = 20
TOP_WORDS = 10

EXAMPLES = """
    clasher inspect news.clasher
    clasher inspect news.clasher --json - | jq .settings
    clasher inspect news.clasher --top-words 5
    clasher inspect news.clasher --label grain
"""


@click.command(
    "inspect", cls=Command, examples=EXAMPLES, short_help="Show what a model file holds."
)
@click.argument("model_path", metavar="MODEL")
@output_option(
    "--all",
    "all_labels",
    is_flag=True,
    help=f"Show all labels, not only the {SHOWN} most frequent.",
)
@output_option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write it all as JSON; - writes it to standard output in place of the tables.",
)
@output_option(
    "--top-words",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the N words that speak most for each label; needs a model that was taught with "
    "--words.",
)
@output_option(
    "--label",
    "-l",
    "labels",
    multiple=True,
    metavar="LABEL",
    help=f"Show only what this label is about, in {TOP_WORDS} words or as many as --top-words "
    "says; may be given several times.",
)
@tokenizer_option()
def command(
    model_path: str,
    all_labels: bool,
    json_path: str | None,
    top_words: int | None,
    labels: tuple[str, ...],
    tokenizer: Tokenizer | None,
) -> None:
    """Show the settings of a model, what it has learnt, its size and labels.

    Changes that its detector found are shown too, the latest last.
    """
    check_outputs({"--json": json_path}, [model_path])
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    words = _words(model, labels, top_words)
    if json_path is not None:
        write_json(json_path, _as_dict(model, words))
    if json_path == STANDARD_STREAM:
        return
    if labels:
        _show_words(words)
    else:
        _show(model, model_path, None if all_labels else SHOWN, words)


def _words(model: Clasher, labels: tuple[str, ...], most: int | None) -> dict[str, list[WordWeight]]:
    """The words of the labels that are asked for; of all of them when none is named."""
    if most is None and not labels:
        return {}
    chosen = dict.fromkeys(labels) or model.labels
    return {label: model.top_words(label, most or TOP_WORDS) for label in chosen}


def _as_dict(model: Clasher, words: dict[str, list[WordWeight]]) -> dict[str, Any]:
    about = {"top_words": {label: [list(w) for w in found] for label, found in words.items()}}
    return {
        "documents": model.documents,
        "labelled": model.labelled,
        "pending": model.pending,
        "dropped": model.dropped,
        "threshold": model.threshold,
        "nbytes": model.nbytes,
        "max_nbytes": model.max_nbytes,
        "settings": model.settings.to_dict(),
        "labels": model.support,
        "alarms": [alarm.to_dict() for alarm in model.alarms],
        **(about if words else {}),
    }


def _show_words(words: dict[str, list[WordWeight]]) -> None:
    from clasher.app.tables import show, words_view

    for label, found in words.items():
        show(words_view(label, found), "")


def _show(model: Clasher, path: str, shown: int | None, words: dict[str, list[WordWeight]]) -> None:
    from clasher.app.tables import alarms_view, facts, labels_view, show

    settings = model.settings.to_dict()
    learnt = "learnt" if settings["threshold"] is None and settings["rule"] == "margin" else "fixed"
    show(
        facts(
            [
                ("model", path),
                ("documents", f"{model.documents:,}, {model.labelled:,} of them with labels"),
                ("labels", f"{len(model.labels):,}, at most {settings['max_labels']:,}"),
                (
                    "waiting",
                    f"{counted(model.pending, 'document')} for labels, at most "
                    f"{settings['pending']:,}; {model.dropped:,} were dropped",
                ),
                ("threshold", f"{decimals(model.threshold)}, {learnt}"),
                ("memory", f"{bytes_(model.nbytes)}, at most {bytes_(model.max_nbytes)}"),
                ("file", bytes_(os.path.getsize(path))),
            ]
        ),
        "",
        facts(
            (name, f"{value:,}" if type(value) is int else setting(value))
            for name, value in settings.items()
        ),
        labels_view(list(model.support.items()), shown, words),
        *([alarms_view(model.alarms)] if model.alarms else []),
    )
