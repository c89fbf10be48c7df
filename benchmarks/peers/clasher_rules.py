"""Run clasher on raw text: from memory on one thread, or end to end from a JSON-lines file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.ranked import BEST
from clasher.settings import PAPER

BATCH = 1000
WARM_UP = 200  # documents for a first model, to keep compilation off the clock

Reader = Callable[[Any, pa.StringArray], Any]
"""Turns texts into documents for a model."""

RULES: dict[str, dict[str, Any]] = {
    "margin": {"rule": "margin"},
    "centroid": {"rule": "centroid"},
    "mistake": {"rule": "mistake"},
    "perceptron": {"rule": "perceptron"},
    "paper-1": {"mode": 1},
    "paper-2": {"mode": 2},
    "paper-perceptron": {"rule": "perceptron", **PAPER},
}

TITLES = {
    "paper-1": "as in the paper, mode 1",
    "paper-2": "as in the paper, mode 2",
    "paper-perceptron": "perceptron as in the paper",
}
"""Names of rules in tables, where they differ."""


def build(settings: dict[str, Any]) -> Any:
    """Make a model; ``mode`` selects the paper's settings."""
    from clasher import Clasher

    return Clasher.paper(**settings) if "mode" in settings else Clasher(**settings)


def from_memory(settings: dict[str, Any], task: Task, record: Record) -> None:
    """Step through Arrow columns batch by batch."""
    walk(settings | task.options, lambda model, texts: texts, task, record)


def walk(settings: dict[str, Any], read: Reader, task: Task, record: Record) -> None:
    """Step a model through the stream batch by batch, on the clock."""
    from clasher import LabelSets

    texts, given = task.corpus.texts, task.given
    _warm_up(settings, read, task)
    model = build(settings)
    with record:
        for part in record.parts(BATCH):
            documents = read(model, texts[part])
            if task.test_from is not None and part.start >= task.test_from:
                record.predicted(part, *_predict(model, documents, task))
            else:
                record.predicted(part, *_step(model, documents, LabelSets.of(given[part]), task))
    record.more["state_bytes"] = model.nbytes


def _warm_up(settings: dict[str, Any], read: Reader, task: Task) -> None:
    model = build(settings)
    documents = read(model, task.corpus.texts[:WARM_UP])
    _step(model, documents, task.given[:WARM_UP], task)
    _predict(model, documents, task)


def _step(model: Any, documents: Any, labels: Any, task: Task) -> tuple[Any, ...]:
    """Predict, then learn; return label sets, and rankings if the task asks for them."""
    if task.ranked:
        return cast(tuple[Any, ...], model.step_and_rank_many(documents, labels, k=BEST))
    return (model.step_many(documents, labels),)


def _predict(model: Any, documents: Any, task: Task) -> tuple[Any, ...]:
    if task.ranked:
        return model.predict_many(documents), model.rank_many(documents, BEST)
    return (model.predict_many(documents),)


def end_to_end(settings: dict[str, Any], task: Task, record: Record) -> None:
    """Evaluate a JSON-lines file as the command line does; reading and parsing are timed."""
    from clasher.metrics import Figures

    settings = settings | task.options
    path = task.file(f"stream-{len(task)}.jsonl", write_json_lines)
    _evaluate(settings, path, WARM_UP)
    path.read_bytes()  # into the page cache
    with record:
        model, evaluation = _evaluate(settings, path, len(task))
    record.reached = evaluation.documents
    judged = ["judged", "labels", *(figure.name for figure in fields(Figures))]
    record.more |= {name: getattr(evaluation, name) for name in judged}
    record.more["state_bytes"] = model.nbytes


def _evaluate(settings: dict[str, Any], path: Path, limit: int) -> tuple[Any, Any]:
    from clasher.evaluate import evaluate
    from clasher.io.files import open_stream

    model = build(settings)
    batches = open_stream([path], batch_size=BATCH, limit=limit)
    return model, evaluate(model, ((batch.texts, batch.labels) for batch in batches))


def write_json_lines(task: Task, path: Path) -> None:
    """Write one JSON object per document: id, text, labels."""
    with path.open("w", encoding="utf-8") as file:
        for number, (text, labels) in enumerate(task.documents()):
            document = {"id": str(number), "text": text, "labels": labels}
            file.write(json.dumps(document, ensure_ascii=False) + "\n")


def call(settings: dict[str, Any]) -> str:
    """Return the Python call that makes the model."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"Clasher{'.paper' if 'mode' in settings else ''}({arguments})"


def _system(rule: str, whole: bool) -> System:
    settings = RULES[rule]
    return System(
        name=f"clasher-{rule}{'-end-to-end' if whole else ''}",
        title=f"clasher {TITLES.get(rule, rule)}",
        library="clasher",
        settings=call(settings),
        run=partial(end_to_end if whole else from_memory, settings),
        tiny={"dimensions": 1024},
    )


SYSTEMS = [_system(rule, whole) for rule in RULES for whole in (False, True)]
