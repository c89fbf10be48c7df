"""Merge the columns of two models: column ``kept[at]`` of theirs into ``places[at]`` of mine."""

import numpy as np

from clasher.kernels import kernel


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
def blend_weights(
    mine, theirs, my_squares, their_squares, my_parts, their_parts, kept, places
):  # fmt: skip
    """Do the same for weights whose AdaGrad sums are kept per bucket and split among labels."""
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            there = theirs[row, kept[at]]
            here = mine[row, places[at]]
            if here == 0.0:
                mine[row, places[at]] = there
            elif there != 0.0:
                my_root = np.sqrt(my_squares[row] * my_parts[places[at]])
                their_root = np.sqrt(their_squares[row] * their_parts[kept[at]])
                share = their_root / (my_root + their_root)
                mine[row, places[at]] = here + share * (there - here)


@kernel
def sum_squares(rows, places, out):
    """‖S_i‖² of some labels, in double precision."""
    for at in range(places.shape[0]):
        out[places[at]] = 0.0
    for row in range(rows.shape[0]):
        for at in range(places.shape[0]):
            value = np.float64(rows[row, places[at]])
            out[places[at]] += value * value
