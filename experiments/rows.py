"""Runs of systems, as tables, pictures and claims need them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

import benchmarks
from benchmarks.peers import SYSTEMS
from benchmarks.tables import Cell as BenchmarkCell
from benchmarks.tables import cells, of_system
from experiments.streams import Stream

BENCHMARK = Path(benchmarks.__file__).parent / "results" / "table.json"


@cache
def benchmark() -> dict[str, Any]:
    """Return the results of ``python -m benchmarks table``, if any."""
    if not BENCHMARK.exists():
        return {"runs": []}
    study: dict[str, Any] = json.loads(BENCHMARK.read_text(encoding="utf-8"))
    return study


@cache
def _benchmark_cells() -> dict[tuple[Any, ...], BenchmarkCell]:
    return cells(benchmark()["runs"])


def benchmark_cell(corpus: str, system: str) -> BenchmarkCell | None:
    """Return the runs of a system on a corpus in the benchmark, unless one failed."""
    found = of_system(_benchmark_cells(), corpus, system)
    return None if found is None or found.failed else found


@dataclass(frozen=True)
class Row:
    """A system on a stream: its figures at the points and at the end.

    ``labels`` counts the labels in the longest part of the stream that any system processed.
    ``as_stored`` is true if the run used the whole file in its order, all labels, and the system's
    own settings.
    """

    system: str
    stream: str
    what: dict[str, Any]
    failed: str | None
    result: dict[str, Any]
    labels: int
    as_stored: bool = False

    @classmethod
    def all(cls, cells: list[dict[str, Any]]) -> list[Row]:
        """Turn cells of results into rows."""
        titles = [msgspec.convert(cell["stream"], Stream).title for cell in cells]
        labels: dict[str, int] = {}
        for title, cell in zip(titles, cells, strict=True):
            seen = cell.get("result", {}).get("labels", 1)
            labels[title] = max(labels.get(title, 1), seen)
        return [
            cls(
                system=cell["what"]["system"],
                stream=title,
                what=cell["what"],
                failed=cell.get("failed"),
                result=cell.get("result", {}),
                labels=labels[title],
                as_stored=_as_stored(cell),
            )
            for title, cell in zip(titles, cells, strict=True)
        ]

    @property
    def title(self) -> str:
        """The system's name in tables and pictures."""
        return SYSTEMS[self.system].title

    def value(self, name: str) -> Any:
        """Return the value of a varied option, of the system or of its task."""
        return self.what["options"].get(name, self.what.get(name))

    @property
    def benchmarked(self) -> float | None:
        """Documents per second in the benchmark, if it ran the same documents."""
        if self.failed is not None or not self.as_stored:
            return None
        cell = benchmark_cell(self.stream, self.system)
        if cell is None or cell["documents"] != self.result["documents"]:
            return None
        return cell["documents_per_second"]

    @property
    def speed(self) -> float:
        """Documents per second: the benchmark's median, so that all pages show the same figure.

        Without one, the speed in this experiment.
        """
        known = self.benchmarked
        return float(self.result["documents_per_second"]) if known is None else known

    @property
    def cut(self) -> str:
        """The part of the stream that it ran on, or empty for the whole."""
        if self.failed is not None:
            return ""
        if not self.result["complete"]:
            return f"{self.result['documents']:,} documents in {self.what['seconds']:,.0f} s"
        return f"first {self.what['limit']:,}" if self.shortened else ""

    @property
    def shortened(self) -> bool:
        """Whether it got only the first documents."""
        limit = self.what["limit"]
        return limit is not None and self.result["documents"] == limit

    @cached_property
    def points(self) -> list[dict[str, float]]:
        """The figures at each point, with the microseconds per document since the previous one.

        ``macro_f1_over_all`` counts labels that have not appeared yet as 0, as the paper does.
        """
        found: list[dict[str, float]] = []
        start = {"documents": 0.0, "seconds": 0.0, "text_bytes": 0.0}
        for before, point in pairwise([start, *self.result["points"]]):
            more = {}
            if "macro_f1" in point:
                more["macro_f1_over_all"] = point["macro_f1"] * point["labels"] / self.labels
            if "seconds" in point and "seconds" in before:
                passed = point["seconds"] - before["seconds"]
                documents = point["documents"] - before["documents"]
                more["microseconds"] = 1e6 * passed / documents
                more["nanoseconds_per_byte"] = (
                    1e9 * passed / max(1.0, point["text_bytes"] - before["text_bytes"])
                )
            found.append(point | more)
        return found

    def after(self, documents: int) -> dict[str, float] | None:
        """Return the figures at the last point up to a number of documents."""
        before = [point for point in self.points if point["documents"] <= documents]
        return before[-1] if before and "macro_f1" in before[-1] else None

    def mean(self, measure: str, start: float, stop: float) -> float | None:
        """Return the mean of a figure over a section of the stream, given as fractions."""
        end = self.result["documents"]
        inside = [
            point[measure]
            for point in self.points
            if measure in point and start * end < point["documents"] <= stop * end
        ]
        return sum(inside) / len(inside) if inside else None


def _as_stored(cell: dict[str, Any]) -> bool:
    stream, what = msgspec.convert(cell["stream"], Stream), cell["what"]
    plain = not what.get("options") and what.get("fraction") is None
    return plain and stream.order == "stored" and stream.limit is None
