"""clasher, raw text in: from memory on one thread, and end to end from a JSON-lines file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.compute as pc

from benchmarks.corpora import Corpus
from benchmarks.measure import Measured, measured, memory_now
from benchmarks.peers.base import Outcome, System, Task

BATCH = 1000
WARM_UP = 200  # documents that a throw-away model sees first, so that compilation is not timed

RULES: dict[str, dict[str, Any]] = {
    "margin": {"rule": "margin"},
    "centroid": {"rule": "centroid"},
    "mistake": {"rule": "mistake"},
    "perceptron": {"rule": "perceptron"},
    "paper-1": {"mode": 1},
    "paper-2": {"mode": 2},
}


def build(settings: dict[str, Any]) -> Any:
    """A model: ``mode`` asks for the paper's settings."""
    from clasher import Clasher

    return Clasher.paper(**settings) if "mode" in settings else Clasher(**settings)


def from_memory(settings: dict[str, Any], task: Task) -> Outcome:
    """Step through Arrow columns batch by batch, predictions judged on the way."""
    from clasher.metrics import Metrics

    settings = settings | task.options
    corpus = task.prepared.corpus(task.limit)
    for _ in _tenths(build(settings), Metrics(), corpus.head(WARM_UP)):
        pass
    model, metrics = build(settings), Metrics()
    with measured() as took:
        tenths = list(_tenths(model, metrics, corpus))
    return _outcome(took, metrics, {"state_bytes": model.nbytes, "tenths": tenths})


def _tenths(model: Any, metrics: Any, corpus: Corpus) -> Iterator[dict[str, float]]:
    """Run the stream through the model; tell of each tenth what it took and where it stood."""
    bounds = np.linspace(0, len(corpus), 11).astype(int).tolist()
    for start, stop in pairwise(bounds):
        began = time.perf_counter()
        for first in range(start, stop, BATCH):
            part = slice(first, min(first + BATCH, stop))
            _step(model, metrics, corpus.texts[part], corpus.labels[part])
        yield {
            "documents": stop - start,
            "seconds": time.perf_counter() - began,
            "labels": len(model.labels),
            "memory_bytes": memory_now(),
            "text_bytes": pc.sum(pc.binary_length(corpus.texts[start:stop])).as_py() or 0,
        }


def _step(model: Any, metrics: Any, texts: Any, labels: Any) -> None:
    from clasher import LabelSets

    truth = LabelSets.of(labels)
    metrics.update_many(truth, model.step_many(texts, truth))


def end_to_end(settings: dict[str, Any], task: Task) -> Outcome:
    """Evaluate a JSON-lines file as the command line does: reading, parsing, hashing and all."""
    settings = settings | task.options
    _evaluate(settings, task, WARM_UP)
    task.prepared.json_lines.read_bytes()  # into the page cache
    with measured() as took:
        model, evaluation = _evaluate(settings, task, task.limit)
    return _outcome(took, evaluation, {"state_bytes": model.nbytes})


def _evaluate(settings: dict[str, Any], task: Task, limit: int | None) -> tuple[Any, Any]:
    from clasher.evaluate import evaluate
    from clasher.io.files import open_stream

    model = build(settings)
    batches = open_stream([task.prepared.json_lines], batch_size=BATCH, limit=limit)
    return model, evaluate(model, ((batch.texts, batch.labels) for batch in batches))


def _outcome(took: Measured, figures: Any, more: dict[str, Any]) -> Outcome:
    labels = figures.labels if isinstance(figures.labels, int) else len(figures.labels)
    return Outcome(took, figures.documents, labels, figures.macro_f1, figures.micro_f1, more)


def _call(settings: dict[str, Any]) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"Clasher{'.paper' if 'mode' in settings else ''}({arguments})"


def _system(rule: str, whole: bool) -> System:
    settings = RULES[rule]
    return System(
        name=f"clasher-{rule}{'-end-to-end' if whole else ''}",
        title=f"clasher {rule.replace('paper-', 'as in the paper, mode ')}",
        library="clasher",
        settings=_call(settings),
        run=partial(end_to_end if whole else from_memory, settings),
    )


SYSTEMS = [_system(rule, whole) for rule in RULES for whole in (False, True)]
