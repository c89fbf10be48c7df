"""The arrays of a model: how many bytes they take, how they grow, how a label is cleared."""

from __future__ import annotations

import numpy as np

from clasher.kernels.clash import VECTOR
from clasher.kernels.margin import BIAS_START, ODDS_START, SHARED_START
from clasher.kernels.regions import copy_rows
from clasher.kernels.scan import LONGEST
from clasher.kernels.state import BINS, BLOCKS, LABELS, NOW, RECENT, State, Work
from clasher.settings import MEASURES, Settings

FIRST_CAPACITY = 32
LATE_BUCKETS = 256  # room for so many buckets per document that waits for its labels

LABEL_AXIS = {
    "rows": 2, "counts": 0, "norms": 0, "scales": 0, "together": 1, "seen": 0, "bias": 1,
    "classes": 1, "members": 1, "gains": 0, "blocks": 0,
}  # fmt: skip
"""The last axis of each array that runs over labels (``together`` has two of them)."""


def shapes(settings: Settings, capacity: int) -> dict[str, tuple[tuple[int, ...], type]]:
    """Shape and type of every array of a model with room for ``capacity`` labels."""
    m = settings.dimensions
    margin = settings.rule == "margin"
    regions = capacity if settings.rule != "perceptron" else 0
    by_class = settings.weighting in MEASURES
    named = m if settings.keeps_words else 0
    taught = m if margin and capacity else 0  # by labels
    return (
        {
            "totals": ((3,), np.int64),
            "frequencies": ((settings.depth, m), np.float64),
            "rows": ((m, 2 if margin else 1, capacity), np.float32),
            "counts": ((capacity,), np.float64),
            "norms": ((capacity,), np.float64),
            "scales": ((capacity,), np.float64),
            "together": ((regions, regions), np.float32),
            "seen": ((capacity,), np.int64),
            "squares": ((taught,), np.float32),
            "bias": ((2, capacity), np.float64),
            "shared": ((2, len(SHARED_START)), np.float64),
            "margins": ((2, BINS), np.float64),
            "cut": ((1,), np.float64),
            "bests": ((2, BINS), np.float64),
            "floor": ((1,), np.float64),
            "odds": ((2,), np.float64),
            "classes": ((m, capacity) if by_class else (0, 0), np.float32),
            "members": ((2, capacity) if by_class else (0, 0), np.float64),
            "terms": ((2, m) if by_class else (0, 0), np.float64),
            "clock": ((2,), np.float64),
            "gains": ((capacity,), np.float64),
            "word_keys": ((named,), np.uint64),
            "word_votes": ((named,), np.int64),
            "words": ((named, LONGEST), np.uint8),
        }
        | late_shapes(settings)
        | watch_shapes(settings, capacity)
    )


def watch_shapes(settings: Settings, capacity: int) -> dict[str, tuple[tuple[int, ...], type]]:
    """Room for what a change detector looks at."""
    watching = settings.detector != "none"
    documents, buckets, labels = RECENT if watching else (0, 0, 0)
    return {
        "blocks": ((capacity, BLOCKS + 1, 2) if watching else (0, 0, 0), np.float32),
        "all_blocks": ((1, BLOCKS + 1, 2) if watching else (0, 0, 0), np.float32),
        "recent_buckets": ((documents, buckets), np.int32),
        "recent_x": ((documents, buckets), np.float32),
        "recent_labels": ((documents, labels), np.int32),
    }


def late_shapes(settings: Settings) -> dict[str, tuple[tuple[int, ...], type]]:
    """Room for the documents that wait for their labels; any single one finds room."""
    documents = settings.pending
    buckets = max(documents * LATE_BUCKETS, settings.dimensions) if documents else 0
    return {
        "late_keys": ((documents, 2), np.int64),
        "late_spans": ((documents, 2), np.int64),
        "late_buckets": ((buckets,), np.int32),
        "late_counts": ((buckets,), np.float32),
        "late_marks": ((5 if documents else 0,), np.int64),
    }


def nbytes(settings: Settings, labels: int) -> int:
    """Bytes of a model that holds ``labels`` labels: known before a document is read."""
    return sum(
        int(np.prod(shape)) * np.dtype(kind).itemsize
        for shape, kind in shapes(settings, capacity_for(labels, settings.max_labels)).values()
    )


def capacity_for(labels: int, max_labels: int) -> int:
    """Room for ``labels`` labels, in steps of half as much again and whole vectors."""
    most = -(-max_labels // VECTOR) * VECTOR
    capacity = min(FIRST_CAPACITY, most)
    while capacity < labels:
        capacity = min(-(-capacity * 3 // 2 // VECTOR) * VECTOR, most)
    return capacity


def allocate(settings: Settings, labels: int = 0) -> State:
    """A state that has learnt nothing."""
    capacity = capacity_for(labels, settings.max_labels)
    state = State(**{k: np.zeros(*v) for k, v in shapes(settings, capacity).items()})
    state.clock[NOW] = 1.0
    state.gains[:] = 1.0
    state.floor[:] = -np.inf
    state.recent_buckets[:] = -1
    state.recent_labels[:] = -1
    if settings.rule == "margin":
        state.bias[0] = BIAS_START
        state.shared[0] = SHARED_START
        state.odds[:] = ODDS_START
    return state


def without_labels(state: State, settings: Settings) -> State:
    """The same state, all that is about labels left out: the word statistics remain."""
    kept = state._asdict()
    kept["totals"] = state.totals.copy()
    kept["totals"][1:] = 0
    for name, (shape, kind) in shapes(settings, 0).items():
        if kept[name].shape != shape:
            kept[name] = np.zeros(shape, kind)
    return State(**kept)


def grow(state: State, settings: Settings, labels: int) -> State:
    """The same state with room for ``labels`` labels."""
    if labels <= len(state.counts):
        return state
    grown = allocate(settings, labels)
    for name, array in state._asdict().items():
        target = getattr(grown, name)
        if name == "rows":
            copy_rows(array, target, state.frequencies[0])
        elif name == "classes" and array.size:
            copy_rows(array[:, None], target[:, None], state.frequencies[0])
        else:
            target[tuple(slice(0, n) for n in array.shape)] = array
    return grown


def clear_label(state: State, number: int, settings: Settings) -> None:
    """Forget all that is known of one label, so that its number can be given away."""
    if settings.weighting == "icf":
        state.terms[1] -= state.classes[:, number] > 0  # the labels that words came with
    for name, axis in LABEL_AXIS.items():
        array = getattr(state, name)
        if array.size:
            array[(slice(None),) * axis + (number,)] = 0
    if state.together.size:
        state.together[number] = 0
    state.gains[number] = 1.0
    state.recent_labels[state.recent_labels == number] = -1
    if settings.rule == "margin":
        state.bias[0, number] = BIAS_START


def move_label(state: State, source: int, target: int) -> None:
    """Write all that is known of one label over another."""
    if state.together.size:
        state.together[target] = state.together[source]
    for name, axis in LABEL_AXIS.items():
        array = getattr(state, name)
        if array.size:
            before = (slice(None),) * axis
            array[(*before, target)] = array[(*before, source)]
    state.recent_labels[state.recent_labels == target] = -1
    state.recent_labels[state.recent_labels == source] = target


def work_for(state: State, words: int = 0) -> Work:
    """Scratch space for one thread, and documents of so many distinct words."""
    capacity = len(state.counts)
    depth, m = state.frequencies.shape
    return Work(
        x=np.empty(m, np.float32),
        frequencies=np.empty(m if depth > 1 else 0, np.float64),
        estimates=np.empty(words, np.float64),
        products=np.empty(capacity, np.float32),
        linear=np.empty(capacity, np.float32),
        cosines=np.empty(capacity, np.float64),
        fractions=np.empty(capacity, np.float64),
        looks=np.empty(capacity, np.float64),
        slopes=np.empty(state.shared.shape[1], np.float64),
        squares=np.empty(len(state.squares), np.float32),
        weights=np.empty(len(state.squares), np.float32),
        scores=np.empty(capacity, np.float64),
        truth=np.empty(capacity, np.int8),
        chosen=np.empty(capacity, np.int32),
    )


def longest_unseen(state: State, spared: set[int]) -> int:
    """The number of the label that was spoken of least recently, ``spared`` ones excepted."""
    seen = state.seen[: state.totals[LABELS]].astype(np.float64)
    seen[list(spared)] = np.inf
    return int(np.argmin(seen))
