"""How much the seed of the hash matters: F1 of each rule over several seeds."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

from benchmarks.corpora import Corpus
from benchmarks.peers.clasher_rules import RULES, TITLES, build
from benchmarks.tables import f1, markdown
from experiments.prequential import prequential
from experiments.tables import distinct

SEEDS = 8
MEASURES = ("macro_f1", "micro_f1")


def spread(
    stream: Corpus, seeds: int = SEEDS, dimensions: int | None = None
) -> Iterator[dict[str, Any]]:
    """Test, then train: every rule of the benchmark with the seeds 0, 1, …"""
    smaller = {} if dimensions is None else {"dimensions": dimensions}
    for rule, settings in RULES.items():
        for seed in range(seeds):
            model = build(settings | smaller | {"seed": seed})
            scores = prequential(model, stream).to_dict()
            yield {"corpus": stream.name, "rule": rule, "seed": seed} | scores


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """Mean ± standard deviation of macro and of micro F1, and the seed of the other tables."""
    rows = found["spread"]
    corpora = distinct(row["corpus"] for row in rows)
    lines = [
        [f"clasher {TITLES.get(rule, rule)}", *(_cell(_of(rows, c, rule)) for c in corpora)]
        for rule in distinct(row["rule"] for row in rows)
    ]
    return {"spread": markdown(["", *corpora], lines)}


def summary(rows: list[dict[str, Any]], corpus: str, rule: str) -> str:
    """Mean ± standard deviation of both measures."""
    return " / ".join(_summary(_of(rows, corpus, rule), measure) for measure in MEASURES)


def _of(rows: list[dict[str, Any]], corpus: str, rule: str) -> list[dict[str, Any]]:
    return [row for row in rows if (row["corpus"], row["rule"]) == (corpus, rule)]


def _summary(rows: list[dict[str, Any]], measure: str) -> str:
    values = [row[measure] for row in rows]
    return f"{f1(mean(values))} ± {f1(stdev(values))}"


def _cell(rows: list[dict[str, Any]]) -> str:
    first = next(row for row in rows if row["seed"] == 0)
    single = " / ".join(f1(first[measure]) for measure in MEASURES)
    several = " / ".join(_summary(rows, measure) for measure in MEASURES)
    return f"{several} (seed 0: {single})"
