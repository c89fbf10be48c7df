"""``clasher labels``: the labels of a model file, and what they are called.

``clasher inspect``: what is in a model file.

``clasher merge``: models of parts of a stream become one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, decimals, setting
from clasher.cli.options import Command, output_option, quiet_option
from clasher.cli.settings import tokenizer_option
from clasher.cli.terminal import STANDARD_STREAM, check_model_file, check_outputs, write_json
from clasher.errors import LabelCapacityError, SettingError

if TYPE_CHECKING:
    from clasher.learning.explain import WordWeight
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer


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
def inspect_command(
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


def _words(
    model: Clasher, labels: tuple[str, ...], most: int | None
) -> dict[str, list[WordWeight]]:
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
    from clasher.cli.format import show, words_view

    for label, found in words.items():
        show(words_view(label, found), "")


def _show(model: Clasher, path: str, shown: int | None, words: dict[str, list[WordWeight]]) -> None:
    from clasher.cli.format import alarms_view, facts, labels_view, show

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


MERGE_EXAMPLES = """
    clasher merge monday.clasher tuesday.clasher --output week.clasher
    clasher merge part-*.clasher -o whole.clasher
"""


@click.command(
    "merge", cls=Command, examples=MERGE_EXAMPLES, short_help="Make one model of several."
)
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True)
@output_option("--output", "-o", metavar="FILE", required=True, help="Where to write the model.")
@tokenizer_option()
@quiet_option
def merge_command(
    paths: tuple[str, ...], output: str, tokenizer: Tokenizer | None, quiet: bool
) -> None:
    """Merge models that were taught with the same settings.

    Word statistics, prototypes and region statistics add up, and are those of
    one model that has seen all streams; the weights of the margin rule and
    the perceptron become means. At most two models are in memory at a time.
    """
    check_model_file("--output", output)
    from clasher.cli.format import facts, show
    from clasher.model import Clasher

    first, *others = paths
    model = Clasher.load(first, tokenizer=tokenizer)
    rows = [(_told(model), first)]
    with terminal.compiling(quiet=quiet):
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
    terminal.say(f"wrote {output}, {bytes_(os.path.getsize(output))}", quiet=quiet)


def _told(model: Clasher) -> str:
    return f"{counted(model.documents, 'document')}, {counted(len(model.labels), 'label')}"


ACTIONS = {"list": (), "rename": ("OLD", "NEW"), "merge": ("LABEL", "INTO"), "retire": ("LABEL",)}
"""What can be done, and the labels that it needs."""

METHODS = {"rename": "rename_label", "merge": "merge_labels", "retire": "retire_label"}

LABELS_EXAMPLES = """
    clasher labels news.clasher list
    clasher labels news.clasher rename grian grain
    clasher labels news.clasher merge corn grain
    clasher labels news.clasher retire obsolete
    clasher labels news.clasher merge corn grain --output better.clasher
"""


@click.command(
    "labels",
    cls=Command,
    examples=LABELS_EXAMPLES,
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
def labels_command(
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
    from clasher.cli.format import labels_view, show
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    if not wanted:
        show(labels_view(list(model.support.items()), None, {}))
        return
    getattr(model, METHODS[action])(*names)
    model.save(target)
    terminal.say(f"saved {target}: {len(model.labels):,} labels", quiet=quiet)
