"""``clasher datasets``: corpora as their owners hand them out.

Datasets as tables for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, facts, printable
from clasher.cli.options import (
    Command,
    Exemplified,
    option,
    output_option,
    parse_policy,
    quiet_option,
)
from clasher.cli.streams import BATCH, tell_bad
from clasher.cli.terminal import STANDARD_STREAM, Bar, check_outputs, keep_inputs
from clasher.datasets import Dataset
from clasher.io.read_ahead import HeldInterrupt

if TYPE_CHECKING:
    from clasher.datasets import Documents


def datasets_view(datasets: Iterable[Dataset], folder: str | None) -> Group:
    """All datasets, and which of them are in a folder."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("documents", justify="right", no_wrap=True)
    table.add_column("labels", justify="right", no_wrap=True)
    table.add_column("licence", overflow="fold")
    if folder is not None:
        table.add_column(Text(f"in {printable(folder)}"), overflow="fold")
    files = Table.grid(padding=(0, 2))
    files.add_column(style="bold", no_wrap=True)
    files.add_column(overflow="fold")
    for dataset in datasets:
        found = [] if folder is None else [_found(dataset, folder)]
        numbers = (_number(dataset.documents), _number(dataset.classes))
        table.add_row(dataset.name, *numbers, dataset.licence, *found)
        files.add_row(dataset.name, Text(dataset.title))
        files.add_row("", Text(" or ".join(dataset.files), style="dim"))
    return Group(table, files)


def dataset_view(dataset: Dataset, folder: str | None) -> Group:
    """All that is known of a dataset."""
    rows = [
        ("what it is", dataset.about),
        ("documents", _number(dataset.documents) or "as many as there are"),
        ("labels", f"{_number(dataset.classes)} {dataset.labels}".strip()),
        ("licence", dataset.licence),
        ("get it from", dataset.source),
        ("files", " or ".join(dataset.files)),
        *((f"split {name}", split.about) for name, split in dataset.splits.items()),
    ]
    if folder is not None:
        rows.append(("here", f"{_found(dataset, folder)} in {folder}"))
    return Group(Text(dataset.title, style="bold"), facts(rows))


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _found(dataset: Dataset, folder: str) -> str:
    found = dataset.find(folder)
    if not found:
        return "not there"
    kind = "folder" if found[0].is_dir() else "file"
    size = sum(map(_size, found))
    return counted(len(found), kind) + (f", {bytes_(size)}" if size else "")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


EXAMPLES = """
    clasher datasets list ~/corpora
    clasher datasets show rcv1
    clasher datasets read reuters21578 ~/corpora --to reuters.parquet
    clasher evaluate ~/corpora --format reuters21578
"""
SHOW_EXAMPLES = """
    clasher datasets show nyt
    clasher datasets show rcv1 ~/corpora
"""
READ_EXAMPLES = """
    clasher datasets read arxiv ~/corpora --to arxiv.parquet
    clasher datasets read rcv1 rcv1/ --split days --part train --to train.jsonl
    clasher datasets read nyt /data/nyt --limit 100000 | clasher evaluate -
"""


class Subcommands(Exemplified, click.Group):
    """Commands under a command."""


@click.group(
    "datasets",
    cls=Subcommands,
    examples=EXAMPLES,
    invoke_without_command=True,
    short_help="List, describe and convert corpora.",
)
@click.pass_context
def datasets_command(ctx: click.Context) -> None:
    """Read corpora as their owners hand them out, in time order.

    Without a command it lists them. What needs a licence is not fetched for
    you: show tells what to get and where to put it.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@datasets_command.command(
    "list", cls=Command, examples=EXAMPLES, short_help="What there is, and what of it is there."
)
@click.argument("folder", metavar="[FOLDER]", required=False)
def list_(folder: str | None = None) -> None:
    """List the datasets, and which of them are in a folder."""
    from clasher.cli.format import show
    from clasher.datasets import DATASETS

    show(datasets_view(DATASETS.values(), folder))


@datasets_command.command(
    "show",
    cls=Command,
    examples=SHOW_EXAMPLES,
    short_help="What a dataset is, where to get it.",
)
@click.argument("name", metavar="NAME")
@click.argument("folder", metavar="[FOLDER]", required=False)
def show_(name: str, folder: str | None) -> None:
    """Describe a dataset: what it is, its licence, its files, its splits."""
    from clasher.cli.format import show
    from clasher.datasets.catalog import dataset_of

    show(dataset_view(dataset_of(name), folder))


@datasets_command.command(
    "read", cls=Command, examples=READ_EXAMPLES, short_help="Convert to JSON lines or Parquet."
)
@click.argument("name", metavar="NAME")
@click.argument("folder", metavar="FOLDER")
@option("--split", metavar="NAME", section="Stream", help="Only the documents of this split.")
@option(
    "--part",
    type=click.Choice(["train", "test"]),
    section="Stream",
    help="Only this part of the split (default: both).",
)
@option(
    "--unlabelled",
    is_flag=True,
    section="Stream",
    help="Documents without labels too; otherwise they are left out, unless a split has them.",
)
@option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    section="Stream",
    help="Stop after N documents.",
)
@option(
    "--on-error",
    callback=parse_policy,
    default="stop",
    metavar="stop|skip|dead-letter FILE",
    section="Stream",
    help="What to do with a bad record: stop (the default), pass over it, or also append it to "
    "FILE, with what is wrong and where.",
)
@output_option(
    "--to",
    metavar="FILE",
    default=STANDARD_STREAM,
    help="A file .jsonl or .parquet (default: JSON lines to standard output).",
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

    A file is written whole or not at all. Ctrl-C ends the reading.
    """
    from clasher.datasets.catalog import dataset_of
    from clasher.io import BadRecords

    dataset = dataset_of(name)
    inputs = [str(path) for path in dataset.find(folder) if path.is_file()]
    check_outputs({"--to": to}, inputs)
    if isinstance(on_error, Path):
        keep_inputs({"--on-error dead-letter": str(on_error)}, inputs)
    with BadRecords(on_error) as bad:
        documents = dataset.read(folder, split, part, on_error=bad, unlabelled=unlabelled)
        whole = dataset.documents if split is None else None
        with Bar(limit or whole, shown=terminal.shows_progress(quiet=quiet)) as bar:
            done = _convert(documents, to, limit, bar)
        tell_bad(bad, on_error)
    if not done:
        if to != STANDARD_STREAM:
            terminal.warn(f"{to} was not written")
        terminal.leave_interrupted(bar.documents)
    terminal.say(_summary(documents, to), quiet=quiet)


def _convert(documents: Documents, to: str, limit: int | None, bar: Bar) -> bool:
    """Write documents; whether Ctrl-C left them alone."""
    from clasher.datasets.catalog import take
    from clasher.datasets.writers import DocumentWriter

    documents.folder.on_held = bar.sorting
    wanted = islice(documents, limit)
    with (
        closing(documents),
        DocumentWriter(to) as writer,
        HeldInterrupt() as ctrl_c,
    ):
        for some in ctrl_c.between(iter(lambda: take(wanted, BATCH), [])):
            writer.write(some)
            bar.predicted(len(some))
        if not ctrl_c.asked:
            writer.finish()
    return not ctrl_c.asked


def _summary(documents: Documents, to: str) -> str:
    where = "" if to == STANDARD_STREAM else f" to {to}"
    left = ""
    if documents.left_out:
        left = f"; left out {counted(documents.left_out, 'document')} without labels"
    return f"wrote {counted(documents.delivered, 'document')}{where}{left}"
