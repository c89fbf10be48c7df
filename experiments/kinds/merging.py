"""Compare merged models of the parts of a stream with one model of the whole."""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import Any

from benchmarks.tables import both_f1, f1_change, markdown, megabytes
from clasher import Clasher, LabelSets
from clasher.metrics import Metrics
from clasher.text.hashing import Hashed
from experiments.prequential import rounded
from support.corpora import Corpus

WAYS: dict[str, dict[str, Any]] = {
    "centroid, tf": {"rule": "centroid", "weighting": "tf"},
    "centroid": {"rule": "centroid"},
    "margin": {"rule": "margin"},
    "mistake": {"rule": "mistake"},
    "perceptron": {"rule": "perceptron"},
}
PARTS = (2, 4, 8)
THREADED = ("centroid", "margin")
THREADS = (1, 2, 4)
ROUNDS = 3
MOST = 60_000  # documents per stream


def parts(stream: Corpus) -> list[dict[str, Any]]:
    """Learn four fifths of a stream in one pass and in parts; test on the last fifth."""
    stream = stream.head(MOST)
    cut = len(stream) * 4 // 5
    labels, truth = LabelSets.of(stream.labels[:cut]), LabelSets.of(stream.labels[cut:])

    def learn(settings: dict[str, Any], hashed: Hashed, start: int, stop: int) -> Clasher:
        model = Clasher(**settings)
        model.learn_many(hashed.part(start, stop), labels[start:stop])
        return model

    rows = []
    for way, settings in WAYS.items():
        about = {"corpus": stream.name, "way": way, "documents": cut}
        hasher = Clasher(**settings)  # rules read text differently
        hashed, test = hasher.hash_many(stream.texts[:cut]), hasher.hash_many(stream.texts[cut:])
        rows.append(about | {"parts": 1} | scores(learn(settings, hashed, 0, cut), test, truth))
        for count in PARTS:
            bounds = [cut * part // count for part in range(count + 1)]
            model = learn(settings, hashed, *bounds[:2])
            alone = scores(model, test, truth)
            for part in range(1, count):
                model.merge(learn(settings, hashed, *bounds[part : part + 2]))
            found = scores(model, test, truth)
            rows.append(about | {"parts": count} | found | {"first_alone": alone})
    return rows


def threads(stream: Corpus) -> list[dict[str, Any]]:
    """Learn four fifths of a stream from text in threads; test on the last fifth."""
    stream = stream.head(MOST)
    cut = len(stream) * 4 // 5
    texts, labels = stream.texts[:cut], LabelSets.of(stream.labels[:cut])
    truth = LabelSets.of(stream.labels[cut:])
    rows = []
    for rule in THREADED:
        test = Clasher(rule=rule).hash_many(stream.texts[cut:])
        seconds: dict[int, list[float]] = {count: [] for count in THREADS}
        found: dict[int, dict[str, Any]] = {}
        for _ in range(ROUNDS):  # in turns, so that a slow moment affects all of them
            for count in THREADS:
                gc.collect()
                model = Clasher(rule=rule)
                start = time.perf_counter()
                model.learn_many(texts, labels, threads=count)
                seconds[count].append(time.perf_counter() - start)
                found[count] = scores(model, test, truth) | {"nbytes": model.nbytes}
        rows += [
            {"corpus": stream.name, "rule": rule, "threads": count, "documents": cut}
            | {"documents_per_second": round(cut / median(seconds[count]))}
            | found[count]
            for count in THREADS
        ]
    return rows


def scores(model: Clasher, test: Any, truth: LabelSets) -> dict[str, float]:
    metrics = Metrics()
    metrics.update_many(truth, model.predict_many(test))
    return rounded(metrics)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """The tables of merging.md."""
    return {
        "parts": _parts(results["parts"]),
        "mean": _mean(results["parts"]),
        "threads": _threads(results["threads"]),
    }


def _parts(rows: list[dict[str, Any]]) -> str:
    heads = ["stream", "rule", "one pass", *(f"{count} parts" for count in PARTS)]
    body: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        key = row["corpus"], row["way"]
        body.setdefault(key, list(key)).append(both_f1(row))
        if row["parts"] == PARTS[-1]:
            body[key].append(both_f1(row["first_alone"]))
    return markdown([*heads, f"first of {PARTS[-1]} alone"], list(body.values()))


def _mean(rows: list[dict[str, Any]]) -> str:
    """Show how merging changes macro and micro F1, averaged over all streams."""
    one = {(row["corpus"], row["way"]): row for row in rows if row["parts"] == 1}
    body = []
    for way in WAYS:
        cells = [way]
        for count in PARTS:
            own = [row for row in rows if row["way"] == way and row["parts"] == count]
            cells.append(f1_change(own, [one[row["corpus"], way] for row in own]))
        body.append(cells)
    return markdown(["rule", *(f"{count} parts" for count in PARTS)], body)


def _threads(rows: list[dict[str, Any]]) -> str:
    heads = ["stream", "rule", "model"]
    for count in THREADS:
        heads.append(f"{count} thread{'' if count == 1 else 's'}")
    body: dict[tuple[str, str], list[str]] = {}
    speed: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["corpus"], row["rule"]
        cells = body.setdefault(key, [*key, megabytes(row["nbytes"])])
        base = speed.setdefault(key, row["documents_per_second"])
        times = "" if row["threads"] == 1 else f", × {row['documents_per_second'] / base:.2f}"
        cells.append(f"{both_f1(row)}, {row['documents_per_second'] / 1000:,.0f} k/s{times}")
    return markdown(heads, list(body.values()))
