"""Measure forgetting: F1 over time, the cost without drift, and the delay of detectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean, median
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.tables import NONE, both_f1, distinct, f1, markdown
from clasher import Clasher, LabelSets
from clasher.datasets.synthetic import DRIFTS, Stream
from clasher.metrics import Metrics
from clasher.text.hashing import Hashed
from experiments import plots
from experiments.prequential import BATCH, rounded
from support.corpora import Corpus

RULES = ("margin", "centroid")
WAYS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "half-life 100,000": {"half_life": 100_000},
    "half-life 50,000": {"half_life": 50_000},
    "half-life 20,000": {"half_life": 20_000},
    "half-life 5,000": {"half_life": 5_000},
    "detector window": {"detector": "window"},
    "detector adwin": {"detector": "adwin"},
}
MADE_UP = {
    "nothing": {},
    "half-life 5,000": {"half_life": 5_000},
    "half-life 2,000": {"half_life": 2_000},
    "detector window": {"detector": "window"},
    "detector adwin": {"detector": "adwin"},
}
PARTS = 10
TENTHS = range(1, PARTS + 1)
DOCUMENTS, LABELS, SEEDS = 12_000, 50, 2  # of the synthetic streams
SHOWN_ALARMS = 12


# ── a stream over time ───────────────────────────────────────────────────────────────────────────


def over_time(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Test, then train with every setting; yield scores of the whole and of each tenth."""
    edges = [len(stream) * part // PARTS for part in range(PARTS + 1)]
    for rule in RULES:
        hashed = Clasher(rule=rule, words=True).hash_many(stream.texts)
        for way, how in WAYS.items():
            model = Clasher(rule=rule, **how)
            whole, *parts = prequential_parts(model, hashed, stream.labels, edges)
            yield {
                "corpus": stream.name,
                "order": stream.order,
                "documents": len(stream),
                "rule": rule,
                "way": way,
                **rounded(whole),
                "tenths": [rounded(part) for part in parts],
                "alarms": [alarm.to_dict() for alarm in model.alarms],
            }


def prequential_parts(
    model: Clasher, hashed: Hashed, labels: pa.ListArray, edges: list[int]
) -> list[Metrics]:
    """Return the metrics of the whole stream, then those between neighbouring edges."""
    whole = Metrics()
    parts = []
    for first, last in pairwise(edges):
        part = Metrics()
        for start in range(first, last, BATCH):
            stop = min(start + BATCH, last)
            truth = LabelSets.of(labels[start:stop])
            predicted = model.step_many(hashed.part(start, stop), truth)
            whole.update_many(truth, predicted)
            part.update_many(truth, predicted)
        parts.append(part)
    return [whole, *parts]


# ── synthetic streams ────────────────────────────────────────────────────────────────────────────


class MadeUp(NamedTuple):
    """A synthetic stream in memory."""

    stream: Stream
    hashed: dict[str, Hashed]  # by rule: rules read text differently
    labels: pa.ListArray

    @classmethod
    def of(cls, stream: Stream) -> MadeUp:
        texts, labels = zip(*stream, strict=True)
        hashed = {rule: Clasher(rule=rule, words=True).hash_many(list(texts)) for rule in RULES}
        return cls(stream, hashed, pa.array(labels, pa.list_(pa.string())))


def made_up(documents: int = DOCUMENTS) -> Iterator[dict[str, Any]]:
    """Measure every setting on synthetic streams with every kind of drift."""
    for drift in DRIFTS:
        yield from one_drift(drift, documents)


def one_drift(drift: str, documents: int) -> Iterator[dict[str, Any]]:
    """Measure every setting on streams with one kind of drift: the mean of several seeds."""
    streams = [Stream(documents, LABELS, drift, seed=seed) for seed in range(SEEDS)]
    kept = [MadeUp.of(stream) for stream in streams]
    for rule in RULES:
        ways = {
            way: _mean([_after(one, rule, how) for one in kept]) for way, how in MADE_UP.items()
        }
        yield {"drift": drift, "rule": rule, "documents": documents, "ways": ways}


def _after(made: MadeUp, rule: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return F1 before and after the drift, and the delays and false alarms of the detector."""
    stream = made.stream
    start = stream.points[0] if stream.points else len(stream) // 2
    model = Clasher(rule=rule, **how)
    edges = [0, start, len(stream)]
    _, before, after = prequential_parts(model, made.hashed[rule], made.labels, edges)
    alarms = [alarm.document for alarm in model.alarms]
    turns = stream.points if stream.drift == "recurring" else stream.points[:1]
    ends = [*turns[1:], len(stream)][: len(turns)]
    delays = [
        min(document - turn for document in alarms if turn < document <= end)
        for turn, end in zip(turns, ends, strict=True)
        if any(turn < document <= end for document in alarms)
    ]
    return {
        "before": rounded(before),
        "after": rounded(after),
        "turns": len(turns),
        "delays": delays,
        "false_alarms": sum(not stream.points or document <= start for document in alarms),
    }


def _mean(runs: list[dict[str, Any]]) -> dict[str, Any]:
    delays = [delay for run in runs for delay in run["delays"]]
    return {
        **{
            f"{when}_{name}": round(fmean(run[when][name] for run in runs), 4)
            for when in ("before", "after")
            for name in ("macro_f1", "micro_f1")
        },
        "turns": sum(run["turns"] for run in runs),
        "found": len(delays),
        "delay": median(delays) if delays else None,
        "false_alarms": sum(run["false_alarms"] for run in runs),
    }


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """The tables of the page."""
    real, synthetic = found["over_time"], found["made_up"]
    return {
        "overall": overall(real),
        **{f"time_{rule}": time_table(real, rule) for rule in RULES},
        "rings": alarm_counts(real),
        "alarms": alarm_table(real),
        "synth": synth_table(synthetic),
        "detection": detection_table(synthetic),
    }


def pictures(found: dict[str, Any]) -> dict[str, Any]:
    """Draw F1 of each tenth of the stream, with and without forgetting, margin rule."""
    real = [row for row in found["over_time"] if row["rule"] == "margin"]
    orders = distinct(row["order"] for row in real)
    picture, grid = plots.canvas(len(orders), 2, width=4.4)
    for order, line in zip(orders, grid, strict=True):
        for measure, axes in zip(("macro_f1", "micro_f1"), line, strict=True):
            for row in (row for row in real if row["order"] == order):
                axes.plot(TENTHS, [tenth[measure] for tenth in row["tenths"]], label=row["way"])
            plots.label_axes(axes, "tenth of the stream", measure)
        line[0].set_title(f"{real[0]['corpus']}, {order}", loc="left")
    return {"drift": plots.add_legend(picture, grid)}


def overall(real: list[dict[str, Any]]) -> str:
    """Show F1 of the whole stream, in its order and shuffled."""
    found = {(r["rule"], r["way"], r["order"]): r for r in real}
    orders = distinct(r["order"] for r in real)
    return markdown(
        ["forgetting", *(f"{rule}, {order}" for rule in RULES for order in orders)],
        [
            [way, *(both_f1(found[rule, way, order]) for rule in RULES for order in orders)]
            for way in WAYS
        ],
    )


def alarm_counts(real: list[dict[str, Any]]) -> str:
    """Count the alarms; on a shuffled stream, every alarm is false."""
    found = {(r["rule"], r["way"], r["order"]): len(r["alarms"]) for r in real}
    orders = distinct(r["order"] for r in real)
    return markdown(
        ["alarms", *(f"{rule}, {order}" for rule in RULES for order in orders)],
        [
            [way, *(f"{found[rule, way, order]}" for rule in RULES for order in orders)]
            for way, how in WAYS.items()
            if "detector" in how
        ],
    )


def time_table(real: list[dict[str, Any]], rule: str) -> str:
    """Show F1 of each tenth of the stream, in its own order."""
    rows = [r for r in real if r["rule"] == rule and r["order"] == real[0]["order"]]
    return markdown(
        ["forgetting", *(f"{tenth}" for tenth in range(1, PARTS + 1))],
        [[row["way"], *map(both_f1, row["tenths"])] for row in rows],
    )


def alarm_table(real: list[dict[str, Any]]) -> str:
    """List the alarms of the built-in detector."""
    rows = [r for r in real if r["way"] == "detector window" and r["rule"] == "margin"]
    return markdown(
        ["document", "label", "error rate", "words gained", "words lost"],
        [
            [
                f"{alarm['document']:,}",
                alarm["label"] or "all labels",
                f"{alarm['error_before']:.0%} → {alarm['error_after']:.0%}",
                ", ".join(alarm["gained"]) or NONE,
                ", ".join(alarm["lost"]) or NONE,
            ]
            for alarm in rows[0]["alarms"][:SHOWN_ALARMS]
        ],
    )


def synth_table(made: list[dict[str, Any]]) -> str:
    """Show F1 since the drift began."""
    return markdown(
        ["drift", "rule", *MADE_UP],
        [
            [
                row["drift"],
                row["rule"],
                *(
                    f"{f1(way['after_macro_f1'])} / {f1(way['after_micro_f1'])}"
                    for way in row["ways"].values()
                ),
            ]
            for row in made
        ],
    )


def detection_table(made: list[dict[str, Any]]) -> str:
    """Show how many changes were found, how soon, and the false alarms."""
    detectors = [way for way, how in MADE_UP.items() if "detector" in how]
    heads = ["drift", "rule"]
    for way in detectors:
        heads += [f"{way}: found", "median delay", "false alarms"]
    return markdown(
        heads,
        [
            [row["drift"], row["rule"], *(c for way in detectors for c in _found(row["ways"][way]))]
            for row in made
        ],
    )


def _found(way: dict[str, Any]) -> list[str]:
    found = f"{way['found']} of {way['turns']}" if way["turns"] else NONE
    delay = NONE if way["delay"] is None else f"{way['delay']:,.0f}"
    return [found, delay, f"{way['false_alarms']}"]
