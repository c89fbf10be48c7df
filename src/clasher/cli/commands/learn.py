"""Commands that teach a model file: ``learn``, ``late-labels`` and ``unlearn``."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted
from clasher.cli.options import command, model_option, output_option, quiet_option
from clasher.cli.settings import ModelOptions, settings_options, tokenizer_option
from clasher.cli.streams import BATCH, Stream, stream_options
from clasher.cli.terminal import check_model_file
from clasher.errors import ClasherError, LabelError, NotLearntError

if TYPE_CHECKING:
    from clasher.text.analyzer import Tokenizer


@command("learn", "Create or continue a model file.")
@stream_options(labelled=True)
@model_option("The model file to create or to continue.")
@settings_options
@output_option("--save-every N  Save after every N documents too.")
@quiet_option
def learn_command(
    stream: Stream, model_path: str, options: ModelOptions, save_every: int | None, quiet: bool
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
    check_model_file("--model", model_path, stream.paths)
    model = options.load(model_path) if os.path.exists(model_path) else options.create()
    learnt = saved = 0
    with stream.hashed(
        model,
        warm_up=functools.partial(terminal.warm_up, model.settings),
        labelled=True,
        batch_size=min(BATCH, save_every or BATCH),
        facts=lambda: [counted(len(model.labels), "label")],
        quiet=quiet,
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
            f"{model_path}: {counted(model.documents, 'document')}, "
            f"{counted(len(model.labels), 'label')}, {bytes_(os.path.getsize(model_path))}",
            quiet=quiet,
        )
    else:
        terminal.say(f"nothing learnt, {model_path} is unchanged", quiet=quiet)
    source.exit_if_interrupted()


@command("late-labels", "Learn labels that arrive after their documents.")
@stream_options(labelled=True, texts=False)
@model_option("The model file to continue; it was created with --pending.")
@tokenizer_option()
@quiet_option
def late_labels_command(
    stream: Stream, model_path: str, tokenizer: Tokenizer | None, quiet: bool
) -> None:
    """Learn the labels of documents that a model has seen without them.

    Records need an id and labels, no text. A model created with --pending N
    keeps its last N unlabelled documents under their ids. Labels of other
    documents are skipped and counted.

    $ clasher learn inbox.jsonl --model inbox.clasher --pending 10000
    $ clasher late-labels decisions.jsonl --model inbox.clasher
    """
    check_model_file("--model", model_path, stream.paths)
    from clasher.io.read_ahead import HeldInterrupt
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    learnt = missing = 0
    first: NotLearntError | None = None
    with stream.opened() as batches, terminal.compiling(quiet=quiet), HeldInterrupt() as ctrl_c:
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
        terminal.warn(f"skipped {counted(missing, 'record')}; the first: {first}")
    terminal.say(
        f"learnt the labels of {counted(learnt, 'document')}; "
        f"{counted(model.pending, 'document')} in {model_path} without labels yet",
        quiet=quiet,
    )
    if ctrl_c.asked:
        terminal.leave_interrupted(learnt)


@command("unlearn", "Remove documents with the labels they had.")
@stream_options(labelled=True)
@model_option("The model file to change.")
@tokenizer_option()
@quiet_option
def unlearn_command(
    stream: Stream, model_path: str, tokenizer: Tokenizer | None, quiet: bool
) -> None:
    """Unlearn documents, given with the labels they were learnt with.

    Exact for word statistics, and with --weighting tf for prototypes and
    region statistics too; other weightings use today's weights of words and
    are nearly exact. Weights of the margin rule and the perceptron stay until
    new documents move them. Either all documents are unlearnt, or none.

    $ clasher unlearn wrong.jsonl --model news.clasher
    $ clasher learn corrected.jsonl --model news.clasher
    """
    check_model_file("--model", model_path, stream.paths)
    from clasher.model import Clasher

    model = Clasher.load(model_path, tokenizer=tokenizer)
    documents = 0
    with stream.opened() as batches, terminal.compiling(quiet=quiet):
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
        f"{counted(model.documents, 'document')}",
        quiet=quiet,
    )
