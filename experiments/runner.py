"""Measure all cells of experiments and save their results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.runner import header, say
from experiments.cells import Cell
from experiments.config import Config
from experiments.kinds import KINDS
from experiments.measurements import Found, Place, end_all, run
from experiments.streams import Stream

Measure = Callable[[Cell, Place], Found]


def check(configs: Iterable[Config], place: Place) -> None:
    """Exit if a corpus is missing or broken."""
    for config in configs:
        parts = [part.streams or [] for part in config.parts.values()]
        for stream in map(Stream.of, chain(config.streams, _optional(config, place), *parts)):
            if fault := stream.fault(place.data):
                raise SystemExit(f"{config.name} needs {fault}")


def _optional(config: Config, place: Place) -> list[Stream]:
    """Return the optional streams whose files exist."""
    return [stream for stream in map(Stream.of, config.optional) if place.has(stream)]


def cells_of(config: Config, place: Place) -> list[Cell]:
    """Return the cells of an experiment, including optional streams whose files exist."""
    streams = [*config.streams, *_optional(config, place)]
    return list(KINDS[config.kind].cells(msgspec.structs.replace(config, streams=streams)))


def measure_all(
    cells: Iterable[Cell], place: Place, measure: Measure = run, workers: int = 2
) -> dict[str, Found]:
    """Measure every cell that is not in the cache; return all results by key.

    Cells run ``workers`` at a time, timed ones alone after the others.
    """
    by_key = {place.key(cell): cell for cell in cells}
    found = {key: cached for key, cell in by_key.items() if (cached := place.cached(cell))}
    left = {key: cell for key, cell in by_key.items() if key not in found}
    if found:
        say(f"{len(found)} of {len(by_key)} cells are in the cache")
    progress = Progress(len(left))
    for timed in (False, True):
        batch = {key: cell for key, cell in left.items() if cell.timed is timed}
        found |= _measure_batch(batch, place, measure, 1 if timed else workers, progress)
    return found


def _measure_batch(
    cells: dict[str, Cell], place: Place, measure: Measure, workers: int, progress: Progress
) -> dict[str, Found]:
    found: dict[str, Found] = {}
    waiting = list(cells.items())
    running: dict[Future[Found], str] = {}
    with ThreadPoolExecutor(workers) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    key, cell = waiting.pop(0)
                    running[pool.submit(measure, cell, place)] = key
                done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    key = running.pop(future)
                    found[key] = future.result()
                    if "failed" not in found[key]:
                        place.store(cells[key], found[key])
                    progress.report(cells[key], found[key])
        except BaseException:
            end_all()
            raise
    return found


class Progress:
    """Progress of a run, printed after each cell."""

    def __init__(self, cells: int) -> None:
        self.cells, self.done, self.began = cells, 0, time.perf_counter()

    def report(self, cell: Cell, found: Found) -> None:
        """Report a finished cell."""
        self.done += 1
        passed = time.perf_counter() - self.began
        left = passed / self.done * (self.cells - self.done)
        outcome = f"FAILED: {found['failed']}" if "failed" in found else brief(found["result"])
        say(
            f"{self.done}/{self.cells}  {cell}  {outcome}  ({found['took']:,.0f} s; "
            f"{passed / 60:,.0f} min passed, about {left / 60:,.0f} left)"
        )


def brief(result: Any) -> str:
    """Summarise a result."""
    if not isinstance(result, dict) or "macro_f1" not in result:
        return "done"
    return f"macro {result['macro_f1']:.3f}  micro {result['micro_f1']:.3f}"


def document(
    config: Config, cells: list[Cell], found: dict[str, Found], place: Place
) -> dict[str, Any]:
    """Make the content of a results file."""
    about = header(config.name, [], repeats=1)
    own = [found[place.key(cell)] for cell in cells]
    about["machine"]["load_before"] = round(median(one["load"] for one in own), 2)
    about["command"] = f"python -m experiments {config.name}"
    pairs = zip(cells, own, strict=True)
    return about | {"cells": [msgspec.to_builtins(cell) | one for cell, one in pairs]}


def save(path: Path, results: dict[str, Any]) -> None:
    """Write a results file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
