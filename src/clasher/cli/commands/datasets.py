"""``clasher datasets``: list, describe and convert corpora as their owners distribute them."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Literal

import click

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import CommandGroup, command, on_error_option, quiet_option, section
from clasher.cli.streams import BATCH, report_bad
from clasher.cli.terminal import STANDARD_STREAM, Bar, check_outputs, protect_inputs


@click.group(
    "datasets",
    cls=CommandGroup,
    invoke_without_command=True,
    short_help="List, describe and convert corpora.",
)
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


@command("list", "List datasets, and which are in a folder.", group=datasets_command)
@click.argument("folder", metavar="[FOLDER]", required=False)
def list_(folder: str | None = None) -> None:
    """List the datasets, and which of them are in a folder.

    $ clasher datasets list
    $ clasher datasets list ~/corpora
    """
    from clasher.cli.tables import datasets_view, show
    from clasher.datasets import DATASETS

    show(datasets_view(DATASETS.values(), folder))


@command("show", "Describe a dataset and where to get it.", group=datasets_command)
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
@quiet_option
def read_(
    name: str,
    folder: str,
    split: str | None,
    part: Literal["train", "test"] | None,
    unlabelled: bool,
    limit: int | None,
    on_error: Literal["stop", "skip"] | Path,
    to: str,
    quiet: bool,
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
    check_outputs({"--to": to}, inputs)
    if isinstance(on_error, Path):
        protect_inputs({"--on-error dead-letter": str(on_error)}, inputs)
    with BadRecords(on_error) as bad:
        documents = dataset.read(folder, split, part, on_error=bad, unlabelled=unlabelled)
        total = limit or (dataset.documents if split is None else None)
        with Bar(total, shown=terminal.shows_progress(quiet=quiet)) as bar:
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
        if to != STANDARD_STREAM:
            terminal.warn(f"{to} was not written")
        terminal.leave_interrupted(bar.documents)
    where = "" if to == STANDARD_STREAM else f" to {to}"
    unlabelled_ = counted(documents.left_out, "document")
    skipped = f"; left out {unlabelled_} without labels" if documents.left_out else ""
    terminal.say(f"wrote {counted(documents.delivered, 'document')}{where}{skipped}", quiet=quiet)
