"""Compare ways to predict documents without labels: force the best label, or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.tables import both_f1, distinct, markdown
from clasher import Clasher
from clasher.evaluate import evaluate
from experiments.kinds.margin import measure_variants
from experiments.kinds.margin_kernel import ALWAYS, BY_EMPTY_F1, BY_F1, LEARNT, NEVER, Rule
from support.corpora import Corpus

RULES = ("margin", "perceptron")
SEEDS = (0, 1, 2)
WAYS: dict[str, bool | None] = {"always": True, "never": False, "learnt": None}
TRIED = {
    "always": ALWAYS,
    "never": NEVER,
    "learnt": LEARNT,
    "best micro F1": BY_F1,
    "best micro F1, wrong labels of labelled documents not counted": BY_EMPTY_F1,
}
RARE = 1 / 16  # share of the documents
NONSENSE = "qwzx vbnmk plokij"

Sets = list[set[str]]


# ── streams ──────────────────────────────────────────────────────────────────────────────────────


def everything(sets: Sets) -> Sets:
    """Keep all labels."""
    return sets


def one_in_twenty(sets: Sets) -> Sets:
    """Remove the labels of one document in twenty, drawn at random."""
    taken = np.random.default_rng(0).random(len(sets)) < 1 / 20
    return [set() if empty else own for empty, own in zip(taken, sets, strict=True)]


def half(sets: Sets) -> Sets:
    """Remove the most frequent labels until half of the documents have none."""
    for label, _ in Counter(label for own in sets for label in own).most_common():
        if 2 * sum(not own for own in sets) >= len(sets):
            break
        sets = [own - {label} for own in sets]
    return sets


def one_label(sets: Sets) -> Sets:
    """Keep only the most frequent label among those of fewer than one document in 16."""
    counts = Counter(label for own in sets for label in own).most_common()
    kept = next((label for label, count in counts if count < RARE * len(sets)), counts[-1][0])
    return [own & {kept} for own in sets]


def later(sets: Sets) -> Sets:
    """Keep all labels in the first half and one in the second."""
    middle = len(sets) // 2
    return sets[:middle] + one_label(sets)[middle:]


STREAMS: dict[str, Callable[[Sets], Sets]] = {
    "all labels": everything,
    "without those of 5 % of the documents": one_in_twenty,
    "without the most frequent": half,
    "one label": one_label,
    "one label in the second half": later,
}


def without(stream: Corpus, take: Callable[[Sets], Sets]) -> Corpus:
    """Return the same documents with fewer labels."""
    sets = take([set(own) for own in stream.labels.to_pylist()])
    labels = pa.array([sorted(own) for own in sets], pa.list_(pa.string()))
    return replace(stream, labels=labels)


# ── figures ──────────────────────────────────────────────────────────────────────────────────────


def ways(stream: Corpus) -> list[dict[str, Any]]:
    """Measure F1 of each setting on each stream, averaged over several hash seeds."""
    rows = []
    for name, take in STREAMS.items():
        given = without(stream, take)
        for rule in RULES:
            found = {way: _mean(given, rule, how) for way, how in WAYS.items()}
            about = {"corpus": stream.name, "stream": name, "empty": _empty(given), "rule": rule}
            rows.append({**about, "ways": found})
    return rows


def _mean(stream: Corpus, rule: str, at_least_one: bool | None) -> dict[str, Any]:
    models = [Clasher(rule=rule, at_least_one=at_least_one, seed=seed) for seed in SEEDS]
    found = [evaluate(model, [(stream.texts, stream.labels)]) for model in models]
    return {
        "macro_f1": round(fmean(each.macro_f1 for each in found), 4),
        "micro_f1": round(fmean(each.micro_f1 for each in found), 4),
        "nonsense": sum(bool(model.predict(NONSENSE)) for model in models),
    }


def tried(stream: Corpus) -> list[dict[str, Any]]:
    """Measure F1 of other ways to learn when to predict, with seed 0."""
    rows = []
    for name, take in STREAMS.items():
        given = without(stream, take)
        analyzer = Clasher().settings.analyzer
        variants = {way: (Rule(guess=guess), analyzer) for way, guess in TRIED.items()}
        found = measure_variants(given, variants)["variants"]
        rows.append({"corpus": stream.name, "stream": name, "ways": found})
    return rows


def _empty(stream: Corpus) -> float:
    return round(sum(not own for own in stream.labels.to_pylist()) / max(len(stream), 1), 4)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """The tables of empty.md."""
    return {
        **{rule: _ways(results["ways"], rule) for rule in RULES},
        "nonsense": _nonsense(results["ways"]),
        "tried": _tried(results["tried"]),
    }


def _ways(rows: list[dict[str, Any]], rule: str) -> str:
    return markdown(
        ["stream", "labels", "documents without labels", *WAYS],
        [
            [row["corpus"], row["stream"], f"{row['empty']:.0%}"]
            + [both_f1(row["ways"][way]) for way in WAYS]
            for row in rows
            if row["rule"] == rule
        ],
    )


def _nonsense(rows: list[dict[str, Any]]) -> str:
    """Count the models that predict a label for nonsense, by stream."""
    corpora = distinct(row["corpus"] for row in rows)
    found = {(r["corpus"], r["stream"]): r["ways"] for r in rows if r["rule"] == "margin"}
    return markdown(
        ["labels", *(f"{corpus}, {way}" for corpus in corpora for way in ("always", "learnt"))],
        [
            [stream]
            + [
                f"{found[corpus, stream][way]['nonsense']} of {len(SEEDS)}"
                for corpus in corpora
                for way in ("always", "learnt")
            ]
            for stream in STREAMS
        ],
    )


def _tried(rows: list[dict[str, Any]]) -> str:
    return markdown(
        ["stream", "labels", *TRIED],
        [
            [row["corpus"], row["stream"], *(both_f1(row["ways"][way]) for way in TRIED)]
            for row in rows
        ],
    )
