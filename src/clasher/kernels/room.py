"""Room in the pool: move its blocks together, and drop the cells that matter least."""

import math

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.cells import (
    copy_cell,
    find,
    first_cell,
    has_value,
    is_dense,
    room_for,
    set_cell,
    take,
)
from clasher.kernels.margin import COSINE
from clasher.kernels.state import DENSE, LIMIT, MARGIN, PERCEPTRON, ROOM, SIZE, START, TOP, UNIT

BINS = 512  # of importance: eight to a doubling
MIDDLE = 400


@kernel
def close_up(pool, starts, rooms):
    """Move blocks, in the order in which they lie, to the beginning; returns where they end.

    ``starts`` becomes their new starts.
    """
    target = np.int64(0)
    for block in range(starts.shape[0]):
        source = np.int64(starts[block]) * UNIT
        if source != target:
            for at in range(rooms[block]):
                pool.labels[target + at] = pool.labels[source + at]
                copy_cell(pool, source + at, target + at)
        starts[block] = target // UNIT
        target += rooms[block]
    return target


@kernel
def row_weight(state, rule, at):
    """How much a cell of a bucket tells of its label: its evidence if the word stands alone."""
    label = state.pool.labels[at]
    if rule == PERCEPTRON:
        return abs(np.float64(state.pool.values[at * state.pool.layers])) / state.gains[label]
    cosine = abs(state.pool.values[at * state.pool.layers] * state.scales[label])
    if rule != MARGIN:
        return cosine
    return (
        abs(np.float64(state.pool.values[at * state.pool.layers + 1]))
        + abs(state.shared[0, COSINE]) * cosine
    )


@kernel
def share_weight(pool, at, documents):
    """How much a count tells: the fraction of documents that it is of."""
    return pool.values[at * pool.layers] / documents if documents > 0.0 else 0.0


@kernel
def cell_weight(state, rule, which, row, at):
    """How much a cell matters, in units that all cells have in common."""
    if not has_value(state.pool, at):
        return 0.0
    if which == 0:
        return row_weight(state, rule, at)
    if which == 1:
        return share_weight(state.pool, at, state.counts[row])
    return share_weight(state.pool, at, state.members[0, state.pool.labels[at]])


@kernel
def bin_of_weight(weight):
    """Return the bin of an importance; 0 for none."""
    if not weight > 0.0:
        return 0
    return min(max(math.floor(8.0 * math.log2(weight)) + MIDDLE, 1), BINS - 1)


@kernel
def count_weights(state, rule, which, heads, bins):
    """Count the cells of some rows by importance."""
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        for at in range(start, start + heads[row, SIZE]):
            bins[bin_of_weight(cell_weight(state, rule, which, row, at))] += 1


@kernel
def drop_cells(state, rule, which, heads, lowest, labels):
    """Drop cells of an importance below bin ``lowest``; returns how many had a value.

    Blocks become as small as their rows: ``close_up`` frees what is between them.
    """
    pool, dropped = state.pool, 0
    for row in range(heads.shape[0]):
        start, size = first_cell(heads, row), heads[row, SIZE]
        kept = 0
        for at in range(start, start + size):
            if bin_of_weight(cell_weight(state, rule, which, row, at)) >= lowest:
                kept += 1
            else:
                dropped += has_value(pool, at)
                set_cell(pool, at, pool.labels[at])
        if heads[row, DENSE] and is_dense(pool, room_for(kept), labels):
            continue
        filled = start
        for at in range(start, start + size):
            if has_value(pool, at):
                pool.labels[filled] = pool.labels[at]
                copy_cell(pool, at, filled)
                filled += 1
        heads[row, DENSE], heads[row, SIZE] = 0, filled - start
        heads[row, ROOM] = room_for(filled - start) if filled > start else 0
    return dropped


# ── rows of a known length ───────────────────────────────────────────────────────────────────────


@kernel
def begin_row(heads, row, pool, room, dense):
    """Give an empty row a block of ``room`` cells: ``put_cell`` fills it."""
    first = take(pool, room)
    heads[row, START], heads[row, ROOM], heads[row, DENSE] = first // UNIT, room, dense
    heads[row, SIZE] = room if dense else 0
    if dense:
        for at in range(room):
            set_cell(pool, first + at, at)


@kernel
def put_cell(heads, row, pool, label):
    """Return the cell for a label of such a row."""
    start = first_cell(heads, row)
    if heads[row, DENSE]:
        return start + label
    at = start + heads[row, SIZE]
    heads[row, SIZE] += 1
    pool.labels[at] = label
    return at


@kernel
def stays_dense(heads, row, labels):
    """Tell whether a row is read as a dense one when it is cut to some of all ``labels`` labels.

    The cut row is then read in the same way as the whole one, so that sums agree to the last bit.
    """
    return heads[row, DENSE] != 0 and heads[row, SIZE] >= labels


@kernel
def needed_cells(heads, pool, first, stop, labels):
    """Return the cells that rows cut to the labels ``first`` to ``stop`` of all take."""
    cells = np.int64(0)
    for row in range(heads.shape[0]):
        met, dense = count_inside(heads, row, pool, first, stop), stays_dense(heads, row, labels)
        if met > 0 or dense:
            cells += room_for(stop - first if dense else met)
    return cells


@kernel
def count_inside(heads, row, pool, first, stop):
    """Count the cells with a value of some labels in a row."""
    met, start = 0, first_cell(heads, row)
    for at in range(start, start + heads[row, SIZE]):
        met += first <= pool.labels[at] < stop and has_value(pool, at)
    return met


@kernel
def cut_cells(heads, pool, first, stop, labels, new_heads, new_pool):
    """Copy the cells of the labels ``first`` to ``stop`` of all, and number them from 0."""
    for row in range(heads.shape[0]):
        met, dense = count_inside(heads, row, pool, first, stop), stays_dense(heads, row, labels)
        if met == 0 and not dense:
            continue
        begin_row(new_heads, row, new_pool, room_for(stop - first if dense else met), dense)
        start = first_cell(heads, row)
        for at in range(start, start + heads[row, SIZE]):
            if first <= pool.labels[at] < stop and has_value(pool, at):
                target = put_cell(new_heads, row, new_pool, pool.labels[at] - first)
                new_pool.values[target * new_pool.layers] = pool.values[at * pool.layers]
                if pool.layers > 1:
                    new_pool.values[target * new_pool.layers + 1] = pool.values[
                        at * pool.layers + 1
                    ]


@kernel
def take_values(heads, first, values, weights, pool, labels):
    """Make rows of the values of a dense array [rows, labels], and of their weights if any."""
    for at in range(values.shape[0]):
        met = 0
        for j in range(labels):
            met += values[at, j] != 0.0 or (weights.shape[0] > 0 and weights[at, j] != 0.0)
        if met == 0:
            continue
        dense = is_dense(pool, room_for(met), labels)
        begin_row(heads, first + at, pool, room_for(labels if dense else met), dense)
        for j in range(labels):
            if values[at, j] != 0.0 or (weights.shape[0] > 0 and weights[at, j] != 0.0):
                target = put_cell(heads, first + at, pool, j)
                pool.values[target * pool.layers] = values[at, j]
                if pool.layers > 1:
                    pool.values[target * pool.layers + 1] = (
                        weights[at, j] if weights.shape[0] > 0 else 0.0
                    )


@kernel
def subtract_cells(heads, pool, theirs, their_pool):
    """Subtract their cells from mine, where they are."""
    for row in range(theirs.shape[0]):
        start = first_cell(theirs, row)
        for there in range(start, start + theirs[row, SIZE]):
            here = find(heads, row, pool, their_pool.labels[there])
            if here >= 0:
                pool.values[here * pool.layers] -= their_pool.values[there * their_pool.layers]
                if pool.layers > 1:
                    pool.values[here * pool.layers + 1] -= their_pool.values[
                        there * their_pool.layers + 1
                    ]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


@kernel
def packed_sizes(heads, at, pool, most, sizes):
    """Write how many cells of some rows belong to the first labels; negative if dense.

    ``most`` is the room of a dense row for them: retired labels may have left cells behind.
    """
    for place in range(at.shape[0]):
        start, size = first_cell(heads, at[place]), heads[at[place], SIZE]
        if heads[at[place], DENSE]:
            sizes[place] = -min(size, most)
        else:
            sizes[place] = 0
            for cell in range(start, start + size):
                sizes[place] += pool.labels[cell] < most


@kernel
def pack_rows(heads, at, pool, most, first, labels, sums, weights):
    """Write these cells one row after the other, from cell ``first`` on."""
    filled = first
    for place in range(at.shape[0]):
        start = first_cell(heads, at[place])
        for cell in range(start, start + heads[at[place], SIZE]):
            if pool.labels[cell] < most:
                labels[filled], sums[filled] = pool.labels[cell], pool.values[cell * pool.layers]
                if filled < weights.shape[0]:
                    weights[filled] = pool.values[cell * pool.layers + 1]
                filled += 1


@kernel
def unpack_rows(heads, at, sizes, pool, first, labels, sums, weights):
    """Read what ``pack_rows`` wrote; False if it does not fit, or a dense row is none."""
    filled = np.int64(first)
    for place in range(at.shape[0]):
        row, size, dense = at[place], abs(sizes[place]), sizes[place] < 0
        room = room_for(size)
        if pool.free[TOP] + room > pool.free[LIMIT] or (dense and room != size):
            return False
        start = take(pool, room)
        heads[row, START], heads[row, SIZE] = start // UNIT, size
        heads[row, ROOM], heads[row, DENSE] = room, dense
        for cell in range(size):
            if dense and labels[filled] != cell:
                return False
            pool.labels[start + cell], pool.values[(start + cell) * pool.layers] = (
                labels[filled],
                sums[filled],
            )
            if pool.layers > 1:
                own = weights[filled] if filled < weights.shape[0] else np.float32(0.0)
                pool.values[(start + cell) * pool.layers + 1] = own
            filled += 1
    return True


@kernel
def are_below(heads, pool, most):
    """Tell whether all cells of the rows belong to the first labels; gaps hold anything."""
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        for cell in range(start, start + heads[row, SIZE]):
            if not 0 <= pool.labels[cell] < most:
                return False
    return True


# ── columns ──────────────────────────────────────────────────────────────────────────────────────


@kernel
def column(heads, pool, rows, label, sums, weights):
    """Write the values of a label in some rows; weights only if there is room for them."""
    for at in range(rows.shape[0]):
        start = first_cell(heads, rows[at])
        sums[at] = 0.0
        for cell in range(start, start + heads[rows[at], SIZE]):
            if pool.labels[cell] == label:
                sums[at] = pool.values[cell * pool.layers]
                if weights.shape[0] > 0:
                    weights[at] = pool.values[cell * pool.layers + 1]


@kernel
def clear_column(heads, pool, label):
    """Take a label's values away."""
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        for at in range(start, start + heads[row, SIZE]):
            if pool.labels[at] == label:
                set_cell(pool, at, label)


@kernel
def move_column(heads, pool, source, target):
    """Give a label's values to another label, whose own are lost."""
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        here, there = np.int64(-1), np.int64(-1)
        for at in range(start, start + heads[row, SIZE]):
            if pool.labels[at] == source:
                here = at
            elif pool.labels[at] == target:
                there = at
        if there >= 0:
            set_cell(pool, there, target)
        if here >= 0 and there >= 0:
            copy_cell(pool, here, there)
            set_cell(pool, here, source)
        elif here >= 0:
            pool.labels[here] = target
