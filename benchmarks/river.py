"""Compare clasher inside River with River's own pipeline, taking turns in one process.

python -m benchmarks.river                    all streams, then docs/reference/performance.md
python -m benchmarks.river goemotions         one stream; keeps the figures of the others

Every way runs River's ``evaluate.progressive_val_score`` loop: predict a document, then learn it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.peers.river_pipeline import DIMENSIONS, RATES, build
from benchmarks.study import Study
from support import corpora
from support.corpora import Corpus

ROUNDS = 3
STREAMS = ("goemotions", "reuters21578", "arxiv")
OURS = ("text", "features", "batches")
WAYS = (*OURS, *(f"river-{rate}" for rate in RATES))
Stream = list[tuple[str, dict[str, bool]]]
STUDY = Study("river", __doc__, ("clasher", "numpy", "numba", "river"))


def compare(corpus: Corpus) -> dict[str, Any]:
    """Measure documents per second of each way, and its scores in the last round."""
    stream = documents(corpus)
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    scores: dict[str, dict[str, float]] = {}
    _run("text", stream[:50])  # compiles the kernels
    _run("features", stream[:50])
    for _ in range(ROUNDS):
        for way in WAYS:
            seconds, scores[way] = _run(way, stream)
            rates[way].append(len(stream) / seconds)
    return {
        "documents": len(stream),
        "labels": len(corpus.label_names),
        "rates": rates,
        "scores": scores,
    }


def documents(corpus: Corpus) -> Stream:
    """Convert labels for River: a boolean for every label of the corpus."""
    names = corpus.label_names
    rows = zip(corpus.texts.to_pylist(), corpus.labels.to_pylist(), strict=True)
    return [(text, {name: name in set(labels) for name in names}) for text, labels in rows]


def _run(way: str, stream: Stream) -> tuple[float, dict[str, float]]:
    """Predict, then learn each document; compute the scores after stopping the clock."""
    from river import metrics

    measures = {
        "micro_f1": metrics.multioutput.MicroAverage(metrics.F1()),
        "macro_f1": metrics.multioutput.MacroAverage(metrics.F1()),
    }
    began = time.perf_counter()
    predicted = (_in_batches if way == "batches" else _one_by_one)(_model(way), stream)
    seconds = time.perf_counter() - began
    for (_, truth), found in zip(stream, predicted, strict=True):
        for measure in measures.values():
            measure.update(truth, {name: found.get(name, False) for name in truth})
    return seconds, {name: measure.get() for name, measure in measures.items()}


def _one_by_one(model: Any, stream: Stream) -> list[dict[str, bool]]:
    predicted = []
    for text, labels in stream:
        predicted.append(model.predict_one(text))
        model.learn_one(text, labels)
    return predicted


def _in_batches(model: Any, stream: Stream, size: int = 100) -> list[dict[str, bool]]:
    predicted = []
    for start in range(0, len(stream), size):
        texts, labels = zip(*stream[start : start + size], strict=True)
        predicted += model.predict_many(list(texts))
        model.learn_many(list(texts), list(labels))
    return predicted


def _model(way: str) -> Any:
    from river import feature_extraction

    from clasher.adapters.river import ClasherClassifier

    ways: dict[str, Callable[[], Any]] = {
        "text": lambda: ClasherClassifier(DIMENSIONS),
        "batches": lambda: ClasherClassifier(DIMENSIONS),
        "features": lambda: feature_extraction.TFIDF() | ClasherClassifier(DIMENSIONS),
        **{f"river-{rate}": lambda rate=rate: build("PerOutputClassifier", rate) for rate in RATES},
    }
    return ways[way]()


def main(arguments: list[str]) -> int:
    given = STUDY.parser(2_000, STREAMS).parse_args(arguments)

    def measure(part: str) -> dict[str, Any]:
        return compare(corpora.beginning(given.data, part, given.limit))

    STUDY.measure(given, STUDY.header(arguments, ROUNDS), STREAMS, measure, "rates")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
