"""The figures of River's loops as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.peers.river_pipeline import RATES
from benchmarks.tables import f1, markdown, provenance

PEER = f"river-{RATES[0]}"
TOLD = {
    "text": "`ClasherClassifier()`",
    "batches": "`ClasherClassifier()`, `predict_many` and `learn_many` of 100",
    "features": "`TFIDF() | ClasherClassifier()`",
    **{
        f"river-{rate}": "`TFIDF() | FeatureHasher() | PerOutputClassifier(LogisticRegression("
        f"SGD({rate})))`"
        for rate in RATES
    },
}


def table(study: dict[str, Any]) -> str:
    """All that was measured, and how to measure it again."""
    rows = [row for name, found in study["figures"].items() for row in _rows(name, found)]
    heads = ["stream", "model", "macro F1 / micro F1", "documents/s", "times River's"]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"


def _rows(stream: str, found: dict[str, Any]) -> list[list[str]]:
    rates = {way: statistics.median(taken) for way, taken in found["rates"].items()}
    about = f"{stream} (first {found['documents']:,}; {found['labels']} labels)"
    return [
        [about, TOLD[way], f"{f1(found['scores'][way]['macro_f1'])} / "
         f"{f1(found['scores'][way]['micro_f1'])}", f"{rate:,.0f}", f"{rate / rates[PEER]:,.1f}"]
        for way, rate in rates.items()
    ]  # fmt: skip
