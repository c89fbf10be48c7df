"""The arrays of a model: their shapes, and how to allocate, grow, copy, cut and clear them.

Code that adds or drops room for labels goes through this module. ``kernels/state.py`` documents the
arrays themselves, ``kernels/cells.py`` those with a value for a pair of bucket and label.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelCapacityError, SettingError
from clasher.kernels import room
from clasher.kernels.cells import reach, room_for
from clasher.kernels.margin import BIAS_START, ODDS_START, SHARED_START, add_up_spent
from clasher.kernels.merge import sum_squares
from clasher.kernels.scan import LONGEST
from clasher.kernels.state import (
    BINS,
    BLOCKS,
    FREE,
    FULL,
    LABELS,
    LIMIT,
    NOW,
    RECENT,
    ROOM,
    SIZE,
    SIZES,
    START,
    TIGHT,
    TOGETHER,
    TOP,
    UNIT,
    USED,
    Pool,
    State,
    Work,
)
from clasher.settings import MEASURES, Settings
from clasher.text.hashing import Hashed

FIRST_CAPACITY = 32
VECTOR = 16  # room for labels comes in multiples of this
LATE_BUCKETS = 256  # room for buckets per document that waits for its labels
PIECE = 2**20  # cells of a file that are packed or read at a time
LOW = 0.7  # the part of the limit that is in use after cells were dropped

HEADS = ("rows", "together", "classes")
"""The arrays whose values are cells of the pool."""

LABEL_AXIS = {
    "counts": 0, "norms": 0, "scales": 0, "together": 0, "seen": 0, "bias": 1, "members": 1,
    "gains": 0, "blocks": 0,
}  # fmt: skip
"""The label axis of each array that has one; the columns of ``HEADS`` are labels too."""

SCRATCH = {
    "ids": np.int32, "scales": np.float64, "bias": np.float64, "cosines": np.float64,
    "fractions": np.float64, "pairs": np.float32, "looks": np.float64, "scores": np.float64,
    "likely": np.int32, "chosen": np.int32, "moved": np.int32, "moved_at": np.int32,
    "own_at": np.int32,
}  # fmt: skip
"""The arrays of ``Work`` with an entry per label that start with any value."""

Shapes: TypeAlias = dict[str, tuple[tuple[int, ...], type]]


def shapes(settings: Settings, capacity: int) -> Shapes:
    """Return shape and type of every array of a model with room for ``capacity`` labels.

    Those of the pool are left out: it has room for ``cell_limit`` cells.
    """
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
        "dropped": ((1,), np.int64),
        "rows": ((m if capacity else 0, 4), np.int32),
        "counts": ((capacity,), np.float64),
        "norms": ((capacity,), np.float64),
        "scales": ((capacity,), np.float64),
        "together": ((regions, 4), np.int32),
        "seen": ((capacity,), np.int64),
        "squares": ((m if margin and capacity else 0,), np.float32),
        "bias": ((2, capacity), np.float64),
        "spent": ((1,), np.float64),
        "shared": ((2, len(SHARED_START)), np.float64),
        "margins": ((2, BINS), np.float64),
        "cut": ((1,), np.float64),
        "bests": ((2, BINS), np.float64),
        "floor": ((1,), np.float64),
        "odds": ((2,), np.float64),
        "classes": ((m if by_class and capacity else 0, 4), np.int32),
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


def cell_bytes(settings: Settings) -> int:
    """Return the bytes of a cell."""
    return 12 if settings.rule == "margin" else 8


def fixed_bytes(settings: Settings, capacity: int) -> int:
    """Return the bytes of everything but cells."""
    sizes = shapes(settings, capacity).values()
    return sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in sizes)


def cell_limit(settings: Settings, capacity: int) -> int:
    """Return how many cells ``max_bytes`` leaves room for."""
    left = settings.max_bytes - fixed_bytes(settings, capacity)
    return max(left // cell_bytes(settings), 0)


def nbytes(settings: Settings, labels: int) -> int:
    """Return the most bytes that a model with ``labels`` labels uses: if every row is dense."""
    capacity = capacity_for(labels, settings.max_labels)
    by_class = settings.weighting in MEASURES
    rows = settings.dimensions * (2 if by_class else 1)
    rows += capacity if settings.rule != "perceptron" else 0
    cells = rows * int(room_for(capacity))
    return fixed_bytes(settings, capacity) + cells * cell_bytes(settings)


def most_labels(settings: Settings) -> int:
    """Return how many labels a model may have.

    Of what the dimensions leave of ``max_bytes``, half is for what the labels learn.
    """
    one, two = (fixed_bytes(settings, count * VECTOR) for count in (1, 2))
    each = (two - one) / VECTOR
    base = one - each * VECTOR
    spare = (settings.max_bytes - base) // 2
    if spare < max(each * FIRST_CAPACITY, settings.max_bytes // 8):
        needed = max(base + 2 * each * FIRST_CAPACITY, base * 4 / 3)
        raise SettingError(
            f"max_bytes={settings.max_bytes:,} is too little for {settings.dimensions:,} "
            f"dimensions: they need {math.ceil(needed):,}; raise max_bytes, or lower dimensions"
        )
    return min(settings.max_labels, int(spare // each))


def used_bytes(state: State) -> int:
    """Return the bytes in use."""
    pool = state.pool
    cell = 4 + 4 * pool.layers
    arrays = (array for name, array in state._asdict().items() if name != "pool")
    return int(pool.free[USED]) * cell + sum(int(array.nbytes) for array in arrays)


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
    limit = cell_limit(settings, capacity)
    pool = new_pool(limit, layers_of(settings))
    state = State(pool=pool, **{k: np.zeros(*v) for k, v in shapes(settings, capacity).items()})
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


def layers_of(settings: Settings) -> int:
    """Return the number of values of a cell: a sum, and a linear weight with the margin rule."""
    return 2 if settings.rule == "margin" else 1


def new_pool(cells: int, layers: int) -> Pool:
    """Reserve room for cells, which takes memory only where it is used."""
    pool = Pool(
        np.empty(cells, np.int32), np.empty(cells * layers, np.float32), np.zeros(SIZES, np.int64),
        layers,
    )  # fmt: skip
    pool.free[LIMIT] = cells
    return pool


def copy(state: State) -> State:
    """Copy every array."""
    copied = {name: array.copy() for name, array in state._asdict().items() if name != "pool"}
    pool = new_pool(len(state.pool.labels), state.pool.layers)
    copy_cells(state, pool)
    return State(pool=pool, **copied)


def copy_cells(state: State, pool: Pool) -> None:
    """Copy all cells to another pool, to the same places."""
    stop, layers = int(state.pool.free[TOP]), pool.layers
    pool.labels[:stop] = state.pool.labels[:stop]
    pool.values[: stop * layers] = state.pool.values[: stop * layers]
    limit = pool.free[LIMIT]
    pool.free[:] = state.pool.free
    pool.free[LIMIT] = limit


def grow(state: State, settings: Settings, labels: int) -> State:
    """Return the state with room for ``labels`` labels: the same one if it has the room.

    The cells stay where they are.
    """
    if labels <= len(state.counts):
        return state
    fresh = shapes(settings, capacity_for(labels, settings.max_labels))
    grown = state._asdict()
    for name, (shape, kind) in fresh.items():
        array = grown[name]
        if array.shape != shape:
            grown[name] = np.zeros(shape, kind)
            grown[name][tuple(slice(0, size) for size in array.shape)] = array
    first = len(state.counts)
    grown["gains"][first:] = 1.0
    if settings.rule == "margin":
        grown["bias"][0, first:] = BIAS_START
    limit = cell_limit(settings, len(grown["counts"]))
    pool = state.pool
    if not len(pool.labels):  # the word statistics alone
        pool = new_pool(limit, layers_of(settings))
    pool.free[LIMIT] = min(limit, len(pool.labels))
    return State(**{**grown, "pool": pool})


def without_labels(state: State, settings: Settings) -> State:
    """Return the word statistics alone, sharing their arrays."""
    kept = state._asdict()
    kept["totals"] = state.totals.copy()
    kept["totals"][1:] = 0
    for name, (shape, kind) in shapes(settings, 0).items():
        if kept[name].shape != shape:
            kept[name] = np.zeros(shape, kind)
    return State(**{**kept, "pool": new_pool(0, 1)})


def in_steps(state: State, settings: Settings, total: int, step: Callable[[int], int]) -> None:
    """Call ``step`` with the number of items done, until all are; make room where it stops."""
    done, before, times = 0, -1, 0
    while done < total:
        done = step(done)
        if done < total:
            times = times + 1 if done == before else 0
            make_room(state, settings, times)
            before = done


def make_room(state: State, settings: Settings, times: int = 0) -> None:
    """Make room in the pool; drop cells if it is full, the more the oftener it was of no use."""
    close_up(state)
    pool, limit = state.pool, int(state.pool.free[LIMIT])
    if times == 0 and pool.free[USED] <= FULL * limit:
        return
    if times > 8:
        raise LabelCapacityError(
            f"max_bytes={settings.max_bytes:,} has no room for a document beside "
            f"{int(state.totals[LABELS]):,} labels; raise it"
        )
    drop(state, settings, int(LOW * 0.6**times * limit))


def close_up(state: State) -> None:
    """Move the blocks of the pool together."""
    pool, heads = state.pool, [getattr(state, name) for name in HEADS]
    used = [np.flatnonzero(one[:, ROOM]) for one in heads]
    starts = np.concatenate([one[at, START] for one, at in zip(heads, used, strict=True)])
    rooms = np.concatenate([one[at, ROOM] for one, at in zip(heads, used, strict=True)])
    order = np.argsort(starts, kind="stable")
    moved = starts[order]
    end = room.close_up(pool, moved, rooms[order])
    starts[order] = moved
    first = 0
    for one, at in zip(heads, used, strict=True):
        one[at, START] = starts[first : first + len(at)]
        first += len(at)
    pool.free[FREE:] = 0
    pool.free[TOP] = pool.free[USED] = end


def drop(state: State, settings: Settings, cells: int) -> None:
    """Drop the cells that matter least, until about ``cells`` are in use."""
    labels, rule = int(state.totals[LABELS]), settings.for_kernels().rule
    state.pool.free[TIGHT] = 1
    bins = np.zeros(room.BINS, np.int64)
    for which, name in enumerate(HEADS):
        room.count_weights(state, rule, which, getattr(state, name), bins)
    surplus = int(state.pool.free[USED]) - cells
    lowest = int(np.searchsorted(np.cumsum(bins), surplus)) + 1
    for which, name in enumerate(HEADS):
        heads = getattr(state, name)
        state.dropped[0] += room.drop_cells(state, rule, which, heads, lowest, labels)
    close_up(state)
    if settings.rule != "perceptron":
        set_norms(state, np.ones(labels, np.bool_))


def subtract_cells(state: State, known: State) -> None:
    """Subtract the cells of an earlier state, which are all still there."""
    for name in HEADS:
        heads, other = getattr(state, name), getattr(known, name)
        room.subtract_cells(heads, state.pool, other, known.pool)


def set_norms(state: State, chosen: npt.NDArray[np.bool_]) -> None:
    """Compute the norms of some labels from their cells, so that they do not drift."""
    sum_squares(state.rows, state.pool, chosen, state.norms)
    set_scales(state)


def set_scales(state: State) -> None:
    """Compute the scales from the norms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        state.scales[:] = np.where(state.norms > 0, 1.0 / np.sqrt(state.norms), 0.0)


def in_common(one: State, other: State, names: Iterable[str]) -> Iterator[tuple[Any, Any]]:
    """Yield views of some arrays of both, whose room for labels may differ."""
    for name in names:
        pair = getattr(one, name), getattr(other, name)
        inside = tuple(slice(0, min(sizes)) for sizes in zip(*(x.shape for x in pair), strict=True))
        yield pair[0][inside], pair[1][inside]


def in_use(state: State, name: str, labels: int) -> npt.NDArray[Any]:
    """Return the part of an array that belongs to the first ``labels`` labels, as a view."""
    array: npt.NDArray[Any] = getattr(state, name)
    if name in ("squares", "rows", "classes"):  # shared by all labels: empty before the first
        return array[: len(array) if labels else 0]
    return array[_at(name, slice(0, labels))] if name in LABEL_AXIS and array.size else array


def values(state: State, name: str, labels: int) -> npt.NDArray[np.float32]:
    """Return cells as a dense array [layers, rows, labels]; for tests and small models."""
    heads, layers = getattr(state, name), state.pool.layers if name == "rows" else 1
    dense = np.zeros((layers, len(heads), labels), np.float32)
    every = np.arange(len(heads))
    for label in range(labels):
        sums = np.zeros(len(heads), np.float32)
        weights = np.zeros(len(heads) if layers > 1 else 0, np.float32)
        room.column(heads, state.pool, every, label, sums, weights)
        dense[0, :, label] = sums
        if layers > 1:
            dense[1, :, label] = weights
    return dense


def column(
    state: State, name: str, label: int, rows: npt.NDArray[Any] | None = None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the sums and weights of a label in some rows, or in all."""
    heads = getattr(state, name)
    if rows is None:
        rows = np.arange(len(heads))
    sums = np.zeros(len(rows), np.float32)
    weights = np.zeros(len(rows) if state.pool.layers > 1 else 0, np.float32)
    room.column(heads, state.pool, rows, label, sums, weights)
    return sums, weights


def row(state: State, name: str, number: int, labels: int) -> npt.NDArray[np.float32]:
    """Return the sums of a row by label."""
    start, size, *_ = getattr(state, name)[number].tolist()
    inside = slice(start * UNIT, start * UNIT + size)
    own, sums = state.pool.labels[inside], _sums(state)[inside]
    out = np.zeros(labels, np.float32)
    out[own[own < labels]] = sums[own < labels]
    return out


def _sums(state: State) -> npt.NDArray[np.float32]:
    """Return the sums of all cells, as a view."""
    return state.pool.values[:: state.pool.layers]


def put(
    state: State, settings: Settings, name: str, entries: Iterable[tuple[Any, Any, Any]]
) -> None:
    """Set the sums of some pairs of row and label."""
    heads, labels = getattr(state, name), int(state.totals[LABELS])
    for number, label, value in entries:
        if state.pool.free[LIMIT] - state.pool.free[TOP] < 8 * (labels + VECTOR):
            make_room(state, settings)
        _sums(state)[reach(heads, number, state.pool, label, labels)] = value


def cut_labels(state: State, first: int, stop: int, *, regions: bool) -> State:
    """Return a state that predicts labels ``first`` to ``stop``.

    Its co-occurrences are those of these labels in all ``regions``, or of all labels in theirs.
    It has no counts by class: they serve learning only.
    """
    total, pool = int(state.totals[LABELS]), state.pool
    arrays = state._asdict()
    size = -(-(stop - first) // VECTOR) * VECTOR
    for name, axis in LABEL_AXIS.items():
        array = arrays[name]
        if array.size and name != "together":
            shape = (*array.shape[:axis], size, *array.shape[axis + 1 :])
            arrays[name] = np.zeros(shape, array.dtype)
            arrays[name][_at(name, slice(0, stop - first))] = array[_at(name, slice(first, stop))]
    together = state.together[:total] if regions else state.together[first:stop]
    inside = (first, stop) if regions else (0, total)
    needed = room.needed_cells(state.rows, pool, first, stop, total)
    needed += room.needed_cells(together, pool, *inside, total)
    new = new_pool(int(needed), pool.layers)
    new.free[TIGHT] = pool.free[TIGHT]
    for array in (new.labels, new.values):  # it may be sent to others as it is
        array[:] = 0
    heads = [np.zeros((len(one), 4), np.int32) for one in (state.rows, together)]
    room.cut_cells(state.rows, pool, first, stop, total, heads[0], new)
    room.cut_cells(together, pool, *inside, total, heads[1], new)
    arrays |= {
        "pool": new, "rows": heads[0], "together": heads[1], "classes": np.zeros((0, 4), np.int32),
        "blocks": np.zeros((0, 0, 0), np.float32), "all_blocks": np.zeros((0, 0, 0), np.float32),
    }  # fmt: skip
    return State(**arrays)


def cut_shapes(settings: Settings, labels: int, total: int) -> Shapes:
    """Return shape and type of every array that ``cut_labels`` gives to ``labels`` labels."""
    found = shapes(settings, -(-labels // VECTOR) * VECTOR)
    for name in ("blocks", "all_blocks"):
        found[name] = (0, 0, 0), np.float32
    found["classes"] = (0, 4), np.int32
    regions = {"perceptron": 0, "margin": total}.get(settings.rule, labels)
    found["together"] = (regions, 4), np.int32
    return found


def flat(state: State) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays by name, the used parts of the pool as ``cell_…``."""
    stop = int(state.pool.free[TOP])
    arrays = {name: array for name, array in state._asdict().items() if name != "pool"}
    arrays["cell_labels"] = state.pool.labels[:stop]
    arrays["cell_values"] = state.pool.values[: stop * state.pool.layers]
    return arrays


def unflat(arrays: dict[str, npt.NDArray[Any]], settings: Settings) -> State | None:
    """Put together what ``flat`` took apart, without room for more; None if it does not fit."""
    labels = arrays.pop("cell_labels", np.zeros(0, np.int32))
    values = arrays.pop("cell_values", np.zeros(0, np.float32))
    layers = layers_of(settings)
    if (
        labels.dtype != np.int32
        or values.dtype != np.float32
        or len(values) != layers * len(labels)
    ):
        return None
    pool = Pool(labels, values, np.zeros(SIZES, np.int64), layers)
    pool.free[[TOP, USED, LIMIT]] = len(labels)
    return State(pool, **arrays)


CELLS: dict[str, type] = {
    "cell_labels": np.int32, "cell_sums": np.float32, "cell_weights": np.float32,
}  # fmt: skip
PACKED: Shapes = {
    **{f"{name}_at": ((0,), np.int32) for name in HEADS},
    **{f"{name}_sizes": ((0,), np.int32) for name in HEADS},
    **{name: ((0,), kind) for name, kind in CELLS.items()},
}
"""The arrays of cells in a file, of any length: the rows that have some, how many, and the cells of
one row after the other. The size of a dense row is negative. Only ``rows`` have weights."""


class Packed(NamedTuple):
    """An array of a file: its shape and type, and its parts one after the other."""

    shape: tuple[int, ...]
    kind: npt.DTypeLike
    pieces: Callable[[], Iterable[npt.NDArray[Any]]]


def packed_cells(state: State, labels: int) -> dict[str, Packed]:
    """Return the cells as they are in a file, without empty arrays.

    They are put together piece by piece, so that a file takes no second copy of the state.
    """
    found: dict[str, Packed] = {}
    rows: list[tuple[Any, Any, Any]] = []
    for name in HEADS if labels else ():
        heads = getattr(state, name)
        at = np.flatnonzero(heads[:, SIZE]).astype(np.int32)
        sizes = np.zeros(len(at), np.int32)
        room.packed_sizes(heads, at, state.pool, int(room_for(labels)), sizes)
        at, sizes = at[sizes != 0], sizes[sizes != 0]
        rows.append((heads, at, sizes))
        found |= {f"{name}_at": _whole(at), f"{name}_sizes": _whole(sizes)}
    for which, (name, kind) in enumerate(CELLS.items()):
        own = [] if name == "cell_weights" and state.pool.layers == 1 else rows
        own = own[:1] if name == "cell_weights" else own
        cells = sum(int(np.abs(sizes).sum(dtype=np.int64)) for _, _, sizes in own)
        found[name] = Packed((cells,), kind, partial(_cell_pieces, state, labels, own, which))
    return {name: packed for name, packed in found.items() if packed.shape[0]}


def _whole(array: npt.NDArray[Any]) -> Packed:
    return Packed(array.shape, array.dtype, lambda: [array])


def _cell_pieces(
    state: State, labels: int, rows: list[tuple[Any, Any, Any]], which: int
) -> Iterator[npt.NDArray[Any]]:
    """Yield the labels, sums or weights of the cells of some rows."""
    most, layers = int(room_for(labels)), state.pool.layers
    for heads, at, sizes in rows:
        for first, stop, cells in _stretches(sizes):
            packed: list[npt.NDArray[Any]] = [np.empty(cells, kind) for kind in CELLS.values()]
            packed[2] = packed[2][: cells if layers > 1 else 0]
            room.pack_rows(heads, at[first:stop], state.pool, most, 0, *packed)
            yield packed[which]


def _stretches(sizes: npt.NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
    """Cut rows into stretches of about ``PIECE`` cells; yield first row, end and cells."""
    ends = np.cumsum(np.abs(sizes), dtype=np.int64)
    first = done = 0
    while first < len(sizes):
        stop = max(int(np.searchsorted(ends, done + PIECE, side="right")), first + 1)
        yield first, stop, int(ends[stop - 1]) - done
        first, done = stop, int(ends[stop - 1])


def unpack_cells(
    state: State, labels: int, found: Collection[str],
    read: Callable[[str, int, int], npt.NDArray[Any]], count: Callable[[str], int],
) -> bool:  # fmt: skip
    """Take cells from a file into an empty state; False if they contradict each other.

    ``read`` returns a part of an array, and ``count`` its length.
    """
    counts = {name: count(name) if name in found else 0 for name in PACKED}
    most, start = int(room_for(labels)), 0
    nothing = np.zeros(0, np.float32)
    for name in HEADS:
        heads = getattr(state, name)
        at, sizes = (
            read(part, 0, counts[part]) if counts[part] else np.zeros(0, np.int32)
            for part in (f"{name}_at", f"{name}_sizes")
        )
        many = np.abs(sizes.astype(np.int64))
        stop = start + int(many.sum())
        if len(at) != len(sizes) or stop > counts["cell_labels"]:
            return False
        if np.any((many < 1) | (many > most)) or stop > counts["cell_sums"]:
            return False
        if np.any(np.diff(at) <= 0) or np.any((at < 0) | (at >= len(heads))):
            return False
        if name == "rows" and counts["cell_weights"] not in (0, stop):
            return False
        has_weights = name == "rows" and counts["cell_weights"] > 0
        for first, end, cells in _stretches(sizes):
            inside = start, start + cells
            weights = read("cell_weights", *inside) if has_weights else nothing
            own = read("cell_labels", *inside), read("cell_sums", *inside), weights
            if not room.unpack_rows(heads, at[first:end], sizes[first:end], state.pool, 0, *own):
                return False
            start += cells
    if not start == counts["cell_labels"] == counts["cell_sums"]:
        return False
    return is_sound(state, labels)


def dense_shapes(settings: Settings, labels: int) -> Shapes:
    """Return shape and type of the arrays that version 0.1 kept instead of cells."""
    m, layers = settings.dimensions, 2 if settings.rule == "margin" else 1
    regions = labels if settings.rule != "perceptron" else 0
    by_class = settings.weighting in MEASURES
    return {
        "rows": ((m, layers, labels), np.float32),
        "together": ((regions, regions), np.float32),
        "classes": ((m, labels) if by_class else (0, 0), np.float32),
    }


def contents(state: State) -> dict[str, npt.NDArray[Any]]:
    """Return what a state holds by name, however its blocks lie in the pool."""
    apart = ("pool", *HEADS)
    arrays = {name: array for name, array in state._asdict().items() if name not in apart}
    packed = packed_cells(state, max(int(state.totals[LABELS]), 1))
    return arrays | {name: np.concatenate([*one.pieces()]) for name, one in packed.items()}


def take_dense(
    state: State, settings: Settings, name: str, first: int, piece: npt.NDArray[Any], labels: int
) -> None:
    """Take rows of a dense array, from row ``first`` on."""
    nothing = np.zeros((0, 0), np.float32)
    layers = (
        [piece[:, 0], piece[:, 1] if piece.shape[1] > 1 else nothing]
        if name == "rows"
        else [piece, nothing]
    )
    room.take_values(getattr(state, name), first, *layers, state.pool, labels)


def is_sound(state: State, labels: int) -> bool:
    """Tell whether all rows lie in the pool, and all cells belong to a label."""
    pool = state.pool
    cells = len(pool.labels)
    if len(pool.values) != cells * pool.layers:
        return False
    if not 0 <= pool.free[TOP] <= pool.free[LIMIT] <= cells:
        return False
    for name in HEADS:
        start, size, room_, dense = getattr(state, name).astype(np.int64).T
        if np.any((start < 0) | (size < 0) | (size > room_) | (start * UNIT + room_ > cells)):
            return False
        if np.any((dense != 0) & (size != room_)):
            return False
    most = int(room_for(labels))
    return all(room.are_below(getattr(state, name), pool, most) for name in HEADS)


def clear_label(state: State, number: int, settings: Settings) -> None:
    """Forget a label, so that its number can be given to another."""
    if settings.weighting == "icf":
        state.terms[1] -= column(state, "classes", number)[0] > 0  # counts labels of each bucket
    for name in HEADS:
        room.clear_column(getattr(state, name), state.pool, number)
    _clear_row(state, number)
    for name in LABEL_AXIS:
        array = getattr(state, name)
        if array.size and name != "together":
            array[_at(name, number)] = 0
    state.gains[number] = 1.0
    state.recent_labels[state.recent_labels == number] = -1
    if settings.rule == "margin":
        state.bias[0, number] = BIAS_START
    add_up_spent(state)


def _clear_row(state: State, number: int) -> None:
    """Clear the co-occurrences of a label; its block stays, empty, for the next label."""
    if len(state.together):
        start, size = state.together[number, START] * UNIT, state.together[number, SIZE]
        _sums(state)[start : start + size] = 0.0


def move_label(state: State, source: int, target: int) -> None:
    """Overwrite one label with another."""
    for name in HEADS:
        room.move_column(getattr(state, name), state.pool, source, target)
    if len(state.together):
        heads = state.together
        heads[[source, target]] = heads[[target, source]]
    for name in LABEL_AXIS:
        array = getattr(state, name)
        if array.size and name != "together":
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


def work_for(state: State, hashed: Hashed | None = None) -> Work:
    """Return scratch space for one thread, and for the documents of a batch or for any."""
    most, words = state.frequencies.shape[1], 0
    if hashed is not None:
        most, words = int(np.diff(hashed.indptr).max(initial=0)), len(hashed.words.keys)
    labels = int(room_for(len(state.counts)))
    by_label = {name: np.empty(labels, kind) for name, kind in SCRATCH.items()}
    return Work(
        x=np.empty(most, np.float32),
        frequencies=np.empty(most + 1, np.float64),
        powers=np.empty(most + 1, np.float64),
        estimates=np.empty(words, np.float64),
        squares=np.empty(most, np.float32),
        weights=np.empty(most, np.float32),
        places=np.empty((TOGETHER, most), np.int64),
        slopes=np.empty(state.shared.shape[1], np.float64),
        every=np.arange(labels, dtype=np.int32),
        both=np.empty(labels * state.pool.layers, np.float32),
        truth=np.zeros(labels, np.int8),
        slots=np.full(labels, -1, np.int32),
        **by_label,
    )
