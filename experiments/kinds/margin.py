"""Measure the margin rule: the value of its parts, failed variants, and its first documents."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tables import NONE, both_f1, markdown, megabytes
from clasher import Analyzer, Clasher, LabelSets
from clasher.labels import LabelIndex
from clasher.text.hashing import Hasher
from experiments.kinds.margin_kernel import BEFORE, Arrays, Rule, walk
from support.corpora import Corpus

DIMENSIONS = 65536
POINTS = (100, 1_000, 10_000)
PLAIN = Analyzer()

PARTS: dict[str, tuple[Rule, Analyzer]] = {
    "before": (BEFORE, PLAIN),
    "now": (Rule(), Analyzer.rich()),
    "without fractions of three regions": (Rule(regions=False), Analyzer.rich()),
    "without the second look": (Rule(look=False), Analyzer.rich()),
    "without larger steps of larger weights": (Rule(growing=False, step=0.9), Analyzer.rich()),
    "without larger steps of rare labels": (Rule(rare=0.0), Analyzer.rich()),
    "without the weight of first words": (Rule(lead=False), Analyzer.rich()),
    "without pairs of short texts": (Rule(), Analyzer.rich(pairs=0)),
    "without marks": (Rule(), Analyzer.rich(marks=False)),
    "without words of one letter": (Rule(), Analyzer.rich(min_length=2)),
    "new rule, old words": (Rule(), PLAIN),
    "old rule, new words": (BEFORE, Analyzer.rich()),
}
TRIED: dict[str, tuple[Rule, Analyzer]] = {
    "an AdaGrad sum for each weight": (Rule(by_weight=True), Analyzer.rich()),
    "words of few labels weigh more": (Rule(telling=True), Analyzer.rich()),
    "a threshold for each label": (Rule(own_cuts=True), Analyzer.rich()),
    "learning an earlier document again with each": (Rule(replay=True), Analyzer.rich()),
    "square roots of the prototypes' sums": (Rule(root=True), Analyzer.rich()),
    "updates above 0.10": (Rule(slack=0.10), Analyzer.rich()),
    "updates above 0.20": (Rule(slack=0.20), Analyzer.rich()),
    "pairs of words in all texts": (Rule(), Analyzer.rich(pairs=1000)),
    "runs of four characters too": (Rule(), Analyzer.rich(char_ngrams=(4, 4))),
}
SHOWN = ("before", "now")


def parts(stream: Corpus) -> list[dict[str, Any]]:
    """Measure every variant on a stream."""
    return [measure_variants(stream, {**PARTS, **TRIED})]


def other(stream: Corpus) -> list[dict[str, Any]]:
    """Measure the first and the current version on a stream that no choice was based on."""
    return [measure_variants(stream, {name: PARTS[name] for name in SHOWN})]


def memory() -> list[dict[str, int]]:
    """Return the bytes of a model of arxiv."""
    return [{name: memory_of(name == "before") for name in SHOWN}]


# ── one stream ───────────────────────────────────────────────────────────────────────────────────


def measure_variants(stream: Corpus, variants: dict[str, tuple[Rule, Analyzer]]) -> dict[str, Any]:
    """Measure F1 along the stream and the calibration error of each variant."""
    ids, indptr = truth_of(stream)
    labels = int(ids.max(initial=-1)) + 1
    points = tuple(point for point in POINTS if point < len(stream))
    found = {}
    for analyzer in dict.fromkeys(analyzer for _, analyzer in variants.values()):
        hashed = Hasher(DIMENSIONS, analyzer=analyzer).hash_many(stream.texts)
        for name, (rule, own) in variants.items():
            if own == analyzer:
                arrays = walk(hashed, ids, indptr, labels, DIMENSIONS, rule, points)
                found[name] = figures(arrays, points)
    return {
        "corpus": stream.name,
        "order": stream.order,
        "documents": len(stream),
        "labels": labels,
        "variants": {name: found[name] for name in variants},
    }


def truth_of(stream: Corpus) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the labels of a stream as a model does."""
    sets, index = LabelSets.of(stream.labels), LabelIndex(100_000)
    index.extend(index.unknown(sets))
    truth = index.translate(sets)
    return numbered(truth.ids, truth.indptr)


def numbered(
    ids: npt.NDArray[np.int32], indptr: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number labels in order of appearance, ascending in each document.

    >>> numbered(np.array([7, 2, 2, 9], np.int32), np.array([0, 1, 2, 4]))[0].tolist()
    [0, 1, 1, 2]
    """
    first = np.full(int(ids.max(initial=-1)) + 1, len(ids))
    np.minimum.at(first, ids, np.arange(len(ids)))
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    numbers = rank[ids]
    return numbers[np.lexsort((numbers, documents))], np.asarray(indptr, np.int64)


def figures(arrays: Arrays, points: tuple[int, ...]) -> dict[str, Any]:
    """Compute macro and micro F1 at each point and at the end, and calibration errors."""
    *early, end = [_f1(hits) for hits in arrays.hits]
    return {
        **end,
        "early": {str(point): pair for point, pair in zip(points, early, strict=True)},
        "ece": [round(calibration_error(shades), 4) for shades in arrays.shades],
    }


def _f1(hits: npt.NDArray[np.int64]) -> dict[str, float]:
    tp, fp, positives = hits
    below = tp + fp + positives
    seen = below > 0
    macro = (2 * tp[seen] / below[seen]).mean() if seen.any() else 0.0
    micro = 2 * tp.sum() / max(below.sum(), 1)
    return {"macro_f1": round(float(macro), 4), "micro_f1": round(float(micro), 4)}


def calibration_error(shades: npt.NDArray[np.float64]) -> float:
    """Compute the expected calibration error: |mean probability − share of true labels|."""
    probability, true, count = shades
    return float(np.abs(probability - true).sum() / max(count.sum(), 1.0))


def memory_of(before: bool, labels: int = 173) -> int:
    """Return the bytes of a model; the first version kept an AdaGrad sum per weight."""
    model = Clasher(max_labels=labels)
    bytes_ = model.max_nbytes
    if before:
        state = model.state
        width = -(-labels // 16) * 16
        bytes_ += DIMENSIONS * width * 4 - state.squares.nbytes
    return bytes_


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """The tables of the page."""
    return {
        "parts": variants(found["parts"], PARTS),
        "tried": variants(found["parts"], {"now": None, **TRIED}),
        "start": start(found["parts"]),
        "other": others(found["other"]),
        "calibration": calibration(found["parts"]),
        "memory": memory_table(found["memory"][0]),
    }


def variants(streams: list[dict[str, Any]], names: Any) -> str:
    """Make a row per variant, a column per stream, and the mean last."""
    return markdown(
        ["", *(_title(stream) for stream in streams), "mean"],
        [
            [
                name,
                *(_pair(stream["variants"][name]) for stream in streams),
                _pair(_mean([stream["variants"][name] for stream in streams])),
            ]
            for name in names
        ],
    )


def start(streams: list[dict[str, Any]]) -> str:
    """Show F1 after the first documents."""
    points = list(streams[0]["variants"]["now"]["early"])
    return markdown(
        ["", *(f"{stream['corpus']}, {name}" for stream in streams for name in SHOWN)],
        [
            [
                f"{int(point):,}",
                *(
                    _pair(stream["variants"][name]["early"].get(point))
                    for stream in streams
                    for name in SHOWN
                ),
            ]
            for point in points
        ],
    )


def others(streams: list[dict[str, Any]]) -> str:
    """Compare the first and the current version on other streams."""
    return markdown(
        ["", *SHOWN],
        [
            [
                f"{_title(stream)}, {stream['order']}",
                *(_pair(stream["variants"][name]) for name in SHOWN),
            ]
            for stream in streams
        ],
    )


def calibration(streams: list[dict[str, Any]]) -> str:
    """Show the calibration error of σ(z) and of calibrated probabilities."""
    return markdown(
        ["", *(stream["corpus"] for stream in streams)],
        [
            [name, *(f"{stream['variants']['now']['ece'][row]:.4f}" for stream in streams)]
            for row, name in enumerate(("σ(z)", "calibrated"))
        ],
    )


def memory_table(found: dict[str, int]) -> str:
    """Show the memory of a model of arxiv."""
    return markdown(list(found), [list(map(megabytes, found.values()))])


def _title(stream: dict[str, Any]) -> str:
    return f"{stream['corpus']} ({stream['documents']:,}; {stream['labels']} labels)"


def _mean(pairs: list[dict[str, Any]]) -> dict[str, float]:
    return {name: fmean(pair[name] for pair in pairs) for name in ("macro_f1", "micro_f1")}


def _pair(figures: dict[str, Any] | None) -> str:
    return NONE if figures is None else both_f1(figures)
