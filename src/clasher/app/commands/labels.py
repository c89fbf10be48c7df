"""``clasher labels``: the labels of a model file, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clasher.app import notes
from clasher.app.analysis import tokenizer_option
from clasher.app.files import check_model_file
from clasher.app.options import Command, output_option, quiet_option
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer

ACTIONS = {"list": (), "rename": ("OLD", "NEW"), "merge": ("LABEL", "INTO"), "retire": ("LABEL",)}
"""What can be done, and the labels that it needs."""

METHODS = {"rename": "rename_label", "merge": "merge_labels", "retire": "retire_label"}

EXAMPLES = """
    clasher labels news.clasher list
    clasher labels news.clasher rename grian grain
    clasher labels news.clasher merge corn grain
    clasher labels news.clasher retire obsolete
    clasher labels news.clasher merge corn grain --output better.clasher
"""


@click.command(
    "labels",
    cls=Command,
    examples=EXAMPLES,
    short_help="List, rename, merge or retire the labels of a model.",
)
@click.argument("model_path", metavar="MODEL")
@click.argument("action", type=click.Choice(list(ACTIONS)), metavar="ACTION")
@click.argument("names", metavar="[LABEL]...", nargs=-1)
@output_option(
    "--output", "-o", metavar="FILE", help="Write the model there (default: to where it was)."
)
@tokenizer_option()
@quiet_option
def command(
    model_path: str,
    action: str,
    names: tuple[str, ...],
    output: str | None,
    tokenizer: Tokenizer | None,
    quiet: bool,
) -> None:
    """List the labels of a model, or change them.

    \b
    list               every label and how many documents taught it
    rename OLD NEW     call a label by another name
    merge LABEL INTO   make one label of two, under the second name
    retire LABEL       forget a label and all that was learnt of it
    """  # noqa: D301  # click wants the character, not its name
    wanted = ACTIONS[action]
    if len(names) != len(wanted):
        needs = " ".join(wanted) or "no label"
        raise SettingError(f"{action} needs {needs}. Got {' '.join(names) or 'none'} instead.")
    target = model_path if output is None else output
    if wanted:
        check_model_file("--output" if output else "MODEL", target)
    from clasher.app.tables import labels_view, show
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    if not wanted:
        show(labels_view(list(model.support.items()), None, {}))
        return
    getattr(model, METHODS[action])(*names)
    model.save(target)
    notes.say(f"saved {target}: {len(model.labels):,} labels", quiet=quiet)
