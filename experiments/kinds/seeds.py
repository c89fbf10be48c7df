"""Measure F1 of each rule over several hash seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.peers.clasher_rules import RULES, TITLES, build
from benchmarks.tables import distinct, f1_spread, markdown
from experiments.prequential import prequential
from support.corpora import Corpus

SEEDS = 8


def spread(
    stream: Corpus, seeds: int = SEEDS, dimensions: int | None = None
) -> Iterator[dict[str, Any]]:
    """Test, then train every rule of the benchmark with the seeds 0, 1, …"""
    smaller = {} if dimensions is None else {"dimensions": dimensions}
    for rule, settings in RULES.items():
        for seed in range(seeds):
            model = build(settings | smaller | {"seed": seed})
            scores = prequential(model, stream).to_dict()
            yield {"corpus": stream.name, "rule": rule, "seed": seed} | scores


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """Make a row per rule, a column per stream."""
    rows = found["spread"]
    corpora = distinct(row["corpus"] for row in rows)
    lines = [
        [f"clasher {TITLES.get(rule, rule)}", *(summary(rows, corpus, rule) for corpus in corpora)]
        for rule in distinct(row["rule"] for row in rows)
    ]
    return {"spread": markdown(["", *corpora], lines)}


def summary(rows: list[dict[str, Any]], corpus: str, rule: str) -> str:
    """Return macro F1 / micro F1, each as mean ± standard deviation over the seeds."""
    return f1_spread([row for row in rows if (row["corpus"], row["rule"]) == (corpus, rule)])
