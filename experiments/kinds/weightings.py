"""Measure weightings beyond TF-IDF (section 3.6) and sketches with several rows (Theorem 2).

Four questions: how close online weights are to those of exact counts, what each weighting
contributes, what it costs, and what deeper sketches contribute.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tables import NONE, both_f1, distinct, markdown
from clasher import Clasher, LabelSets
from clasher.kernels.classes import term
from clasher.kernels.hashing import row_bucket
from clasher.kernels.state import LABELLED
from clasher.kernels.weightings import factor
from clasher.settings import CHOICES, GIVEN, MEASURES, WITH_IDF
from clasher.text.hashing import Hashed, Hasher
from experiments.prequential import BATCH, prequential
from support.corpora import Corpus
from support.reference.weightings import Classes, batch_factor

WEIGHTINGS = tuple(name for name in CHOICES["weighting"] if name != GIVEN)  # of text
RULES = ("margin", "centroid", "mistake")
WIDTHS = tuple(2**i for i in range(10, 19, 2))
LEAST = 3  # compare words with at least this many documents
DEPTHS = ((1, False), (2, False), (2, True), (4, False), (4, True))
NARROW = (2**12, 2**14, 2**16)
ROUNDS = 3

Floats = npt.NDArray[np.float64]


# ── online and exact weights ─────────────────────────────────────────────────────────────────────


class Vocabulary:
    """The exact counts of a stream; words are identified by their 64-bit hashes."""

    def __init__(self, stream: Corpus) -> None:
        self.documents = len(stream)
        self.classes = Classes()
        words = Hasher(2, keep_words=True).hash_many(stream.texts).words
        for (start, stop), labels in zip(pairwise(words.indptr), stream.labels, strict=True):
            self.classes.count(words.keys[start:stop].tolist(), labels.as_py())
        self.keys = [key for key, n in self.classes.with_word.items() if n >= LEAST]

    @property
    def frequencies(self) -> Floats:
        """The number of documents of each word."""
        return np.array([self.classes.with_word[key] for key in self.keys], np.float64)

    def weights(self, weighting: str) -> Floats:
        """Compute the exact weight of one occurrence of each word."""
        found = np.ones(len(self.keys))
        if weighting in MEASURES:
            labels = len(self.classes.with_label)
            factors = (batch_factor(weighting, self.classes, labels, key) for key in self.keys)
            found *= np.fromiter(factors, np.float64)
        if weighting in WITH_IDF:
            found *= np.log(self.documents / self.frequencies)
        return found


def correlations(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Correlate the model's weights of words at the end of the stream with exact ones."""
    vocabulary = Vocabulary(stream)
    truth = LabelSets.of(stream.labels)
    for weighting in [name for name in WEIGHTINGS if name != "tf"]:
        exact = vocabulary.weights(weighting)
        for m in WIDTHS:
            model = Clasher(m, rule="centroid", weighting=weighting)
            model.learn_many(stream.texts, truth)
            online = online_weights(model, vocabulary.keys)
            yield {
                "corpus": stream.name, "weighting": weighting, "m": m, "words": len(exact),
                "pearson": _rounded(np.corrcoef(exact, online)[0, 1]),
                "spearman": _rounded(np.corrcoef(_ranks(exact), _ranks(online))[0, 1]),
                "staleness": staleness(model, vocabulary.keys),
            }  # fmt: skip


def online_weights(model: Clasher, keys: list[int]) -> Floats:
    """Return the model's weight of one occurrence of each word."""
    buckets = _buckets(model, keys, 0)
    found = np.ones(len(keys))
    if model.settings.weighting in MEASURES:
        found *= _factors(model, model.state.terms[1, buckets])
    if model.settings.weighting in WITH_IDF:
        found *= np.log(model.documents / model.state.frequencies[0, buckets])
    return found


def staleness(model: Clasher, keys: list[int]) -> float | None:
    """Correlate the cached factors of words with fresh ones."""
    if model.settings.weighting not in MEASURES or model.settings.weighting == "icf":
        return None  # they need no pass over the labels
    buckets = _buckets(model, keys, 0)
    measure = MEASURES[model.settings.weighting]
    now = np.array([term(model.state, measure, bucket) for bucket in buckets])
    kept = model.state.terms[1, buckets]
    return _rounded(np.corrcoef(_factors(model, kept), _factors(model, now))[0, 1])


def _factors(model: Clasher, kept: Floats) -> Floats:
    measure = MEASURES[model.settings.weighting]
    labels, labelled = float(len(model.labels)), float(model.state.totals[LABELLED])
    return np.array([factor(value, measure, labels, labelled) for value in kept])


def _buckets(model: Clasher, keys: list[int], row: int) -> npt.NDArray[np.int64]:
    m = model.settings.dimensions
    return np.array([row_bucket(np.uint64(key), row, m) for key in keys], np.int64)


def _ranks(values: Floats) -> Floats:
    """Rank values from 0; equal values share their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: Floats = (last - 1 - (counts - 1) / 2)[group]
    return mean


# ── F1 ───────────────────────────────────────────────────────────────────────────────────────────


def scores(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Test, then train with every rule and weighting."""
    for rule in RULES:
        for weighting in WEIGHTINGS:
            found = prequential(Clasher(rule=rule, weighting=weighting), stream)
            yield {"corpus": stream.name, "rule": rule, "weighting": weighting} | found.to_dict()


# ── memory and time ──────────────────────────────────────────────────────────────────────────────


def costs(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Measure bytes and time relative to TF-IDF, which takes turns with each of the others.

    Documents are hashed before: hashing is the same for all.
    """
    truth = LabelSets.of(stream.labels)
    for rule in RULES:
        hashed = Clasher(rule=rule).hash_many(stream.texts)
        for weighting in WEIGHTINGS[1:]:
            ratios, sizes = [], {}
            for _ in range(ROUNDS):
                taken = {}
                for name in ("tfidf", weighting):
                    model = Clasher(rule=rule, weighting=name)
                    taken[name], sizes[name] = _seconds(model, hashed, truth), model.nbytes
                ratios.append(taken[weighting] / taken["tfidf"])
            yield {
                "corpus": stream.name, "rule": rule, "weighting": weighting,
                "time": _rounded(median(ratios)),
                "memory": _rounded(sizes[weighting] / sizes["tfidf"]),
            }  # fmt: skip


def _seconds(model: Clasher, hashed: Hashed, truth: LabelSets) -> float:
    start = time.perf_counter()
    for at in range(0, hashed.documents, BATCH):
        stop = min(at + BATCH, hashed.documents)
        model.step_many(hashed.part(at, stop), truth[at:stop])
    return time.perf_counter() - start


# ── depth ────────────────────────────────────────────────────────────────────────────────────────


def depths(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Measure F1 and the errors of document frequencies with sketches of one to four rows."""
    vocabulary = Vocabulary(stream)
    truth = vocabulary.frequencies
    for m in NARROW:
        for depth, conservative in DEPTHS:
            model = Clasher(m, depth=depth, conservative=conservative)
            found = prequential(model, stream)
            rows = [
                model.state.frequencies[row, _buckets(model, vocabulary.keys, row)]
                for row in range(depth)
            ]
            excess = np.min(rows, axis=0) - truth
            yield {
                "corpus": stream.name, "m": m, "depth": depth, "conservative": conservative,
                "error": _rounded(np.mean(excess / truth)),
                "idf_error": _rounded(np.mean(np.log1p(excess / truth))),
            } | found.to_dict()  # fmt: skip


def _rounded(value: float) -> float:
    return round(float(value), 4) if math.isfinite(value) else math.nan


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """The tables of the page."""
    return {
        "correlations": _correlation_table(found["correlations"]),
        "scores": _score_table(found["scores"]),
        "costs": _cost_table(found["costs"]),
        "errors": _depth_table(found["depths"], "error"),
        "depths": _depth_table(found["depths"], "f1"),
    }


def _values(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return distinct(row[name] for row in rows)


def _correlation_table(rows: list[dict[str, Any]]) -> str:
    widths = _values(rows, "m")
    lines = []
    for corpus in _values(rows, "corpus"):
        for weighting in _values(rows, "weighting"):
            mine = [r for r in rows if (r["corpus"], r["weighting"]) == (corpus, weighting)]
            stale = NONE if mine[-1]["staleness"] is None else f"{mine[-1]['staleness']:.3f}"
            cells = [f"{r['pearson']:.2f} / {r['spearman']:.2f}" for r in mine]
            lines.append([corpus, weighting, *cells, stale])
    heads = ["corpus", "weighting", *(f"m = {m:,}" for m in widths), "cached vs fresh"]
    return markdown(heads, lines)


def _score_table(rows: list[dict[str, Any]]) -> str:
    corpora = _values(rows, "corpus")
    lines = []
    for rule in _values(rows, "rule"):
        for weighting in _values(rows, "weighting"):
            mine = [r for r in rows if (r["rule"], r["weighting"]) == (rule, weighting)]
            mean = {k: float(np.mean([r[k] for r in mine])) for k in ("macro_f1", "micro_f1")}
            lines.append([rule, weighting, *map(both_f1, mine), both_f1(mean)])
    return markdown(["rule", "weighting", *corpora, "mean"], lines)


def _cost_table(rows: list[dict[str, Any]]) -> str:
    corpora = _values(rows, "corpus")
    lines = []
    for rule in _values(rows, "rule"):
        for weighting in _values(rows, "weighting"):
            mine = [r for r in rows if (r["rule"], r["weighting"]) == (rule, weighting)]
            cells = [f"{r['memory']:.2f} / {r['time']:.1f}" for r in mine]
            lines.append([rule, weighting, *cells])
    return markdown(["rule", "weighting", *corpora], lines)


def _depth_table(rows: list[dict[str, Any]], what: str) -> str:
    corpora = _values(rows, "corpus")
    lines = []
    for m in _values(rows, "m"):
        for depth, conservative in DEPTHS:
            key = m, depth, conservative
            mine = [r for r in rows if (r["m"], r["depth"], r["conservative"]) == key]
            name = f"{depth}, conservative" if conservative else str(depth)
            errors = [f"{r['error']:.2f} ({r['idf_error']:.2f})" for r in mine]
            lines.append([f"{m:,}", name, *(errors if what == "error" else map(both_f1, mine))])
    return markdown(["m", "depth", *corpora], lines)
