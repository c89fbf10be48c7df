"""Commands about model files: ``inspect``, ``labels`` and ``merge``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, decimals, setting
from clasher.cli.options import command, json_file_option, output_option, quiet_option
from clasher.cli.settings import tokenizer_option
from clasher.cli.terminal import check_model_file, check_outputs
from clasher.errors import LabelCapacityError, SettingError

if TYPE_CHECKING:
    from clasher.learning.explain import WordWeight
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer

SHOWN = 20  # labels
TOP_WORDS = 10


@command("inspect", "Show what a model file holds.")
@click.argument("model_path", metavar="MODEL")
@output_option(f"all_labels --all  Show all labels, not only the {SHOWN} most frequent.")
@json_file_option("everything")
@output_option(
    "--top-words N  Show the N strongest words of each label; needs a model created with --words."
)
@output_option(
    f"labels --label -l LABEL  Show only the words of this label, {TOP_WORDS} or --top-words of "
    "them; repeatable.",
    multiple=True,
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
    """Show the settings of a model, its size, its labels.

    Also shows the changes that its detector found, the latest last.

    $ clasher inspect news.clasher
    $ clasher inspect news.clasher --json - | jq .settings
    $ clasher inspect news.clasher --top-words 5
    $ clasher inspect news.clasher --label grain
    """
    check_outputs({"--json": json_path}, [model_path])
    from clasher.cli.tables import safe, weights_view, write_or_show
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    words = {}
    if labels or top_words is not None:
        chosen = dict.fromkeys(labels) or model.labels
        words = {label: model.top_words(label, top_words or TOP_WORDS) for label in chosen}
    if labels:
        parts = [
            part
            for label, found in words.items()
            for part in (safe(label, "bold"), weights_view(found), "")
        ]
    else:
        parts = _parts(model, model_path, None if all_labels else SHOWN, words)
    write_or_show(json_path, lambda: _as_dict(model, words), *parts)


def _as_dict(model: Clasher, words: dict[str, list[WordWeight]]) -> dict[str, Any]:
    about = {"top_words": {label: [list(w) for w in found] for label, found in words.items()}}
    figures = ("documents", "labelled", "pending", "dropped", "threshold", "nbytes", "max_nbytes")
    return {
        **{name: getattr(model, name) for name in figures},
        "settings": model.settings.to_dict(),
        "labels": model.support,
        "alarms": [alarm.to_dict() for alarm in model.alarms],
        **(about if words else {}),
    }


def _parts(
    model: Clasher, path: str, shown: int | None, words: dict[str, list[WordWeight]]
) -> list[Any]:
    from clasher.cli.tables import alarms_view, facts, labels_view

    settings = model.settings.to_dict()
    learnt = "learnt" if settings["threshold"] is None and settings["rule"] == "margin" else "fixed"
    pending = counted(model.pending, "document")
    rows = [
        ("model", path),
        ("documents", f"{model.documents:,}, {model.labelled:,} of them with labels"),
        ("labels", f"{len(model.labels):,}, at most {settings['max_labels']:,}"),
        ("pending", f"{pending}, at most {settings['pending']:,}; {model.dropped:,} were dropped"),
        ("threshold", f"{decimals(model.threshold)}, {learnt}"),
        ("memory", f"{bytes_(model.nbytes)}, at most {bytes_(model.max_nbytes)}"),
        ("file", bytes_(os.path.getsize(path))),
    ]
    return [
        facts(rows),
        "",
        facts(
            (name, f"{value:,}" if type(value) is int else setting(value))
            for name, value in settings.items()
        ),
        labels_view(model.support, shown, words),
        *([alarms_view(model.alarms)] if model.alarms else []),
    ]


@command("merge", "Merge several models into one.")
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True)
@output_option("--output -o FILE  The model file to write.", required=True)
@tokenizer_option()
@quiet_option
def merge_command(
    paths: tuple[str, ...], output: str, tokenizer: Tokenizer | None, quiet: bool
) -> None:
    """Merge models that have the same settings.

    Word statistics, prototypes and region statistics add up to those of one
    model that has seen all streams; the weights of the margin rule and the
    perceptron are averaged. At most two models are in memory at a time.

    $ clasher merge monday.clasher tuesday.clasher --output week.clasher
    $ clasher merge part-*.clasher -o whole.clasher
    """
    check_model_file("--output", output)
    from clasher.cli.tables import facts, show
    from clasher.model import Clasher

    first, *others = paths
    model = Clasher.load(first, tokenizer=tokenizer)
    rows = [(_summary(model), first)]
    with terminal.compiling(quiet=quiet):
        for path in others:
            other = Clasher.load(path, tokenizer=tokenizer)
            rows.append((_summary(other), path))
            try:
                model.merge(other)
            except (SettingError, LabelCapacityError) as error:
                raise type(error)(f"{path} does not merge with {first}: {error}") from error
    model.save(output)
    rows.append((_summary(model), output))
    if not quiet:
        show(facts(rows))
    terminal.say(f"wrote {output}, {bytes_(os.path.getsize(output))}", quiet=quiet)


def _summary(model: Clasher) -> str:
    return f"{counted(model.documents, 'document')}, {counted(len(model.labels), 'label')}"


ACTIONS = {"list": (), "rename": ("OLD", "NEW"), "merge": ("LABEL", "INTO"), "retire": ("LABEL",)}
"""The actions of ``clasher labels`` and the labels that each takes."""

METHODS = {"rename": "rename_label", "merge": "merge_labels", "retire": "retire_label"}


@command("labels", "List, rename, merge or retire the labels of a model.")
@click.argument("model_path", metavar="MODEL")
@click.argument("action", type=click.Choice(list(ACTIONS)), metavar="ACTION")
@click.argument("names", metavar="[LABEL]...", nargs=-1)
@output_option("--output -o FILE  The model file to write (default: the one read).")
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
    list               show every label and its number of documents
    rename OLD NEW     rename a label
    merge LABEL INTO   merge a label into another one
    retire LABEL       forget a label and everything learnt about it

    $ clasher labels news.clasher list
    $ clasher labels news.clasher rename grian grain
    $ clasher labels news.clasher merge corn grain
    $ clasher labels news.clasher retire obsolete
    $ clasher labels news.clasher merge corn grain --output better.clasher
    """  # noqa: D301  # click wants the character, not its name
    needed = ACTIONS[action]
    if len(names) != len(needed):
        needs = " ".join(needed) or "no label"
        raise SettingError(f"{action} needs {needs}. Got {' '.join(names) or 'none'} instead.")
    target = model_path if output is None else output
    if needed:
        check_model_file("--output" if output else "MODEL", target)
    from clasher.cli.tables import labels_view, show
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    if not needed:
        show(labels_view(model.support, None, {}))
        return
    getattr(model, METHODS[action])(*names)
    model.save(target)
    terminal.say(f"saved {target}: {len(model.labels):,} labels", quiet=quiet)
