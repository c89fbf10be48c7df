"""The arrays of a model: their shapes, and how to allocate, grow, copy, cut and clear them.

Code that adds or drops room for labels goes through this module. ``kernels/state.py`` documents the
arrays themselves.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.kernels.clash import VECTOR
from clasher.kernels.margin import BIAS_START, ODDS_START, SHARED_START
from clasher.kernels.regions import copy_rows
from clasher.kernels.scan import LONGEST
from clasher.kernels.state import BINS, BLOCKS, LABELS, NOW, RECENT, State, Work
from clasher.settings import MEASURES, Settings

FIRST_CAPACITY = 32
LATE_BUCKETS = 256  # room for buckets per document that waits for its labels

LABEL_AXIS = {
    "rows": 2, "counts": 0, "norms": 0, "scales": 0, "together": 1, "seen": 0, "bias": 1,
    "classes": 1, "members": 1, "gains": 0, "blocks": 0,
}  # fmt: skip
"""The last label axis of each array that has one (``together`` has two)."""

SCRATCH = {
    "products": np.float32, "linear": np.float32, "cosines": np.float64, "fractions": np.float64,
    "looks": np.float64, "scores": np.float64, "truth": np.int8, "chosen": np.int32,
}  # fmt: skip
"""The arrays of ``Work`` with an entry per label."""

# Arrays that ``cut_labels`` leaves out: they relate all labels, or serve learning only.
LEFT_OUT = ("together", "classes", "blocks", "all_blocks")

Shapes: TypeAlias = dict[str, tuple[tuple[int, ...], type]]


def shapes(settings: Settings, capacity: int) -> Shapes:
    """Return shape and type of every array of a model with room for ``capacity`` labels."""
    m = settings.dimensions
    margin = settings.rule == "margin"
    regions = capacity if settings.rule != "perceptron" else 0
    by_class = settings.weighting in MEASURES
    named = m if settings.keeps_words else 0
    pending = settings.pending
    late = max(pending * LATE_BUCKETS, m) if pending else 0  # any single document fits
    watching = settings.detector != "none"
    recent, recent_buckets, recent_labels = RECENT if watching else (0, 0, 0)
    return {
        "totals": ((3,), np.int64),
        "frequencies": ((settings.depth, m), np.float64),
        "rows": ((m, 2 if margin else 1, capacity), np.float32),
        "counts": ((capacity,), np.float64),
        "norms": ((capacity,), np.float64),
        "scales": ((capacity,), np.float64),
        "together": ((regions, regions), np.float32),
        "seen": ((capacity,), np.int64),
        "squares": ((m if margin and capacity else 0,), np.float32),
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
        "late_keys": ((pending, 2), np.int64),
        "late_spans": ((pending, 2), np.int64),
        "late_buckets": ((late,), np.int32),
        "late_counts": ((late,), np.float32),
        "late_marks": ((5 if pending else 0,), np.int64),
        "blocks": ((capacity, BLOCKS + 1, 2) if watching else (0, 0, 0), np.float32),
        "all_blocks": ((1, BLOCKS + 1, 2) if watching else (0, 0, 0), np.float32),
        "recent_buckets": ((recent, recent_buckets), np.int32),
        "recent_x": ((recent, recent_buckets), np.float32),
        "recent_labels": ((recent, recent_labels), np.int32),
    }


def nbytes(settings: Settings, labels: int) -> int:
    """Return the bytes of a model with ``labels`` labels, before any of them is allocated."""
    found = shapes(settings, capacity_for(labels, settings.max_labels)).values()
    return sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in found)


def capacity_for(labels: int, max_labels: int) -> int:
    """Return room for ``labels`` labels: it grows by half, in whole vectors."""
    most = -(-max_labels // VECTOR) * VECTOR
    capacity = min(FIRST_CAPACITY, most)
    while capacity < labels:
        capacity = min(-(-capacity * 3 // 2 // VECTOR) * VECTOR, most)
    return capacity


def allocate(settings: Settings, labels: int = 0) -> State:
    """Return the state of a new model."""
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


def copy(state: State) -> State:
    """Copy every array."""
    return State(*(array.copy() for array in state))


def grow(state: State, settings: Settings, labels: int) -> State:
    """Return the state with room for ``labels`` labels: the same one if it has the room."""
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
            target[_common(array, target)] = array
    return grown


def without_labels(state: State, settings: Settings) -> State:
    """Return the word statistics alone, sharing their arrays."""
    kept = state._asdict()
    kept["totals"] = state.totals.copy()
    kept["totals"][1:] = 0
    for name, (shape, kind) in shapes(settings, 0).items():
        if kept[name].shape != shape:
            kept[name] = np.zeros(shape, kind)
    return State(**kept)


def in_common(one: State, other: State, names: Iterable[str]) -> Iterator[tuple[Any, Any]]:
    """Yield views of some arrays of both, whose room for labels may differ."""
    for name in names:
        pair = getattr(one, name), getattr(other, name)
        inside = _common(*pair)
        yield pair[0][inside], pair[1][inside]


def _common(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[slice, ...]:
    return tuple(slice(0, min(sizes)) for sizes in zip(one.shape, other.shape, strict=True))


def in_use(state: State, name: str, labels: int) -> npt.NDArray[Any]:
    """Return the part of an array that belongs to the first ``labels`` labels, as a view."""
    array: npt.NDArray[Any] = getattr(state, name)
    if name == "squares":  # shared by all labels: empty before the first
        return array[: len(array) if labels else 0]
    if name == "together":
        return array[:labels, :labels]
    return array[_at(name, slice(0, labels))] if name in LABEL_AXIS and array.size else array


def cut_labels(state: State, first: int, stop: int) -> State:
    """Return a state that predicts labels ``first`` to ``stop``, without ``LEFT_OUT``."""
    arrays = state._asdict()
    room = -(-(stop - first) // VECTOR) * VECTOR
    for name, axis in LABEL_AXIS.items():
        array = arrays[name]
        if name not in LEFT_OUT and array.size:
            shape = (*array.shape[:axis], room, *array.shape[axis + 1 :])
            arrays[name] = np.zeros(shape, array.dtype)
            arrays[name][_at(name, slice(0, stop - first))] = array[_at(name, slice(first, stop))]
    for name in LEFT_OUT:
        arrays[name] = np.zeros((0,) * arrays[name].ndim, arrays[name].dtype)
    return State(**arrays)


def cut_shapes(settings: Settings, labels: int) -> Shapes:
    """Return shape and type of every array that ``cut_labels`` gives to ``labels`` labels."""
    found = shapes(settings, -(-labels // VECTOR) * VECTOR)
    for name in LEFT_OUT:
        shape, kind = found[name]
        found[name] = (0,) * len(shape), kind
    return found


def clear_label(state: State, number: int, settings: Settings) -> None:
    """Forget a label, so that its number can be given to another."""
    if settings.weighting == "icf":
        state.terms[1] -= state.classes[:, number] > 0  # counts the labels of each bucket
    for name in LABEL_AXIS:
        array = getattr(state, name)
        if array.size:
            array[_at(name, number)] = 0
    if state.together.size:
        state.together[number] = 0
    state.gains[number] = 1.0
    state.recent_labels[state.recent_labels == number] = -1
    if settings.rule == "margin":
        state.bias[0, number] = BIAS_START


def move_label(state: State, source: int, target: int) -> None:
    """Overwrite one label with another."""
    if state.together.size:
        state.together[target] = state.together[source]
    for name in LABEL_AXIS:
        array = getattr(state, name)
        if array.size:
            array[_at(name, target)] = array[_at(name, source)]
    state.recent_labels[state.recent_labels == target] = -1
    state.recent_labels[state.recent_labels == source] = target


def _at(name: str, labels: int | slice) -> tuple[int | slice, ...]:
    return (*(slice(None),) * LABEL_AXIS[name], labels)


def longest_unseen(state: State, spared: set[int]) -> int:
    """Return the label that was named least recently, other than those ``spared``."""
    seen = state.seen[: state.totals[LABELS]].astype(np.float64)
    seen[list(spared)] = np.inf
    return int(np.argmin(seen))


def work_for(state: State, words: int = 0) -> Work:
    """Return scratch space for one thread and documents of up to ``words`` distinct words."""
    depth, m = state.frequencies.shape
    by_label = {name: np.empty(len(state.counts), kind) for name, kind in SCRATCH.items()}
    return Work(
        x=np.empty(m, np.float32),
        frequencies=np.empty(m if depth > 1 else 0, np.float64),
        estimates=np.empty(words, np.float64),
        slopes=np.empty(state.shared.shape[1], np.float64),
        squares=np.empty(len(state.squares), np.float32),
        weights=np.empty(len(state.squares), np.float32),
        **by_label,
    )
