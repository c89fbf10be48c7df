"""The test-then-train loop that most experiments use."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from clasher import Clasher, LabelSets
from clasher.metrics import Metrics
from support.corpora import Corpus

BATCH = 1000


@dataclass(frozen=True)
class Scores:
    """Macro and micro F1 of a test-then-train run, and their curve."""

    macro_f1: float
    micro_f1: float
    curve: list[dict[str, float]]

    def to_dict(self) -> dict[str, float]:
        """Return plain values for JSON, without the curve."""
        return rounded(self)


def rounded(scores: Any) -> dict[str, float]:
    """Return macro and micro F1 of scores or metrics, rounded for JSON."""
    return {name: round(getattr(scores, name), 4) for name in ("macro_f1", "micro_f1")}


def prequential(model: Clasher, stream: Corpus, points: tuple[int, ...] = ()) -> Scores:
    """Predict each document, then learn it; note the scores at ``points``.

    >>> from support.corpora import synthetic
    >>> scores = prequential(Clasher(1024), synthetic(200, 5), points=(100,))
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
