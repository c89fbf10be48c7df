"""Measure the value and cost of each text-analysis step, and the words kept for buckets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.tables import f1, markdown
from clasher import Analyzer, Clasher
from clasher.text.hashing import Hasher
from experiments.prequential import BATCH, prequential
from support.corpora import Corpus

STEPS: dict[str, dict[str, Any]] = {
    "plain": {},
    "stop words": {"stop_words": "english"},
    "stems": {"stemmer": "english"},
    "stop words and stems": {"stop_words": "english", "stemmer": "english"},
    "pairs of words": {"ngrams": 2},
    "character n-grams, 3 to 5": {"char_ngrams": (3, 5)},
    "folded numbers": {"fold_numbers": True},
    "marks, letters, pairs of short texts": {"marks": True, "min_length": 1, "pairs": 40},
}
RULES = ("margin", "centroid")
MOST = 40_000  # documents per corpus, from the start
TIMED = 10_000  # documents whose hashing is timed
ROUNDS = 5
LABELS, WORDS = 5, 6  # most frequent labels, and words of each


def scores(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Measure macro and micro F1 of each step and rule."""
    stream = stream.head(MOST)
    for step, how in STEPS.items():
        for rule in RULES:
            model = Clasher(rule=rule, analyzer=Analyzer(**how))
            found = prequential(model, stream).to_dict()
            about = {"corpus": stream.name, "documents": len(stream)}
            yield about | {"step": step, "rule": rule, **found}


def costs(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Measure buckets per document, and hashing time relative to the plain scan."""
    texts = stream.head(TIMED).texts
    hashers = {step: Hasher(65536, 0, Analyzer(**how)) for step, how in STEPS.items()}
    for hasher in hashers.values():
        _seconds(hasher, texts[:100])
    rounds = [{step: _seconds(h, texts) for step, h in hashers.items()} for _ in range(ROUNDS)]
    for step, hasher in hashers.items():
        yield {
            "corpus": stream.name,
            "step": step,
            "buckets": round(len(hasher.hash_many(texts).buckets) / len(texts), 1),
            "time": round(median(one[step] / one["plain"] for one in rounds), 1),
        }


def _seconds(hasher: Hasher, texts: Any) -> float:
    """Return processor seconds, which do not depend on other processes."""
    start = time.process_time()
    for _ in hasher.batches(texts, BATCH):
        pass
    return time.process_time() - start


def words(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Find the words of labels, how reliable kept words are, and what they cost."""
    stream = stream.head(MOST)
    model = Clasher(words=True)
    model.learn_many(stream.texts, stream.labels)
    exact = model.hash_many(stream.texts)
    documents = np.repeat(np.arange(exact.documents), np.diff(exact.words.indptr))
    buckets = exact.buckets[exact.indptr[documents] + exact.words.places]
    kept = model.state.word_keys[buckets] == exact.words.keys
    frequent = sorted(model.support.items(), key=lambda pair: -pair[1])[:LABELS]
    yield {
        "corpus": stream.name,
        "kept": round(float(kept.mean()), 4),
        "buckets": round(float(np.mean(model.state.word_votes > 0)), 4),
        "time": round(_time_of_words(stream.head(TIMED)), 2),
        "labels": {
            label: [word for word, _ in model.top_words(label, WORDS)] for label, _ in frequent
        },
    }


def _time_of_words(stream: Corpus) -> float:
    """Return the processor time of test-then-train with words, relative to that without."""
    ratios = []
    for _ in range(ROUNDS):
        seconds = {}
        for kept in (False, True):
            model = Clasher(words=kept)
            start = time.process_time()
            model.step_many(stream.texts, stream.labels)
            seconds[kept] = time.process_time() - start
        ratios.append(seconds[True] / seconds[False])
    return median(ratios)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """The tables of ``text.md``."""
    sizes = {row["corpus"]: row["documents"] for row in found["scores"]}
    names = list(sizes)
    heads = [f"{name} ({documents:,})" for name, documents in sizes.items()]
    tables = {
        rule: markdown(["step", *heads, "mean"], list(_score_rows(found["scores"], names, rule)))
        for rule in RULES
    }
    return tables | {
        "costs": markdown(["step", *names], list(_cost_rows(found["costs"], names))),
        "kept": markdown(["", *names], list(_kept_rows(found["words"]))),
        "labels": markdown(["corpus", "label", "words"], list(_label_rows(found["words"]))),
    }


def _score_rows(scores: list[dict[str, Any]], names: list[str], rule: str) -> Iterator[list[str]]:
    for step in STEPS:
        rows = [r for r in scores if r["step"] == step and r["rule"] == rule]
        by_name = {row["corpus"]: row for row in rows}
        macro = [by_name[name]["macro_f1"] for name in names]
        micro = [by_name[name]["micro_f1"] for name in names]
        pairs = zip([*macro, np.mean(macro)], [*micro, np.mean(micro)], strict=True)
        yield [step, *(f"{f1(a)} / {f1(b)}" for a, b in pairs)]


def _cost_rows(costs: list[dict[str, Any]], names: list[str]) -> Iterator[list[str]]:
    for step in STEPS:
        by_name = {row["corpus"]: row for row in costs if row["step"] == step}
        cells = (f"{by_name[n]['buckets']:.0f} / {by_name[n]['time']:.1f}" for n in names)
        yield [step, *cells]


def _kept_rows(tables: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["buckets with a word", *(f"{table['buckets']:.0%}" for table in tables)]
    yield ["occurrences of the kept word", *(f"{table['kept']:.0%}" for table in tables)]
    yield ["processor time (1 = without words)", *(f"{table['time']:.2f}" for table in tables)]


def _label_rows(tables: list[dict[str, Any]]) -> Iterator[list[str]]:
    for table in tables:
        for label, found in table["labels"].items():
            yield [table["corpus"], label, ", ".join(found)]
