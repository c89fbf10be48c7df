"""What experiments share: the streams, the prequential run, the pages with their tables."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import corpora
from benchmarks.corpora import Corpus
from benchmarks.tables import provenance
from clasher import Clasher, LabelSets
from clasher.metrics import Metrics

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BATCH = 1000
BLOCK = re.compile(r"(<!-- experiment:(\w+) -->\n).*?(<!-- /experiment:\2 -->)", re.DOTALL)


@dataclass(frozen=True)
class Plan:
    """What an experiment runs on."""

    data: Path = corpora.DATA
    names: tuple[str, ...] = ()
    limit: int | None = None

    def streams(self) -> list[Corpus]:
        """The corpora in their stored order; a synthetic stream where there are none."""
        found = [p for p in corpora.find(self.data) if not self.names or p.stem in self.names]
        streams = [corpora.load(path) for path in found] or [corpora.synthetic(5000, 50)]
        return [stream.head(self.limit) for stream in streams]


@dataclass(frozen=True)
class Scores:
    """Macro and micro F1 of a test-then-train run, and how they came about."""

    macro_f1: float
    micro_f1: float
    curve: list[dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the curve."""
        return {"macro_f1": round(self.macro_f1, 4), "micro_f1": round(self.micro_f1, 4)}


def prequential(model: Clasher, stream: Corpus, points: tuple[int, ...] = ()) -> Scores:
    """Predict each document, then learn from it; the curve has a point where one is asked for.

    >>> stream = corpora.synthetic(200, 5)
    >>> scores = prequential(Clasher(1024), stream, points=(100,))
    >>> scores.micro_f1 > 0.3, scores.curve[0]["documents"]
    (True, 100)
    """
    metrics, curve = Metrics(), []
    cuts = sorted({0, *range(0, len(stream), BATCH), *points, len(stream)})
    for start, stop in pairwise(cuts):
        if start >= len(stream):
            break
        truth = LabelSets.of(stream.labels[start:stop])
        metrics.update_many(truth, model.step_many(stream.texts[start:stop], truth))
        if stop in points:
            curve.append(
                {"documents": stop, "macro_f1": metrics.macro_f1, "micro_f1": metrics.micro_f1}
            )
    return Scores(metrics.macro_f1, metrics.micro_f1, curve)


def experiments() -> dict[str, ModuleType]:
    """The experiments there are, by name."""
    modules = {
        info.name: importlib.import_module(f"experiments.{info.name}")
        for info in pkgutil.iter_modules([str(HERE)])
        if info.name not in ("__main__", "common")
    }
    return {name: module for name, module in modules.items() if hasattr(module, "run")}


def fill(name: str) -> str:
    """The page of an experiment with its tables written anew from its results."""
    results = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    blocks = experiments()[name].blocks(results) | {"provenance": provenance(results)}

    def replaced(match: re.Match[str]) -> str:
        start, block, end = match.groups()
        if block not in blocks:
            raise SystemExit(f"{name}.md asks for {block!r}; there are: {', '.join(blocks)}.")
        return f"{start}\n{blocks[block]}\n\n{end}"

    return BLOCK.sub(replaced, page(name).read_text(encoding="utf-8"))


def page(name: str) -> Path:
    """The page that tells of an experiment."""
    return HERE / f"{name}.md"
