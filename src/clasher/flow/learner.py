"""Apply arrivals to the state: predict and learn documents, join labels to documents."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from clasher.errors import LabelCapacityError, NotLearntError
from clasher.flow import windows
from clasher.flow.state import FlowState
from clasher.io.protocol import Chunk, Poison
from clasher.io.records import Batch, Id
from clasher.io.writers import sorted_lists
from clasher.labels import UNLABELLED, LabelSets
from clasher.model import Clasher
from clasher.text.hashing import Hashed


class Documents(NamedTuple):
    """A chunk of documents, hashed, with digests of the documents and their labels."""

    chunk: Chunk
    hashed: Hashed
    digests: list[bytes]
    labels: list[bytes]


class Predicted(NamedTuple):
    """The outputs: documents with their predicted labels, and dead letters."""

    records: Batch
    labels: list[list[str]]
    poison: list[Poison]


def prepare(chunk: Chunk, source: str, model: Clasher, remember: int) -> Documents:
    """Hash and digest documents ahead of their turn, without the state."""
    records = chunk.records
    digests = windows.document_digests(records, source) if remember else [b""] * len(records)
    labels = windows.label_set_digests(records.labels) if remember else []
    return Documents(chunk, model.hash_many(records.texts), digests, labels)


def learn(state: FlowState, documents: Documents, source: str, *, joining: bool) -> Predicted:
    """Predict and learn documents; if labels are ``joining`` them, unlabelled ones wait."""
    records, hashed = documents.chunk.records, documents.hashed
    places = state.seen.new(documents.digests, documents.labels)
    if len(places) < len(records):  # the others came before with the same labels
        state.counts.duplicates += len(records) - len(places)
        records = records.only(places)
        hashed = state.model.hash_many(records.texts)
    if joining:
        records = _with_early_labels(state, records)
    poison = list(documents.chunk.poison)
    records, lists = _step(state, hashed, records, source, poison, joining)
    is_labelled = records.labels.known != UNLABELLED
    if joining:
        for at in np.flatnonzero(~is_labelled).tolist():
            state.window.predict(records.ids[at], lists[at])
    state.counts.documents += len(records)
    state.counts.labelled += int(np.count_nonzero(is_labelled))
    state.counts.poison += len(poison)
    state.positions[source] = documents.chunk.position
    return Predicted(records, lists, poison)


def join(state: FlowState, chunk: Chunk, source: str) -> list[Poison]:
    """Learn the labels of waiting documents; return dead letters."""
    records = chunk.records
    poison = list(chunk.poison)
    new = state.seen_labels.new(windows.label_digests(records, source))
    state.counts.duplicates += len(records) - len(new)
    for at in new:
        poison += _join_one(state, records.ids[at], records.labels[at : at + 1], source)
    state.counts.poison += len(poison)
    state.positions[source] = chunk.position
    return poison


def _with_early_labels(state: FlowState, records: Batch) -> Batch:
    sets = records.labels
    if not state.window.early:
        return records
    found = {
        at: labels
        for at in np.flatnonzero(sets.known == UNLABELLED).tolist()
        if (labels := state.window.take_labels(records.ids[at])) is not None
    }
    if not found:
        return records
    sets = LabelSets.of([found.get(at, sets.as_given(at)) for at in range(len(sets))])
    return Batch(records.ids, records.texts, sets)


def _step(
    state: FlowState,
    hashed: Hashed,
    records: Batch,
    source: str,
    poison: list[Poison],
    joining: bool,
) -> tuple[Batch, list[list[str]]]:
    """Learn documents together; if there are too many labels, one by one without the offenders."""
    sets = records.labels
    ids = [str(own) for own in records.ids] if joining else None
    try:
        return records, sorted_lists(state.step(hashed, sets, ids))
    except LabelCapacityError:
        pass
    kept, lists = [], []
    for at, own in enumerate(records.ids):
        one = slice(at, at + 1)
        try:
            lists += sorted_lists(state.step(hashed.part(at, at + 1), sets[one], ids and ids[one]))
            kept.append(at)
        except LabelCapacityError as error:
            poison.append(Poison(source, own, str(error), records.texts[at].as_py().encode()))
    return records.only(kept), lists


def _join_one(state: FlowState, own: Id, truth: LabelSets, source: str) -> list[Poison]:
    labels = truth.as_given(0)
    if labels is None:
        return [Poison(source, own, "it has no labels")]
    try:
        state.model.learn_later(str(own), labels)
    except NotLearntError:
        plain = labels if isinstance(labels, dict) else sorted(labels)
        if (gone := state.window.keep(own, plain, source)) is None:
            return []
        state.counts.unmatched += 1
        name, (late, stream) = gone
        problem = f"no document {name!r} came in time: {state.window.most:,} labels may wait"
        return [Poison(stream, name, problem, msgspec.json.encode(late))]
    except LabelCapacityError as error:
        return [Poison(source, own, str(error))]
    state.counts.joined += 1
    state.adopt()
    predicted = state.window.take_prediction(own)
    if predicted is not None:
        known = LabelSets.of([state.labels.known(predicted)])
        state.quality.judge(truth, known, state.labels.number)
    state.drop_evicted()
    return []
