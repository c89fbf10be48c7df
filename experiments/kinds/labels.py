"""Measure learning from few, late and wrong labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.tables import both_f1, markdown
from clasher import Clasher, LabelSets
from clasher.evaluate import evaluate
from clasher.metrics import Metrics
from experiments.prequential import rounded
from support.corpora import Corpus

RULES = ("margin", "centroid", "mistake", "perceptron")
PROBABILITIES = (1.0, 0.25, 0.125, 0.0625, 0.03125)  # the last four are those of Figure 6
LATE_RULES = ("margin", "centroid")
DELAYS = (0, 100, 1_000, 4_000)
PENDING = 5_000  # documents that wait for labels in the model
MOST_LATE = 20_000  # documents per stream, learnt one by one
WRONG_RULES = ("margin", "centroid", "perceptron")
WRONG = 0.2  # share of documents that get the labels of another one
SEED = 0


def few(stream: Corpus) -> list[dict[str, Any]]:
    """Test, then train; give each document its labels with a probability (section 6.6)."""
    rows = []
    for rule in RULES:
        for probability in PROBABILITIES:
            result = evaluate(
                Clasher(rule=rule),
                [(stream.texts, stream.labels)],
                label_probability=probability,
                seed=SEED,
            )
            about = {"corpus": stream.name, "rule": rule, "probability": probability}
            rows.append(about | rounded(result) | {"taught": result.taught})
    return rows


def late(stream: Corpus) -> list[dict[str, Any]]:
    """Test, then train; labels arrive a number of documents late."""
    stream = stream.head(MOST_LATE)
    texts, truth = stream.texts.to_pylist(), stream.labels.to_pylist()
    rows = []
    for rule in LATE_RULES:
        for delay in DELAYS:
            model, metrics = Clasher(rule=rule, pending=PENDING), Metrics()
            predicted = []
            for at, text in enumerate(texts):
                predicted.append(model.predict(text))
                model.observe(text, id=at)
                if at >= delay:
                    model.learn_later(at - delay, truth[at - delay])
            metrics.update_many(stream.labels, predicted)
            about = {"corpus": stream.name, "rule": rule, "delay": delay}
            rows.append(about | rounded(metrics))
    return rows


def wrong(stream: Corpus) -> list[dict[str, Any]]:
    """Train on four fifths with right, wrong and corrected labels; test on the last fifth."""
    stream = stream.head(2 * MOST_LATE)
    cut = len(stream) * 4 // 5
    texts, right = stream.texts[:cut].to_pylist(), stream.labels[:cut].to_pylist()
    random = np.random.default_rng(SEED)
    mixed = np.flatnonzero(random.random(cut) < WRONG)
    given = list(right)
    for at, other in zip(mixed, np.roll(mixed, 1), strict=True):
        given[at] = right[other]
    rows = []
    for rule in WRONG_RULES:
        clean, spoilt = Clasher(rule=rule), Clasher(rule=rule)
        clean.learn_many(texts, right)
        spoilt.learn_many(texts, given)
        about = {"corpus": stream.name, "rule": rule, "documents": cut, "wrong": len(mixed)}
        found = {"right": held_out(clean, stream, cut), "wrong": held_out(spoilt, stream, cut)}
        for at in mixed:
            spoilt.correct(texts[at], given[at], right[at])
        rows.append(about | {"scores": found | {"corrected": held_out(spoilt, stream, cut)}})
    return rows


def held_out(model: Clasher, stream: Corpus, cut: int) -> dict[str, float]:
    """Return macro and micro F1 on the documents from ``cut`` on."""
    metrics = Metrics()
    metrics.update_many(LabelSets.of(stream.labels[cut:]), model.predict_many(stream.texts[cut:]))
    return rounded(metrics)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """The tables of labels.md."""
    delays = [f"{delay:,} documents late" if delay else "at once" for delay in DELAYS]
    return {
        "few": _table([f"p = {p:g}" for p in PROBABILITIES], results["few"]),
        "late": _table(delays, results["late"]),
        "wrong": _wrong(results["wrong"]),
    }


def _wrong(rows: list[dict[str, Any]]) -> str:
    heads = ["stream", "rule", "documents, wrong ones", "right", "wrong", "wrong, then corrected"]
    body = [
        [row["corpus"], row["rule"], f"{row['documents']:,}, {row['wrong']:,}"]
        + [both_f1(row["scores"][name]) for name in ("right", "wrong", "corrected")]
        for row in rows
    ]
    return markdown(heads, body)


def _table(heads: list[str], rows: list[dict[str, Any]]) -> str:
    """Make a row per stream and rule, with F1 in order of measurement."""
    body: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        key = row["corpus"], row["rule"]
        body.setdefault(key, list(key)).append(both_f1(row))
    return markdown(["stream", "rule", *heads], body.values())
