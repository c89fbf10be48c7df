"""Lists of cells: for each row, the labels that met it, with their values.

A row is a bucket (its cells hold a sum and a weight per label), or a label (how often others came
with it). All rows of a model share one pool of cells, reserved once, of which the system commits
what is used: nothing is copied when a model grows. A row begins as a list in order of arrival. When
most labels have met it, it becomes dense: one cell for each label, in their order. A cell without
value is the same as none.
"""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.state import DENSE, FREE, ROOM, SIZE, START, TIGHT, TOP, UNIT, USED

FEW, SOME = 32, 1024  # labels
BLOCK = 64  # labels of a list that are compared at once


@kernel
def is_dense(pool, room, labels):
    """Tell whether a row with room for so many cells should be dense.

    A dense row is faster to read. With few labels it may be larger than the list, unless memory is
    short.
    """
    if pool.free[TIGHT] != 0:
        return room * 2 > labels
    return labels <= FEW or room * (4 if labels <= SOME else 2) > labels


@kernel
def room_for(cells):
    """Return the size of the block for a list of cells: 2, 4, 8, 12, 16, 24, 32, 48 and so on."""
    room = 2
    while room < cells:
        if room < 8:
            room *= 2
        else:
            room = room // 2 * 3 if room & (room - 1) == 0 else room // 3 * 4
    return room


@kernel
def place_of(room):
    """Return the place in ``pool.free`` of the list of free blocks of a size."""
    place, size = FREE, 2
    while size < room:
        if size < 8:
            size *= 2
        else:
            size = size // 2 * 3 if size & (size - 1) == 0 else size // 3 * 4
        place += 1
    return place


@kernel
def take(pool, room):
    """Take a block of ``room`` cells, which must be there; returns its first cell."""
    place = place_of(room)
    pool.free[USED] += room
    first = pool.free[place] - 1
    if first >= 0:  # the label of a free block's first cell is the next such block
        pool.free[place] = np.int64(pool.labels[first]) * UNIT + 1 if pool.labels[first] >= 0 else 0
        return first
    first = pool.free[TOP]
    pool.free[TOP] += room
    return first


@kernel
def give(pool, first, room):
    """Give a block back."""
    place = place_of(room)
    after = pool.free[place] - 1
    pool.labels[first] = after // UNIT if after >= 0 else -1
    pool.free[place] = first + 1
    pool.free[USED] -= room


@kernel
def move(heads, row, pool, room, labels):
    """Move a row to a block of ``room`` cells, or make it dense for ``labels`` labels.

    Also turns a dense row that is too short for its labels into a longer one, or into a list if few
    labels have met it.
    """
    start, size, old = first_cell(heads, row), heads[row, SIZE], heads[row, ROOM]
    was_dense = heads[row, DENSE] != 0
    if was_dense:
        met = 0
        for at in range(start, start + size):
            met += has_value(pool, at)
        room = room_for(met + 1)
    becomes_dense = is_dense(pool, room, labels)
    if becomes_dense:
        room = room_for(labels)
    first = take(pool, room)
    filled = 0
    if becomes_dense:
        for at in range(room):
            set_cell(pool, first + at, at)
        for at in range(start, start + size):
            copy_cell(pool, at, first + pool.labels[at])
        filled = room
    else:
        for at in range(start, start + size):
            if not was_dense or has_value(pool, at):
                pool.labels[first + filled] = pool.labels[at]
                copy_cell(pool, at, first + filled)
                filled += 1
    if old > 0:
        give(pool, start, old)
    heads[row, START], heads[row, SIZE] = first // UNIT, filled
    heads[row, ROOM], heads[row, DENSE] = room, becomes_dense


@kernel
def first_cell(heads, row):
    """Return the first cell of a row."""
    return np.int64(heads[row, START]) * UNIT


@kernel
def has_value(pool, at):
    """Tell whether a cell has any value."""
    if pool.values[at * pool.layers] != 0.0:
        return True
    return pool.layers > 1 and pool.values[at * pool.layers + 1] != 0.0


@kernel
def set_cell(pool, at, label):
    """Give a cell to a label, without a value."""
    pool.labels[at] = label
    pool.values[at * pool.layers] = np.float32(0.0)
    if pool.layers > 1:
        pool.values[at * pool.layers + 1] = np.float32(0.0)


@kernel
def copy_cell(pool, source, target):
    """Copy the values of a cell."""
    pool.values[target * pool.layers] = pool.values[source * pool.layers]
    if pool.layers > 1:
        pool.values[target * pool.layers + 1] = pool.values[source * pool.layers + 1]


@kernel
def find(heads, row, pool, label):
    """Return the cell of a label in a row, −1 if they never met."""
    start, size = first_cell(heads, row), heads[row, SIZE]
    if heads[row, DENSE]:
        return start + label if label < size else -1
    at = find_label(pool.labels[start : start + size], label)
    return start + at if at >= 0 else -1


@kernel
def find_label(labels, wanted):
    """Return the place of a label in a list, −1 if it is not there."""
    whole = labels.shape[0] - labels.shape[0] % BLOCK
    for first in range(0, whole, BLOCK):  # no branch inside, so that it vectorises
        block, hits = labels[first : first + BLOCK], 0
        for at in range(BLOCK):
            hits += block[at] == wanted
        if hits > 0:
            for at in range(BLOCK):
                if block[at] == wanted:
                    return first + at
    for at in range(whole, labels.shape[0]):
        if labels[at] == wanted:
            return at
    return -1


@kernel
def reach(heads, row, pool, label, labels):
    """Return the cell of a label in a row, a new one if they never met."""
    at = find(heads, row, pool, label)
    return at if at >= 0 else append(heads, row, pool, label, labels)


@kernel
def append(heads, row, pool, label, labels):
    """Add a cell for a label that the row has not met; returns it."""
    size = heads[row, SIZE]
    if heads[row, DENSE] or size == heads[row, ROOM]:
        move(heads, row, pool, room_for(size + 1), labels)
        if heads[row, DENSE]:
            return first_cell(heads, row) + label
        size = heads[row, SIZE]
    at = first_cell(heads, row) + size
    set_cell(pool, at, label)
    heads[row, SIZE] = size + 1
    return at


@kernel
def most_room(heads, row, pool, more, labels):
    """Return the most cells that a row takes from the pool when ``more`` labels meet it.

    Its block grows step by step, and all blocks on the way together are less than four of the last.
    """
    room = room_for(heads[row, SIZE] + more)
    if room == heads[row, ROOM] and not heads[row, DENSE]:
        return 0
    return 4 * max(room, room_for(labels) if is_dense(pool, room, labels) else 0)


# ── a document ───────────────────────────────────────────────────────────────────────────────────
#
# A document touches the labels that its words have met: its candidates. There are two ways to hold
# their terms. Wide: every label is a candidate, in the order of labels. Narrow: only the touched
# labels are, in the order in which they are met; ``work.ids`` has their numbers.


@inlined
def meet(state, buckets, labels, everything, work):
    """Add up the cells of a document's buckets by candidate; returns whether wide, and how many.

    ``work.both`` becomes ⟨S_j, x⟩, with ⟨w_j, x⟩ behind it if there are weights.
    """
    heads, pool = state.rows, state.pool
    listed, dense = 0, 0
    for at in range(buckets.shape[0]):
        listed += heads[buckets[at], SIZE]
        dense += heads[buckets[at], DENSE]
    if everything or dense > 0 or 4 * listed >= labels:
        add_wide(
            heads, pool.labels, pool.values, pool.layers, buckets, work.x, labels, work.both,
            work.places[0], work.weights,
        )  # fmt: skip
        return True, labels
    n = add_narrow(
        heads, pool.labels, pool.values, pool.layers, buckets, work.x, work.slots, work.ids,
        work.both,
    )  # fmt: skip
    gather(work.ids[:n], state.scales, state.bias[0], work.scales, work.bias)
    return False, n


@kernel(fastmath={"contract"})
def add_wide(heads, cell_labels, values, layers, buckets, x, labels, out, starts, shares):
    """Add up the cells of every label, four dense rows at a time.

    ``starts`` and ``shares`` are scratch: where dense rows begin, and the weights of their buckets.
    """
    width, full = labels * layers, 0
    out[:width] = np.float32(0.0)
    for at in range(buckets.shape[0]):
        bucket, own = buckets[at], x[at]
        start, size = first_cell(heads, bucket), heads[bucket, SIZE]
        if heads[bucket, DENSE] == 0:
            if layers > 1:
                for cell in range(start, start + size):
                    place = 2 * cell_labels[cell]
                    out[place] += own * values[2 * cell]
                    out[place + 1] += own * values[2 * cell + 1]
            else:
                for cell in range(start, start + size):
                    out[cell_labels[cell]] += own * values[cell]
        elif size >= labels:
            starts[full], shares[full] = start * layers, own
            full += 1
        else:
            add_row(values, start * layers, size * layers, own, out)
    whole = full - full % 4
    for at in range(0, whole, 4):
        x0, x1, x2, x3 = shares[at], shares[at + 1], shares[at + 2], shares[at + 3]
        r0 = values[starts[at] : starts[at] + width]
        r1 = values[starts[at + 1] : starts[at + 1] + width]
        r2 = values[starts[at + 2] : starts[at + 2] + width]
        r3 = values[starts[at + 3] : starts[at + 3] + width]
        for i in range(width):
            out[i] += x0 * r0[i] + x1 * r1[i] + x2 * r2[i] + x3 * r3[i]
    for at in range(whole, full):
        add_row(values, starts[at], width, shares[at], out)


@kernel(fastmath={"contract"})
def add_row(values, first, size, x, out):
    """``out[i] += x · values[first + i]`` for a dense row."""
    row = values[first : first + size]
    for i in range(size):
        out[i] += x * row[i]


@kernel(fastmath={"contract"})
def add_narrow(heads, cell_labels, values, layers, buckets, x, slots, ids, both):
    """Add up lists of cells by candidate, as ``add_wide`` does; returns how many candidates."""
    n = 0
    for at in range(buckets.shape[0]):
        bucket, own = buckets[at], x[at]
        start = first_cell(heads, bucket)
        for cell in range(start, start + heads[bucket, SIZE]):
            label = cell_labels[cell]
            place = slots[label]
            if place < 0:
                place = n
                slots[label], ids[n] = n, label
                both[layers * n] = np.float32(0.0)
                both[layers * n + layers - 1] = np.float32(0.0)
                n += 1
            both[layers * place] += own * values[layers * cell]
            if layers > 1:
                both[2 * place + 1] += own * values[2 * cell + 1]
    return n


@kernel
def gather(ids, scales, bias, own_scales, own_bias):
    """Copy what scoring needs of some labels."""
    for p in range(ids.shape[0]):
        own_scales[p] = scales[ids[p]]
        own_bias[p] = bias[ids[p]]


@inlined
def candidate(state, label, wide, n, work):
    """Return the place of a label among the candidates, a new one if needed, and their number."""
    if wide:
        return label, n
    place = work.slots[label]
    if place < 0:
        place, layers = n, state.pool.layers
        work.slots[label], work.ids[n] = n, label
        work.both[layers * n] = np.float32(0.0)
        work.both[layers * n + layers - 1] = np.float32(0.0)
        work.scales[n], work.bias[n] = state.scales[label], state.bias[0, label]
        work.cosines[n], work.fractions[n], work.looks[n] = 0.0, 0.0, 0.0
        work.scores[n] = -np.inf
        n += 1
    return place, n


@inlined
def leave(wide, n, work):
    """Forget the candidates of a document."""
    if not wide:
        for p in range(n):
            work.slots[work.ids[p]] = -1


# ── cells to change ──────────────────────────────────────────────────────────────────────────────


@kernel
def locate(heads, pool, buckets, moved, labels, places):
    """Find the cells of some labels in a document's buckets, and make those that are missing.

    Writes where the sum of label ``moved[s]`` in bucket ``buckets[at]`` is to ``places[s, at]``.
    """
    many, layers = moved.shape[0], pool.layers
    for at in range(buckets.shape[0]):
        bucket = buckets[at]
        start, size = first_cell(heads, bucket), heads[bucket, SIZE]
        missing = 0
        if heads[bucket, DENSE]:
            for s in range(many):
                places[s, at] = (start + moved[s]) * layers
                missing += moved[s] >= size
        else:
            for s in range(many):
                cell = find_label(pool.labels[start : start + size], moved[s])
                places[s, at] = (start + cell) * layers
                if cell < 0:
                    places[s, at] = -1
                    missing += 1
        if missing > 0:
            if heads[bucket, DENSE] == 0 and size + missing <= heads[bucket, ROOM]:
                for s in range(many):
                    if places[s, at] < 0:
                        places[s, at] = append(heads, bucket, pool, moved[s], labels) * layers
            else:
                extend(heads, bucket, pool, moved, labels, places[:, at])


@kernel
def extend(heads, row, pool, moved, labels, places):
    """Make the missing cells of a row that has to move, and write all places.

    A dense row that becomes a list loses cells without a value: then all are looked up again.
    """
    many, layers = moved.shape[0], pool.layers
    if heads[row, DENSE]:
        for s in range(many):
            reach(heads, row, pool, moved[s], labels)
        for s in range(many):  # some may have been lost after they were reached
            reach(heads, row, pool, moved[s], labels)
        for s in range(many):
            places[s] = find(heads, row, pool, moved[s]) * layers
        return
    size, start = heads[row, SIZE], first_cell(heads, row)
    filled = size
    for s in range(many):
        filled += places[s] < 0
    move(heads, row, pool, room_for(filled), labels)
    first = first_cell(heads, row)
    if heads[row, DENSE]:
        for s in range(many):
            places[s] = (first + moved[s]) * layers
        return
    for s in range(many):
        if places[s] >= 0:
            places[s] += (first - start) * layers
        else:
            set_cell(pool, first + size, moved[s])
            places[s] = (first + size) * layers
            size += 1
    heads[row, SIZE] = size
