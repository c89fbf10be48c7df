"""``clasher inspect``: what is in a model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from clasher.app.figures import bytes_, counted, decimals
from clasher.app.files import STANDARD_STREAM, check_outputs, write_json
from clasher.app.options import Command, output_option

if TYPE_CHECKING:
    from clasher.model import Clasher

SHOWN = 20

EXAMPLES = """
    clasher inspect news.clasher
    clasher inspect news.clasher --json - | jq .settings
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
def command(model_path: str, all_labels: bool, json_path: str | None) -> None:
    """Show the settings of a model, what it has learnt, its size and labels."""
    check_outputs({"--json": json_path}, [model_path])
    from clasher.model import Clasher

    model = Clasher.load(model_path)
    if json_path is not None:
        write_json(json_path, _as_dict(model))
    if json_path != STANDARD_STREAM:
        _show(model, model_path, None if all_labels else SHOWN)


def _as_dict(model: Clasher) -> dict[str, Any]:
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
    }


def _show(model: Clasher, path: str, shown: int | None) -> None:
    from clasher.app.tables import facts, labels_view, show

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
        facts((name, _plain(value)) for name, value in settings.items()),
        labels_view(list(model.support.items()), shown),
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    return f"{value:,}" if type(value) is int else str(value)
