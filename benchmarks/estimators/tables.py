"""The figures of the estimators as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.tables import f1, markdown, provenance

TOLD = {
    "hashed": "`HashedTfidfVectorizer()`",
    "hashed, rich": "`HashedTfidfVectorizer(analyzer=Analyzer.rich(), lead=True)`",
    "hashing": "`HashingVectorizer` + `TfidfTransformer`",
    "classifier": "`ClasherClassifier()` on text",
    "pipeline": "`HashedTfidfVectorizer()` + `ClasherClassifier()`",
    "linear": "`HashingVectorizer` + `TfidfTransformer` + one `SGDClassifier` per label",
}


def table(study: dict[str, Any]) -> str:
    """All that was measured, and how to measure it again."""
    rows = [row for found in study["figures"].values() for row in _rows(found)]
    heads = [
        "corpus",
        "what",
        "documents/s",
        "macro F1 / micro F1",
        "speed",
        "macro F1",
        "micro F1",
    ]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"


def _rows(found: dict[str, Any]) -> list[list[str]]:
    ratios = {one["way"]: one for one in found["ratios"]}
    rows = []
    for way, rates in found["rates"].items():
        quality, ratio = found["quality"][way], ratios.get(way)
        times = (
            ["1"] * 3 if ratio is None else [f"{ratio[k]:.2f}" for k in ("speed", "macro", "micro")]
        )
        rows.append(
            [found["corpus"], TOLD[way], f"{statistics.median(rates):,.0f}",
             f"{f1(quality['macro'])} / {f1(quality['micro'])}", *times]
        )  # fmt: skip
    return rows
