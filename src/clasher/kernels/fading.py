"""Forgetting as lazy scales: what is new counts for more, so that what is old counts for less.

All that is summed for a label only matters in relation to the rest of it, so nothing old is
touched: a document counts as much as the clock says, which grows with every document, times the
label's own gain, which grows when some of that label's past is given up. Before the numbers get
out of hand all sums are scaled down by powers of two, which rounds nothing.
"""

import math

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.state import FADED, LABELS, NOW

LIMIT = 2.0**60  # what a document may count; sums and squares of so much still fit float32
FAINT = 2.0**-40  # a label's documents never count for less: unseen beside a new one in float32
TINY = 1e-300  # a frequency never gets less: the bucket was used


@inlined
def gain(state, label):
    """What a document counts for a label now; 1 while nothing is forgotten."""
    return state.clock[NOW] * state.gains[label]


@inlined
def tick(state, growth):
    """One document has passed."""
    state.clock[NOW] *= growth
    if state.clock[NOW] > LIMIT:
        rescale(state)


@kernel(allocating=True)
def rescale(state):
    """Make a document count one or a little more again; rounds nothing."""
    _, power = math.frexp(state.clock[NOW])
    shrink = math.ldexp(1.0, 1 - power)
    state.clock[NOW] *= shrink
    owns = np.empty(state.totals[LABELS], np.float64)
    for j in range(owns.shape[0]):
        _, power = math.frexp(state.gains[j])
        owns[j] = math.ldexp(1.0, 1 - power)
        state.gains[j] *= owns[j]
    shrink_all(state, shrink, owns)


@kernel(allocating=True)
def settle(state):
    """Make a document count one, so that sums of labels and of models add up."""
    shrink, owns = 1.0 / state.clock[NOW], 1.0 / state.gains[: state.totals[LABELS]]
    state.clock[NOW] = 1.0
    state.gains[:] = 1.0
    shrink_all(state, shrink, owns)


@kernel(allocating=True)
def shrink_all(state, shrink, owns):
    """Scale down the sketch, and all that is summed for every label by its own factor too."""
    shrink_sketch(state, shrink)
    factors = np.ones((2, owns.shape[0]), np.float32)  # of sums and classes
    for j in range(owns.shape[0]):
        own = owns[j]
        factors[0, j] = shrink_label(state, j, shrink * own)
        state.bias[1, j] *= own
        if state.members.shape[0] > 0:
            factors[1, j] = at_least_faint(state.members[0, j], shrink * own)
            state.members[0, j] *= factors[1, j]
    scale_columns(state.rows[:, 0], factors[0])
    scale_columns(state.classes, factors[1])


@kernel
def scale_columns(array, factors):
    """Multiply the column of each label."""
    for bucket in range(array.shape[0]):
        for j in range(factors.shape[0]):
            array[bucket, j] *= factors[j]


@kernel
def shrink_sketch(state, shrink):
    """Scale down the number of documents and all document frequencies."""
    state.clock[FADED] *= shrink
    for depth in range(state.frequencies.shape[0]):
        for bucket in range(state.frequencies.shape[1]):
            if state.frequencies[depth, bucket] > 0.0:
                faded = state.frequencies[depth, bucket] * shrink
                state.frequencies[depth, bucket] = max(faded, TINY)


@kernel
def shrink_label(state, label, shrink):
    """Scale down what is kept for a label once; returns the factor of its sums per bucket.

    A label that has not been seen for long keeps its mean and its fractions: only their weight
    beside a new document is gone. A perceptron's weights are no means: they go.
    """
    kept = at_least_faint(state.counts[label], shrink)
    state.counts[label] *= kept
    if state.together.shape[0] == 0:
        state.bias[0, label] *= shrink
        return shrink
    for other in range(state.together.shape[1]):
        state.together[label, other] *= np.float32(kept)
    state.norms[label] *= kept * kept
    state.scales[label] /= kept
    return kept


@kernel
def at_least_faint(documents, shrink):
    """The factor, or a larger one where less than a faint trace of the documents would remain."""
    while documents * shrink < FAINT and shrink < 1.0:
        shrink *= 2.0
    return shrink
