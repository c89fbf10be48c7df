"""Lists of cells: for each row, the labels that met it, with their values.

A row is a bucket (its cells hold a sum and a weight per label), or a label (how often others came
with it). All rows of a model share one pool of cells, reserved once, of which the system commits
what is used: nothing is copied when a model grows. A row begins as a list in order of arrival. When
most labels have met it, it becomes dense: one cell for each label, in their order. A cell without
value is the same as none.
"""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.state import DENSE, FREE, ROOM, SIZE, START, TOP, UNIT, USED

SHARE = 2  # a list becomes dense when it would have room for more than a SHAREth of all labels


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
    becomes_dense = room * SHARE > labels
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
    for at in range(start, start + size):
        if pool.labels[at] == label:
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
def most_room(heads, row, more, labels):
    """Return the most cells that a row takes from the pool when ``more`` labels meet it.

    Its block grows step by step, and all blocks on the way together are less than four of the last.
    """
    room = room_for(heads[row, SIZE] + more)
    if room == heads[row, ROOM] and not heads[row, DENSE]:
        return 0
    return 4 * max(room, room_for(labels) if room * SHARE > labels else 0)


# ── a document ───────────────────────────────────────────────────────────────────────────────────


@kernel(fastmath={"contract"})
def add_row(values, first, size, x, out):
    """``out[i] += x · values[first + i]`` for a dense row."""
    row = values[first : first + size]
    for i in range(size):
        out[i] += x * row[i]


@inlined
def meet(heads, pool, buckets, x, labels, everything, work):
    """Add up the cells of a document's buckets by label; returns how many labels it touches.

    ``work.both`` becomes ⟨S_j, x⟩, with ⟨w_j, x⟩ behind it if there are weights, for the touched
    labels: ``work.touched``, marked in ``work.marks``. They are those where one of both is not 0,
    or ``everything``.
    """
    listed, dense = 0, 0
    for at in range(buckets.shape[0]):
        listed += heads[buckets[at], SIZE]
        dense += heads[buckets[at], DENSE]
    if everything or dense > 0 or 4 * listed >= labels:
        layers, both = pool.layers, work.both
        add_all(heads, pool.labels, pool.values, layers, buckets, x, labels, both)
        return list_met(labels, layers, everything, both, work.marks, work.touched)
    return meet_few(heads, pool, buckets, x, work.both, work.marks, work.touched)


@kernel
def add_all(heads, cell_labels, values, layers, buckets, x, labels, out):
    """Add up the cells of every label."""
    width = labels * layers
    out[:width] = np.float32(0.0)
    for at in range(buckets.shape[0]):
        bucket, own = buckets[at], x[at]
        start, size = first_cell(heads, bucket), heads[bucket, SIZE]
        if heads[bucket, DENSE]:
            add_row(values, start * layers, min(size * layers, width), own, out)
        elif layers > 1:
            for cell in range(start, start + size):
                place = cell_labels[cell] * 2
                out[place] += own * values[cell * 2]
                out[place + 1] += own * values[cell * 2 + 1]
        else:
            for cell in range(start, start + size):
                out[cell_labels[cell]] += own * values[cell]


@kernel
def list_met(labels, layers, everything, both, marks, touched):
    """List and mark the labels with a sum that is not 0, or all; returns how many."""
    n = 0
    for j in range(labels):
        touched[n] = j
        is_met = (both[j * layers] != 0.0) | (both[j * layers + layers - 1] != 0.0) | everything
        marks[j] = is_met
        n += is_met
    return n


@kernel
def meet_few(heads, pool, buckets, x, both, marks, touched):
    """Keep to the labels in the lists."""
    layers = pool.layers
    found = 0
    for at in range(buckets.shape[0]):
        bucket, own = buckets[at], x[at]
        start = first_cell(heads, bucket)
        for cell in range(start, start + heads[bucket, SIZE]):
            label = pool.labels[cell]
            place = label * layers
            if not marks[label]:
                marks[label] = True
                touched[found] = label
                found += 1
                both[place] = np.float32(0.0)
                both[place + layers - 1] = np.float32(0.0)
            both[place] += own * pool.values[cell * layers]
            if layers > 1:
                both[place + 1] += own * pool.values[cell * layers + 1]
    n = 0
    for at in range(found):
        label = touched[at]
        touched[n] = label
        place = label * layers
        is_met = (both[place] != 0.0) | (both[place + layers - 1] != 0.0)
        marks[label] = is_met
        n += is_met
    return n


@inlined
def touch(label, touched, layers, work):
    """Touch a label that no word of the document has met; returns how many are touched."""
    if not work.marks[label]:
        work.marks[label] = True
        work.touched[touched] = label
        clear_terms(label, layers, work)
        touched += 1
    return touched


@inlined
def clear_terms(label, layers, work):
    """Clear the terms of a label that no word of the document has met."""
    work.both[label * layers] = np.float32(0.0)
    work.both[label * layers + layers - 1] = np.float32(0.0)
    work.cosines[label] = 0.0
    work.fractions[label] = 0.0
    work.looks[label] = 0.0


@inlined
def leave(touched, work):
    """Take the marks away, after a document."""
    for at in range(touched):
        work.marks[work.touched[at]] = False


@kernel
def locate(heads, pool, buckets, moved, labels, places, slots):
    """Find the cells of some labels in a document's buckets, and make those that are missing.

    Writes where the sum of label ``moved[s]`` in bucket ``buckets[at]`` is to ``places[s, at]``.
    """
    many = moved.shape[0]
    for s in range(many):
        slots[moved[s]] = s
    for at in range(buckets.shape[0]):
        bucket = buckets[at]
        start, size = first_cell(heads, bucket), heads[bucket, SIZE]
        if heads[bucket, DENSE] == 0:
            missing = many
            for s in range(many):
                places[s, at] = -1
            for cell in range(start, start + size):
                s = slots[pool.labels[cell]]
                if s >= 0:
                    places[s, at] = cell * pool.layers
                    missing -= 1
            if missing > 0:
                extend(heads, bucket, pool, moved, labels, places[:, at], slots)
        else:
            longest = 0
            for s in range(many):
                places[s, at] = (start + moved[s]) * pool.layers
                longest = max(longest, moved[s])
            if longest >= size:
                lengthen(heads, bucket, pool, moved, labels, places[:, at])
    for s in range(many):
        slots[moved[s]] = -1


@kernel
def extend(heads, row, pool, moved, labels, places, slots):
    """Append the labels without a place to a list, and write all places again."""
    for s in range(moved.shape[0]):
        if places[s] < 0 and not heads[row, DENSE]:
            append(heads, row, pool, moved[s], labels)
    start = first_cell(heads, row)
    if heads[row, DENSE]:
        for s in range(moved.shape[0]):
            places[s] = (start + moved[s]) * pool.layers
    else:
        for cell in range(start, start + heads[row, SIZE]):
            s = slots[pool.labels[cell]]
            if s >= 0:
                places[s] = cell * pool.layers


@kernel
def lengthen(heads, row, pool, moved, labels, places):
    """Make the missing cells of a dense row that is too short, and write all places again.

    A dense row that becomes a list loses cells without a value, which happens once: the second pass
    makes them again.
    """
    for _ in range(2):
        for s in range(moved.shape[0]):
            reach(heads, row, pool, moved[s], labels)
    for s in range(moved.shape[0]):
        places[s] = find(heads, row, pool, moved[s]) * pool.layers


@inlined
def spread(heads, row, pool, out):
    """Write a row's sums by label; ``clear_spread`` takes them away."""
    start = first_cell(heads, row)
    for at in range(start, start + heads[row, SIZE]):
        out[pool.labels[at]] = pool.values[at * pool.layers]


@inlined
def clear_spread(heads, row, pool, out):
    """Clear what ``spread`` has written."""
    start = first_cell(heads, row)
    for at in range(start, start + heads[row, SIZE]):
        out[pool.labels[at]] = np.float32(0.0)
