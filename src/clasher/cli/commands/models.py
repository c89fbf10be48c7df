"""Commands about model files: teach them, ask them, show them, merge them, change their labels."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import streams, terminal
from clasher.cli.format import bytes_, counted, decimals, setting, summary
from clasher.cli.options import command, json_option, model_option, output_option, written_option
from clasher.cli.settings import Loader, ModelOptions, load_option, settings_options
from clasher.cli.streams import Stream, stream_options
from clasher.errors import ClasherError, LabelError, NotLearntError, SettingError, TextError

if TYPE_CHECKING:
    from clasher import Clasher
    from clasher.learning.explain import WordWeight

BATCH = 8192  # documents at a time: enough for all cores
CELLS = 1_000_000  # probabilities at a time
SHOWN = 20  # labels
TOP_WORDS = 10


@command("learn", "Create or continue a model file.")
@stream_options(labelled=True)
@model_option("The model file to create or to continue.")
@settings_options
@output_option("--save-every N  Save after every N documents too.")
def learn_command(
    stream: Stream, model_path: str, options: ModelOptions, save_every: int | None
) -> None:
    """Learn a stream into a model file.

    An existing file is continued, with its own settings. The file is saved at
    the end and on Ctrl-C, atomically. With --pending, unlabelled documents wait
    for their labels: clasher late-labels learns them by their ids.

    $ clasher learn news.jsonl --model news.clasher
    $ clasher learn more.csv.gz --label-separator , --model news.clasher
    $ tail -f feed.jsonl | clasher learn - -m news.clasher --save-every 1000
    $ clasher learn inbox.jsonl -m inbox.clasher --pending 10000
    """
    terminal.check_model_file("--model", model_path, stream.paths)
    model = options.load(model_path) if os.path.exists(model_path) else options.create()
    learnt = saved = 0
    with stream.hashed(
        model,
        warm_up=lambda: terminal.warm_up(model.settings, "learn"),
        labelled=True,
        batch_size=min(streams.BATCH, save_every or streams.BATCH),
        facts=lambda: [counted(len(model.labels), "label")],
    ) as source:
        try:
            for batch, hashed in source:
                ids = [str(name) for name in batch.ids] if model.settings.pending else None
                model.learn_many(hashed, batch.labels, ids)
                learnt += len(batch)
                if save_every is not None and learnt - saved >= save_every:
                    model.save(model_path)
                    saved = learnt
        except ClasherError:
            if learnt:
                terminal.warn(f"{model_path} holds {counted(saved, 'document')} of this stream")
            raise
        if learnt > saved:
            model.save(model_path)
    if learnt:
        terminal.say(
            f"learnt {counted(learnt, 'document')}, {source.bar.rate:,.0f} per second; saved "
            f"{model_path}: {summary(model)}, {bytes_(os.path.getsize(model_path))}"
        )
    else:
        terminal.say(f"nothing learnt, {model_path} is unchanged")
    source.exit_if_interrupted()


@command("late-labels", "Learn labels that arrive after their documents.")
@stream_options(labelled=True, texts=False)
@model_option("The model file to continue; it was created with --pending.")
@load_option
def late_labels_command(stream: Stream, model_path: str, load: Loader) -> None:
    """Learn the labels of documents that a model has seen without them.

    Records need an id and labels, no text. A model created with --pending N
    keeps its last N unlabelled documents under their ids. Labels of other
    documents are skipped and counted.

    $ clasher learn inbox.jsonl --model inbox.clasher --pending 10000
    $ clasher late-labels decisions.jsonl --model inbox.clasher
    """
    terminal.check_model_file("--model", model_path, stream.paths)
    from clasher.io.read_ahead import HeldInterrupt

    model = load(model_path)
    learnt = missing = 0
    first: NotLearntError | None = None
    with stream.opened() as batches, terminal.compiling(), HeldInterrupt() as ctrl_c:
        for batch in ctrl_c.between(batches):
            for number, name in enumerate(batch.ids):
                labels = batch.labels.as_given(number)
                if labels is None:
                    continue
                try:
                    model.learn_later(str(name), labels)
                    learnt += 1
                except NotLearntError as error:
                    missing += 1
                    first = first or error
        if learnt:
            model.save(model_path)
    if missing:
        why = str(first).replace("pending=N", "--pending N")
        terminal.warn(f"skipped {counted(missing, 'record')}; the first: {why}")
    terminal.say(
        f"learnt the labels of {counted(learnt, 'document')}; "
        f"{counted(model.pending, 'document')} in {model_path} without labels yet"
    )
    if ctrl_c.asked:
        terminal.leave_interrupted(learnt)


@command("unlearn", "Remove documents with the labels they had.")
@stream_options(labelled=True)
@model_option("The model file to change.")
@load_option
def unlearn_command(stream: Stream, model_path: str, load: Loader) -> None:
    """Unlearn documents, given with the labels they were learnt with.

    Exact for word statistics, and with --weighting tf for prototypes and
    region statistics too; other weightings use today's weights of words and
    are nearly exact. Weights of the margin rule and the perceptron stay until
    new documents move them. Either all documents are unlearnt, or none.

    $ clasher unlearn wrong.jsonl --model news.clasher
    $ clasher learn corrected.jsonl --model news.clasher
    """
    terminal.check_model_file("--model", model_path, stream.paths)

    model = load(model_path)
    documents = 0
    with stream.opened() as batches, terminal.compiling():
        for batch in batches:
            for number, name in enumerate(batch.ids):
                try:
                    model.unlearn(batch.texts[number].as_py(), batch.labels.as_given(number))
                except (LabelError, NotLearntError) as error:
                    raise type(error)(
                        f"document {name!r}: {error}; nothing was unlearnt"
                    ) from error
            documents += len(batch)
    model.save(model_path)
    terminal.say(
        f"unlearnt {counted(documents, 'document')}; saved {model_path}: "
        f"{counted(model.documents, 'document')}"
    )


@command("predict", "Label a stream, as JSON lines.")
@stream_options(labelled=False)
@model_option("The model file to predict with; it is not changed.")
@written_option
@output_option("--probabilities  Write the probability of every label too.")
@load_option
def predict_command(
    stream: Stream, model_path: str, output: str, probabilities: bool, load: Loader
) -> None:
    """Predict the labels of a stream; the model does not change.

    Writes a JSON line for each document, in the order of the stream: its id,
    its labels and, with --probabilities, the probability of each label.

    $ clasher predict inbox.jsonl --model news.clasher > labelled.jsonl
    $ tail -f feed.jsonl | clasher predict - --model news.clasher | jq .labels
    $ clasher predict mail.csv --text body -m news.clasher --probabilities
    """
    terminal.protect_inputs({"--output": output}, stream.paths)
    from clasher.io import PredictionWriter

    model = load(model_path)
    size = max(1, min(BATCH, CELLS // max(1, len(model.labels)))) if probabilities else BATCH
    with (
        stream.hashed(
            model,
            warm_up=lambda: terminal.warm_up(model.settings, "predict"),
            batch_size=size,
            output=output,
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


@command("explain", "Show which words decide the labels of a text.", quiet=False)
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@model_option("The model file to ask.")
@output_option(
    "labels --label -l LABEL  A label to explain, predicted or not; repeatable (default: the "
    "predicted labels, or the best one).",
    multiple=True,
)
@output_option("most --words -n N = 10  How many words to show.", type=click.IntRange(min=0))
@load_option
def explain_command(
    words: tuple[str, ...], model_path: str, labels: tuple[str, ...], most: int, load: Loader
) -> None:
    """Show which words and which region count for and against a label.

    TEXT is the document, or - to read it from standard input. With the margin
    rule and the perceptron, the evidence adds up to the log-odds of the label;
    with the paper's rules, to the cosine of the nearest region.

    $ clasher explain --model news.clasher "wheat prices rise"
    $ clasher explain -m news.clasher --label grain - < document.txt
    """
    from clasher.cli.tables import explanation_view, show

    text = " ".join(words)
    if text == terminal.STANDARD_STREAM:
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise TextError(f"standard input is not UTF-8, at byte {error.start + 1}") from error
    model = load(model_path)
    with terminal.compiling():
        chosen = dict.fromkeys(labels) or sorted(model.predict(text))
        found = [model.explain(text, label) for label in chosen] or [model.explain(text)]
    if not labels:
        found.sort(key=lambda found: (-found.probability, -found.evidence))
    total = "log-odds" if model.settings.rule in ("margin", "perceptron") else "cosine"
    for explanation in found:
        show(explanation_view(explanation, most, total), "")


@command("inspect", "Show what a model file holds.", quiet=False)
@click.argument("model_path", metavar="MODEL")
@output_option(f"all_labels --all  Show all labels, not only the {SHOWN} most frequent.")
@json_option("everything")
@output_option(
    "--top-words N  Show the N strongest words of each label; needs a model created with --words."
)
@output_option(
    f"labels --label -l LABEL  Show only the words of this label, {TOP_WORDS} or --top-words of "
    "them; repeatable.",
    multiple=True,
)
@load_option
def inspect_command(
    model_path: str,
    all_labels: bool,
    json_path: str | None,
    top_words: int | None,
    labels: tuple[str, ...],
    load: Loader,
) -> None:
    """Show the settings of a model, its size, its labels.

    Also shows the changes that its detector found, the latest last.

    $ clasher inspect news.clasher
    $ clasher inspect news.clasher --json - | jq .settings
    $ clasher inspect news.clasher --top-words 5
    $ clasher inspect news.clasher --label grain
    """
    terminal.check_outputs({"--json": json_path}, [model_path])
    from clasher.cli.tables import alarms_view, labels_view, safe, weights_view, write_or_show

    model = load(model_path)
    words: dict[str, list[WordWeight]] = {}
    if labels or top_words is not None:
        chosen = dict.fromkeys(labels) or model.labels
        words = {label: model.top_words(label, top_words or TOP_WORDS) for label in chosen}
    parts: list[Any] = []
    for label in labels and words:
        parts += [safe(label, "bold"), weights_view(words[label]), ""]
    if not labels:
        parts = [
            *_facts(model, model_path),
            labels_view(model.support, None if all_labels else SHOWN, words),
            *([alarms_view(model.alarms)] if model.alarms else []),
        ]
    pairs = {label: [list(pair) for pair in found] for label, found in words.items()}
    figures = (
        "documents", "labelled", "pending", "dropped", "threshold", "nbytes", "max_nbytes",
        "dropped_values",
    )  # fmt: skip
    write_or_show(
        json_path,
        lambda: {
            **{name: getattr(model, name) for name in figures},
            "settings": model.settings.to_dict(),
            "labels": model.support,
            "alarms": [alarm.to_dict() for alarm in model.alarms],
            **({"top_words": pairs} if words else {}),
        },
        *parts,
    )


def _facts(model: Clasher, path: str) -> list[Any]:
    """Show the size and the settings of a model."""
    from clasher.cli.tables import facts

    settings = model.settings.to_dict()
    learnt = "learnt" if settings["threshold"] is None and settings["rule"] == "margin" else "fixed"
    room, dropped = settings["pending"], model.dropped
    waiting = f"{counted(model.pending, 'document')}, at most {room:,}; {dropped:,} were dropped"
    lost = f"; {model.dropped_values:,} values were dropped" if model.dropped_values else ""
    rows = [
        ("model", path),
        ("documents", f"{model.documents:,}, {model.labelled:,} of them with labels"),
        ("labels", f"{len(model.labels):,}, at most {model.most_labels:,}"),
        *([("pending", waiting)] if room else []),
        ("threshold", f"{decimals(model.threshold)}, {learnt}"),
        ("memory", f"{bytes_(model.nbytes)}, at most {bytes_(model.max_nbytes)}{lost}"),
        ("file", bytes_(os.path.getsize(path))),
    ]
    values = {k: f"{v:,}" if type(v) is int else setting(v) for k, v in settings.items()}
    return [facts(rows), "", facts(values.items())]


@command("merge", "Merge several models into one.")
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True)
@output_option("--output -o FILE  The model file to write.", required=True)
@load_option
def merge_command(paths: tuple[str, ...], output: str, load: Loader) -> None:
    """Merge models that have the same settings.

    Word statistics, prototypes and region statistics add up to those of one
    model that has seen all streams; the weights of the margin rule and the
    perceptron are averaged. At most two models are in memory at a time.

    $ clasher merge monday.clasher tuesday.clasher --output week.clasher
    $ clasher merge part-*.clasher -o whole.clasher
    """
    terminal.check_model_file("--output", output)
    from clasher.cli.tables import facts, show

    first, *others = paths
    model = load(first)
    rows = [(summary(model), first)]
    with terminal.compiling():
        for path in others:
            other = load(path)
            rows.append((summary(other), path))
            try:
                model.merge(other)
            except (SettingError, LabelError) as error:
                raise type(error)(f"{path} does not merge with {first}: {error}") from error
    model.save(output)
    rows.append((summary(model), output))
    if not terminal.is_quiet():
        show(facts(rows))
    terminal.say(f"wrote {output}, {bytes_(os.path.getsize(output))}")


ACTIONS = {
    "list": ("", ""), "rename": ("rename_label", "OLD NEW"),
    "merge": ("merge_labels", "LABEL INTO"), "retire": ("retire_label", "LABEL"),
}  # fmt: skip
"""The actions of ``clasher labels``: the method of a model, and the labels that it takes."""


@command("labels", "List, rename, merge or retire the labels of a model.")
@click.argument("model_path", metavar="MODEL")
@click.argument("action", type=click.Choice(list(ACTIONS)), metavar="ACTION")
@click.argument("names", metavar="[LABEL]...", nargs=-1)
@output_option("--output -o FILE  The model file to write (default: the one read).")
@load_option
def labels_command(
    model_path: str, action: str, names: tuple[str, ...], output: str | None, load: Loader
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
    method, needed = ACTIONS[action]
    if len(names) != len(needed.split()):
        got = " ".join(names) or "none"
        raise SettingError(f"{action} needs {needed or 'no label'}. Got {got} instead.")
    target = model_path if output is None else output
    if needed:
        terminal.check_model_file("--output" if output else "MODEL", target)
    from clasher.cli.tables import labels_view, show

    model = load(model_path)
    if not needed:
        show(labels_view(model.support, None, {}))
        return
    getattr(model, method)(*names)
    model.save(target)
    terminal.say(f"saved {target}: {len(model.labels):,} labels")
