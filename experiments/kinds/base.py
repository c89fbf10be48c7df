"""A kind of experiment defines its cells, how to measure them and how to report them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from experiments.cells import Cell, digest
from experiments.config import Config
from experiments.streams import Stream
from support.corpora import PROJECT

Cells = list[dict[str, Any]]
"""Stored cells: ``what``, ``stream``, and either ``result`` or the reason it ``failed``."""

PRODUCT = PROJECT / "src" / "clasher"


class Kind(Protocol):
    """A kind of experiment."""

    def cells(self, config: Config) -> Iterable[Cell]:
        """Yield the cells to measure."""

    def fingerprint(self, cell: Cell) -> list[str]:
        """Return digests of the code that measures a cell."""

    def measure(self, cell: Cell, data: Path, scratch: Path) -> Any:
        """Measure a cell; return plain values for JSON."""

    def blocks(self, config: Config, cells: Cells) -> dict[str, str]:
        """Make the tables of its page, by name."""

    def pictures(self, config: Config, cells: Cells) -> dict[str, Any]:
        """Draw its pictures, by name."""

    def verdicts(self, config: Config, cells: Cells) -> list[list[str]]:
        """Test its claims; return claim, stream, result and whether it holds."""


class Study:
    """Experiments whose parts are functions of one module, each from a stream to rows of figures.

    The module has ``blocks(found)``, which makes tables from the rows of all streams by part, and
    may have ``pictures(found)`` and ``verdicts(found)``.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.name = module.__name__.rpartition(".")[2]

    def cells(self, config: Config) -> Iterable[Cell]:
        for name, part in config.parts.items():
            what = {"part": name} | ({"arguments": part.arguments} if part.arguments else {})
            streams = config.streams if part.streams is None else part.streams
            for stream in map(Stream.of, streams):
                yield Cell(self.name, what, stream, part.timed)
            if part.streams == []:
                yield Cell(self.name, what, None, part.timed)

    def fingerprint(self, cell: Cell) -> list[str]:
        return [digest(Path(str(self.module.__file__))), digest(PRODUCT)]

    def measure(self, cell: Cell, data: Path, scratch: Path) -> Any:
        part = getattr(self.module, cell.what["part"])
        arguments = cell.what.get("arguments", {})
        if cell.stream is None:
            return list(part(**arguments))
        corpus, _ = cell.stream.load(data)
        return list(part(corpus, **arguments))

    def blocks(self, config: Config, cells: Cells) -> dict[str, str]:
        blocks: dict[str, str] = self.module.blocks(rows(cells))
        return blocks

    def pictures(self, config: Config, cells: Cells) -> dict[str, Any]:
        draw = getattr(self.module, "pictures", None)
        return draw(rows(cells)) if draw else {}

    def verdicts(self, config: Config, cells: Cells) -> list[list[str]]:
        judge = getattr(self.module, "verdicts", None)
        return judge(rows(cells)) if judge else []


def rows(cells: Cells) -> dict[str, list[dict[str, Any]]]:
    """Join the rows of all streams by part."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        if "failed" in cell:
            raise SystemExit(f"{cell['what']['part']} failed: {cell['failed']}")
        found.setdefault(cell["what"]["part"], []).extend(cell["result"])
    return found
