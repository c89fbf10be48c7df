"""Run clasher without hashing: the same rules on exact TF-IDF, with a known vocabulary.

Every term of the stream has its own dimension and the sign +1: a hash without collisions, the limit
of the hashed representation as its dimensions grow. The vocabulary, known only at the end of a
stream, is collected before the clock starts; splitting and looking up words is timed, like hashing.
Memory grows with vocabulary × labels. A stream that needs more than ``MOST_BYTES`` is refused,
because leaving out rare words would not be exact.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.clasher_rules import BATCH, RULES, TITLES, build, call, walk
from benchmarks.peers.terms import Terms

MOST_BYTES = 4e9
WITHOUT_HASHING = ("paper-1", "paper-2", "margin", "centroid", "mistake")
"""The rules that can run without hashing."""


def run(settings: dict[str, Any], task: Task, record: Record) -> None:
    """Collect all words, then step through the stream."""
    settings = settings | task.options
    terms = vocabulary(settings, task)
    settings |= {"dimensions": max(2, len(terms))}
    _check_memory(settings, task)
    walk(settings, partial(unhashed, terms), task, record)
    record.more["terms"] = len(terms)


def vocabulary(settings: dict[str, Any], task: Task) -> Terms:
    """Collect all terms that a model with these settings reads in the stream."""
    terms = Terms(build(settings | {"dimensions": 2}).settings.analyzer)
    for start in range(0, len(task), BATCH):
        terms.count(task.corpus.texts[start : start + BATCH])
    return terms


def unhashed(terms: Terms, model: Any, texts: pa.StringArray) -> Any:
    """Make documents for the model: the bucket of a term is its number."""
    from clasher.text.hashing import Hashed, HashedWords

    counted = terms.count(texts)
    made_by = model.hash_many([]).analysis  # as if the model had hashed them itself
    return Hashed(*counted, HashedWords.none(len(texts)), made_by)


def _check_memory(settings: dict[str, Any], task: Task) -> None:
    from clasher.learning import memory

    labels = len(task.corpus.label_names)
    needed = memory.nbytes(build(settings).settings, labels)
    if needed > MOST_BYTES:
        raise MemoryError(
            f"{settings['dimensions']:,} terms × {labels:,} labels of {task.corpus.name} take "
            f"{needed / 1e9:.1f} GB, more than {MOST_BYTES / 1e9:.0f}; use fewer documents"
        )


SYSTEMS = [
    System(
        name=f"exact-{rule}",
        title=f"clasher {TITLES.get(rule, rule)}, without hashing",
        library="clasher",
        settings=f"{call(RULES[rule])} on exact counts: dimensions = vocabulary",
        run=partial(run, RULES[rule]),
    )
    for rule in WITHOUT_HASHING
]
