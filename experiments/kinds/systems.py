"""Compare clasher and its peers, test-then-train or on a test set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import version
from benchmarks.peers import SYSTEMS
from benchmarks.peers.base import System, Task, one_run
from experiments import plots, tables
from experiments.cells import Cell, digest
from experiments.claims import verdict
from experiments.config import PAPER_POINTS, Config
from experiments.kinds.base import PRODUCT, Cells
from experiments.rows import Row
from experiments.streams import Stream
from support.corpora import SEED

IMPORTED = re.compile(r"^\s*from benchmarks\.peers\.(\w+) import", re.MULTILINE)

TASKS = ("fraction",)
"""Names that ``vary`` accepts in addition to the options of a system."""


@dataclass(frozen=True)
class What:
    """One run of a system."""

    system: str
    options: dict[str, Any]
    fraction: float | None = None
    points: list[int] | str = ""
    limit: int | None = None
    seconds: float | None = None


class Systems:
    """Run every system on every stream with every value of the varied options."""

    def cells(self, config: Config) -> Iterator[Cell]:
        ways = [
            dict(zip(config.vary, values, strict=True)) for values in product(*config.vary.values())
        ]
        for stream in map(Stream.of, config.streams):
            for name in config.systems:
                for way in ways:
                    yield self._cell(config, stream, name, way)
            for name in config.asymptotes:
                yield self._cell(config, stream, name, {})

    def _cell(self, config: Config, stream: Stream, name: str, way: dict[str, Any]) -> Cell:
        if name not in SYSTEMS:
            known = ", ".join(SYSTEMS)
            raise SystemExit(
                f"{config.name}.toml: there is no system {name!r}; choose from: {known}."
            )
        what = What(
            system=name,
            options={key: value for key, value in way.items() if key not in TASKS}
            | config.settings.get(name, {}),
            fraction=way.get("fraction"),
            points=config.points,
            limit=config.limits.get(name, SYSTEMS[name].limit),
            seconds=config.longer.get(name, config.seconds),
        )
        return Cell("systems", asdict(what), stream, config.timed)

    def fingerprint(self, cell: Cell) -> list[str]:
        system = SYSTEMS[cell.what["system"]]
        code = modules(_module(system))
        java = sorted(code[0].parent.glob("java/*.java")) if system.library == "capymoa" else []
        library = digest(PRODUCT) if system.library == "clasher" else version(system.library)
        return [*map(digest, [*code, *java]), library]

    def measure(self, cell: Cell, data: Path, scratch: Path) -> dict[str, Any]:
        assert cell.stream is not None
        what = What(**cell.what)
        system = SYSTEMS[what.system]
        corpus, test_from = cell.stream.load(data)
        if test_from is None:
            corpus = corpus.head(what.limit)
        if system.max_labels is not None and len(corpus.label_names) > system.max_labels:
            raise SystemExit(f"does not run on streams with more than {system.max_labels} labels")
        name = (
            f"{cell.stream.title}-{cell.stream.order}-{len(corpus)}-{cell.stream.digest(data)[:8]}"
        )
        folder = scratch / name.replace(", ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        learn = None
        if what.fraction is not None:
            learn = np.random.default_rng(SEED).random(len(corpus)) < what.fraction
        task = Task(
            corpus=corpus,
            folder=folder,
            learn=learn,
            test_from=test_from,
            options=what.options,
            points=PAPER_POINTS if what.points == "paper" else tuple(what.points),
            seconds=float("inf") if what.seconds is None else what.seconds,
        )
        found = one_run(system, task)
        if "failed" in found:
            raise SystemExit(found["failed"])
        return found

    def blocks(self, config: Config, cells: Cells) -> dict[str, str]:
        found = Row.all(cells)
        return {
            "overview": tables.overview(found),
            "measures": tables.measures(found),
            "varied": tables.varied(found, next(iter(config.vary), "")),
            "start": tables.start(found),
            "settings": tables.settings(found),
        }

    def pictures(self, config: Config, cells: Cells) -> dict[str, Any]:
        found = Row.all(cells)
        return {
            name: plots.draw(figure, found, config.asymptotes)
            for name, figure in config.figures.items()
        }

    def verdicts(self, config: Config, cells: Cells) -> list[list[str]]:
        found = Row.all(cells)
        streams = dict.fromkeys(row.stream for row in found)
        varied = next(iter(config.vary), "")
        return [
            verdict(claim, stream, [row for row in found if row.stream == stream], varied)
            for claim in config.claims
            for stream in streams
            if claim.streams is None or stream in claim.streams
        ]


def modules(path: Path) -> list[Path]:
    """Return a module of the peers and all peer modules it imports."""
    found = [path]
    for module in found:
        names = IMPORTED.findall(module.read_text(encoding="utf-8"))
        found += [other for name in names if (other := module.with_name(f"{name}.py")) not in found]
    return sorted(found)


def _module(system: System) -> Path:
    function = getattr(system.run, "func", system.run)
    return Path(inspect.getfile(function))
