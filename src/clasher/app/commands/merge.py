"""``clasher merge``: models of parts of a stream become one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from clasher.app import notes
from clasher.app.analysis import tokenizer_option
from clasher.app.figures import bytes_, counted
from clasher.app.files import check_model_file
from clasher.app.options import Command, output_option, quiet_option
from clasher.errors import LabelCapacityError, SettingError

if TYPE_CHECKING:
    from clasher.analyzer import Tokenizer
    from clasher.model import Clasher

EXAMPLES = """
    clasher merge monday.clasher tuesday.clasher --output week.clasher
    clasher merge part-*.clasher -o whole.clasher
"""


@click.command("merge", cls=Command, examples=EXAMPLES, short_help="Make one model of several.")
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True)
@output_option("--output", "-o", metavar="FILE", required=True, help="Where to write the model.")
@tokenizer_option()
@quiet_option
def command(paths: tuple[str, ...], output: str, tokenizer: Tokenizer | None, quiet: bool) -> None:
    """Merge models that were taught with the same settings.

    Word statistics, prototypes and region statistics add up, and are those of
    one model that has seen all streams; the weights of the margin rule and
    the perceptron become means. At most two models are in memory at a time.
    """
    check_model_file("--output", output)
    from clasher.app.tables import facts, show
    from clasher.model import Clasher

    first, *others = paths
    model = Clasher.load(first, tokenizer=tokenizer)
    rows = [(_told(model), first)]
    with notes.compiling(quiet=quiet):
        for path in others:
            other = Clasher.load(path, tokenizer=tokenizer)
            rows.append((_told(other), path))
            try:
                model.merge(other)
            except (SettingError, LabelCapacityError) as error:
                raise type(error)(f"{path} does not merge with {first}: {error}") from error
    model.save(output)
    rows.append((_told(model), output))
    if not quiet:
        show(facts(rows))
    notes.say(f"wrote {output}, {bytes_(os.path.getsize(output))}", quiet=quiet)


def _told(model: Clasher) -> str:
    return f"{counted(model.documents, 'document')}, {counted(len(model.labels), 'label')}"
