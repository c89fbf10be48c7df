"""Runs of systems in this process, for tests."""

from __future__ import annotations

import shutil
from typing import Any

import pyarrow as pa

from benchmarks.measure import version
from benchmarks.peers import SYSTEMS, hoeffding_trees, jvm
from benchmarks.peers.base import Record, Task
from support.corpora import Corpus
from support.environment import missing

OIL, GAS, RAIN = "crude oil barrel well", "gas pipe heat cubic", "rain cloud wind storm"


def needs(library: str) -> None:
    """Skip without a library of the peers, but never on the build machine."""
    if version(library) == "not installed":
        remedies = {system.library: system.remedy for system in SYSTEMS.values()}
        remedy = remedies.get(library, "pip install 'clasher[bench,embeddings]'")
        missing(f"{library} is not installed: {remedy}")
    if library == hoeffding_trees.LIBRARY and shutil.which("javac") is None:
        missing(f"there is no javac: {jvm.REMEDY}")


def corpus(*documents: tuple[str, list[str]]) -> Corpus:
    """Make a stream of texts and labels."""
    texts, labels = zip(*documents, strict=True)
    return Corpus("made-up", pa.array(texts), pa.array(labels, pa.list_(pa.string())), "as stored")


class KeptPredictions(Record):
    """A record that keeps the predictions and rankings."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.labels: list[list[str]] = []
        self.best: list[list[str]] = []

    def predicted(self, part: slice, labels: Any, ranked: Any = None) -> None:
        super().predicted(part, labels, ranked)
        plain = labels.to_pylist() if isinstance(labels, pa.Array) else labels
        self.labels += [sorted(plain[i] or ()) for i in range(part.stop - part.start)]
        self.best += [] if ranked is None else list(ranked)


def kept(system: str, task: Task) -> KeptPredictions:
    """Return the record of a run."""
    needs(SYSTEMS[system].library)
    record = KeptPredictions(task)
    SYSTEMS[system].run(task, record)
    return record


def run(system: str, task: Task) -> tuple[dict[str, Any], list[list[str]]]:
    """Return the figures of a run, and its predictions."""
    record = kept(system, task)
    return record.figures(), record.labels
