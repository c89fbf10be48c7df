"""Datasets as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from clasher.app.figures import bytes_, counted, printable
from clasher.app.tables import facts
from clasher.datasets import Dataset


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
