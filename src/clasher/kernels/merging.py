"""Adding up the columns of two models: ``kept[at]`` of theirs goes to ``places[at]`` of mine."""

import numpy as np

from clasher.kernels import kernel


@kernel
def add_columns(mine, theirs, kept, places):
    """What is a sum adds up."""
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            mine[row, places[at]] += theirs[row, kept[at]]


@kernel
def blend_columns(mine, theirs, kept, places, shares):
    """What is not a sum becomes a mean; ``shares`` says how much of each column is theirs."""
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            share = np.float32(shares[at])
            here = mine[row, places[at]]
            mine[row, places[at]] = here + share * (theirs[row, kept[at]] - here)


@kernel
def blend_learnt(mine, theirs, my_squares, their_squares, kept, places):
    """Means of weights, each by how far it was learnt: the root of its AdaGrad sum.

    A weight that only one of the two has met stays as it is there.
    """
    for row in range(mine.shape[0]):
        for at in range(kept.shape[0]):
            here = np.sqrt(my_squares[row, places[at]])
            there = np.sqrt(their_squares[row, kept[at]])
            if there > 0.0:
                change = theirs[row, kept[at]] - mine[row, places[at]]
                mine[row, places[at]] += there / (here + there) * change


@kernel
def sum_squares(rows, places, out):
    """‖S_i‖² of some labels, in double precision."""
    for at in range(places.shape[0]):
        out[places[at]] = 0.0
    for row in range(rows.shape[0]):
        for at in range(places.shape[0]):
            value = np.float64(rows[row, places[at]])
            out[places[at]] += value * value
