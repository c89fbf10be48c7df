"""What an experiment can be: a kind knows its cells, how to measure one, and what to tell."""

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
"""What was found, cell by cell: ``what``, ``stream``, ``result`` or the reason it ``failed``."""

PRODUCT = PROJECT / "src" / "clasher"


class Kind(Protocol):
    """A kind of experiment."""

    def cells(self, config: Config) -> Iterable[Cell]:
        """What is to be measured."""

    def fingerprint(self, cell: Cell) -> list[str]:
        """Changes with the code that measures a cell."""

    def measure(self, cell: Cell, data: Path, scratch: Path) -> Any:
        """Measure a cell; what it returns can be written as JSON."""

    def blocks(self, config: Config, cells: Cells) -> dict[str, str]:
        """The tables of its page, by name."""

    def pictures(self, config: Config, cells: Cells) -> dict[str, Any]:
        """Its pictures, by name: Matplotlib figures."""

    def verdicts(self, config: Config, cells: Cells) -> list[list[str]]:
        """Its claims: what is said, where, what was found, whether it holds."""


class Study:
    """Experiments whose parts are functions of one module, from a stream to rows of figures.

    The module has ``blocks(found)``, which makes tables of the rows of all streams by part; and
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
    """The rows of all streams, by part."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        if "failed" in cell:
            raise SystemExit(f"{cell['what']['part']} failed: {cell['failed']}")
        found.setdefault(cell["what"]["part"], []).extend(cell["result"])
    return found
