"""Commands that make streams: ``datasets`` reads corpora, ``synth`` generates documents."""

import json
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import click

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import command, group, on_error_option, section
from clasher.cli.streams import BATCH, report_bad


@group("datasets", "List, describe and convert corpora.", invoke_without_command=True)
@click.pass_context
def datasets_command(ctx: click.Context) -> None:
    """Read corpora as their owners distribute them, in time order.

    Without a command, lists them. Nothing is downloaded: show says where to get
    a dataset and which files to put into a folder.

    $ clasher datasets list ~/corpora
    $ clasher datasets show rcv1
    $ clasher datasets read reuters21578 ~/corpora --to reuters.parquet
    $ clasher evaluate ~/corpora --format reuters21578
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@command("list", "List datasets, and which are in a folder.", group=datasets_command, quiet=False)
@click.argument("folder", metavar="[FOLDER]", required=False)
def list_(folder: str | None = None) -> None:
    """List the datasets, and which of them are in a folder.

    $ clasher datasets list
    $ clasher datasets list ~/corpora
    """
    from clasher.cli.tables import datasets_view, show
    from clasher.datasets import DATASETS

    show(datasets_view(DATASETS.values(), folder))


@command("show", "Describe a dataset and where to get it.", group=datasets_command, quiet=False)
@click.argument("name", metavar="NAME")
@click.argument("folder", metavar="[FOLDER]", required=False)
def show_(name: str, folder: str | None) -> None:
    """Describe a dataset: its content, licence, files and splits.

    $ clasher datasets show nyt
    $ clasher datasets show rcv1 ~/corpora
    """
    from clasher.cli.tables import dataset_view, show
    from clasher.datasets import dataset_of

    show(dataset_view(dataset_of(name), folder))


@command("read", "Convert a dataset to JSON lines or Parquet.", group=datasets_command)
@click.argument("name", metavar="NAME")
@click.argument("folder", metavar="FOLDER")
@section("Stream")(
    "--split NAME  Read only the documents of this split.",
    "--part train|test  Read only this part of the split (default: both).",
    "unlabelled --include-unlabelled  Include documents without labels (default: only where the "
    "split has them).",
    "--limit N  Stop after N documents.",
)
@on_error_option
@section("Output")(
    "--to FILE = -  The file to write, .jsonl or .parquet (default: JSON lines on standard output)."
)
def read_(
    name: str,
    folder: str,
    split: str | None,
    part: Literal["train", "test"] | None,
    unlabelled: bool,
    limit: int | None,
    on_error: Literal["stop", "skip"] | Path,
    to: str,
) -> None:
    """Write the documents of a dataset in time order: id, date, text, labels.

    A file is complete or not written at all. Ctrl-C stops reading.

    $ clasher datasets read arxiv ~/corpora --to arxiv.parquet
    $ clasher datasets read rcv1 rcv1/ --split days --part train --to train.jsonl
    $ clasher datasets read nyt /data/nyt --limit 100000 | clasher evaluate -
    """
    from clasher.datasets import dataset_of, take
    from clasher.datasets.parquet import DocumentWriter
    from clasher.io import BadRecords
    from clasher.io.read_ahead import HeldInterrupt

    dataset = dataset_of(name)
    inputs = [str(path) for path in dataset.find(folder) if path.is_file()]
    terminal.check_outputs({"--to": to}, inputs)
    if isinstance(on_error, Path):
        terminal.protect_inputs({"--on-error dead-letter": str(on_error)}, inputs)
    with BadRecords(on_error) as bad:
        documents = dataset.read(folder, split, part, on_error=bad, unlabelled=unlabelled)
        total = limit or (dataset.documents if split is None else None)
        with terminal.Bar(total, shown=terminal.shows_progress()) as bar:
            documents.folder.on_held = bar.show_sorting
            limited = islice(documents, limit)
            with closing(documents), DocumentWriter(to) as writer, HeldInterrupt() as ctrl_c:
                for some in ctrl_c.between(iter(lambda: take(limited, BATCH), [])):
                    writer.write(some)
                    bar.advance(len(some))
                if not ctrl_c.asked:
                    writer.finish()
        report_bad(bad, on_error)
    if ctrl_c.asked:
        if to != terminal.STANDARD_STREAM:
            terminal.warn(f"{to} was not written")
        terminal.leave_interrupted(bar.documents)
    where = "" if to == terminal.STANDARD_STREAM else f" to {to}"
    unlabelled_ = counted(documents.left_out, "document")
    skipped = f"; left out {unlabelled_} without labels" if documents.left_out else ""
    terminal.say(f"wrote {counted(documents.delivered, 'document')}{where}{skipped}")


@command("synth", "Generate a stream with a known drift.", quiet=False)
@section("Stream")(
    "--drift none|sudden|gradual|recurring|new-labels|vanishing-labels = sudden  What changes, and "
    "how."
)
@section("Stream")(
    "--documents N = 10000  The number of documents.",
    "--labels N = 50  The number of labels.",
    "--at N  The document at which the drift starts (default: half-way).",
    "--width N  Length of the drift in documents; if recurring, documents between two changes "
    "(default: a tenth of all).",
    "--seed N = 0  Another seed gives other documents.",
    type=int,
)
def synth_command(**settings: Any) -> None:
    """Write artificial documents with one to three labels, as JSON lines.

    Half of the labels change their words (sudden, gradual, recurring), or a
    third of them appear or vanish one by one (new-labels, vanishing-labels).

    $ clasher synth --drift sudden --documents 10000 > stream.jsonl
    $ clasher synth --drift recurring | clasher evaluate - --detector window
    """
    from clasher.datasets.synthetic import Stream

    for number, (text, names) in enumerate(Stream(**settings)):
        record = {"id": number, "text": text, "labels": names}
        sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
