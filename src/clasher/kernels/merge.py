"""Merge two models: label ``kept[at]`` of theirs into label ``places[at]`` of mine.

Functions that add cells stop before a row for which the pool has no room, and return its number.
"""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.cells import find, first_cell, has_value, most_room, reach
from clasher.kernels.state import LIMIT, SIZE, TOP

NO_WEIGHTS, ADD, BLEND = 0, 1, 2


@kernel
def add_columns(mine, theirs, kept, places):
    """Add sums."""
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            mine[row, places[at]] += theirs[row, kept[at]]


@kernel
def blend_columns(mine, theirs, kept, places, shares):
    """Average other values; ``shares`` says how much of each column is theirs."""
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            share = np.float32(shares[at])
            here = mine[row, places[at]]
            mine[row, places[at]] = here + share * (theirs[row, kept[at]] - here)


@kernel
def blend_learnt(mine, theirs, my_squares, their_squares, kept, places):
    """Average weights, each by how far it was learnt: the root of its AdaGrad sum.

    A weight that only one model has learnt is copied.
    """
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            here = np.sqrt(my_squares[row, places[at]])
            there = np.sqrt(their_squares[row, kept[at]])
            if there > 0.0:
                change = theirs[row, kept[at]] - mine[row, places[at]]
                mine[row, places[at]] += there / (here + there) * change


@kernel
def add_cells(
    first, heads, pool, theirs, their_pool, rows, places, factors, how, my_squares, their_squares,
    my_parts, their_parts, labels,
):  # fmt: skip
    """Add their sums, times the factors of their labels, and their weights to mine.

    Their row becomes my row ``rows[row]`` (without ``rows``, that of the same number), their label
    my label ``places[label]``; −1 leaves it out. Weights are added, or averaged by how far they
    were learnt: their AdaGrad sums are kept per bucket and split among labels.
    """
    for their_row in range(first, theirs.shape[0]):
        row = rows[their_row] if rows.shape[0] > 0 else their_row
        size, start = theirs[their_row, SIZE], first_cell(theirs, their_row)
        if row < 0 or size == 0:
            continue
        if most_room(heads, row, pool, size, labels) > pool.free[LIMIT] - pool.free[TOP]:
            return their_row
        for there in range(start, start + size):
            label = their_pool.labels[there]
            if label >= places.shape[0] or places[label] < 0 or not has_value(their_pool, there):
                continue
            here = reach(heads, row, pool, places[label], labels)
            pool.values[here * pool.layers] += (
                np.float32(factors[label]) * their_pool.values[there * their_pool.layers]
            )
            if how == ADD:
                pool.values[here * pool.layers + 1] += their_pool.values[
                    there * their_pool.layers + 1
                ]
            elif how == BLEND:
                mine, other = (
                    pool.values[here * pool.layers + 1],
                    their_pool.values[there * their_pool.layers + 1],
                )
                if mine == 0.0:
                    pool.values[here * pool.layers + 1] = other
                elif other != 0.0:
                    my_root = np.sqrt(my_squares[row] * my_parts[places[label]])
                    their_root = np.sqrt(their_squares[row] * their_parts[label])
                    share = their_root / (my_root + their_root)
                    pool.values[here * pool.layers + 1] = mine + share * (other - mine)
    return theirs.shape[0]


@kernel
def join_cells(heads, pool, a, b, his, mine, share, labels, first):
    """Add label ``a`` to label ``b``: sums times ``his`` and ``mine``, weights by ``share``."""
    for row in range(first, heads.shape[0]):
        source = find(heads, row, pool, a)
        if source >= 0 and has_value(pool, source):
            if most_room(heads, row, pool, 1, labels) > pool.free[LIMIT] - pool.free[TOP]:
                return row
            target = reach(heads, row, pool, b, labels)
            source = find(heads, row, pool, a)
            pool.values[target * pool.layers] = (
                mine * pool.values[target * pool.layers] + his * pool.values[source * pool.layers]
            )
            if pool.layers > 1:
                other = share * pool.values[source * pool.layers + 1]
                pool.values[target * pool.layers + 1] = (
                    other + (1.0 - share) * pool.values[target * pool.layers + 1]
                )
        else:
            target = find(heads, row, pool, b)
            if target >= 0:
                pool.values[target * pool.layers] *= mine
                if pool.layers > 1:
                    pool.values[target * pool.layers + 1] *= 1.0 - share
    return heads.shape[0]


@kernel
def sum_squares(heads, pool, chosen, out):
    """‖S_i‖² of the chosen labels, in double precision."""
    for label in range(chosen.shape[0]):
        if chosen[label]:
            out[label] = 0.0
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        for at in range(start, start + heads[row, SIZE]):
            label = pool.labels[at]
            if label < chosen.shape[0] and chosen[label]:
                value = np.float64(pool.values[at * pool.layers])
                out[label] += value * value
