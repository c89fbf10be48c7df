"""Forgetting by lazy scales: new documents count more, instead of old ones less.

Only ratios of a label's sums matter, so old values stay untouched: a document counts as much as
the clock says, which grows with every document, times the label's gain, which grows when the label
forgets some of its past. Before numbers get too large, all sums are scaled down by powers of two,
which rounds nothing.
"""

import math

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import first_cell
from clasher.kernels.state import FADED, LABELS, NOW, SIZE

LIMIT = 2.0**60  # the most a document counts; sums and squares of it still fit float32
FAINT = 2.0**-40  # the least a label's documents count: nothing beside a new one in float32
TINY = 1e-300  # the lowest frequency of a used bucket


@inlined
def gain(clock, gains, label):
    """Return what a document counts for a label now; 1 if nothing is forgotten."""
    return clock[NOW] * gains[label]


@inlined
def tick(state, growth):
    """Advance the clock by one document."""
    state.clock[NOW] *= growth
    if state.clock[NOW] > LIMIT:
        rescale(state)


@kernel(allocating=True)
def rescale(state):
    """Scale down until a document counts about one again; rounds nothing."""
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
    """Scale down until a document counts exactly one, so that models can be added."""
    shrink, owns = 1.0 / state.clock[NOW], 1.0 / state.gains[: state.totals[LABELS]]
    state.clock[NOW] = 1.0
    state.gains[:] = 1.0
    shrink_all(state, shrink, owns)


@kernel(allocating=True)
def shrink_all(state, shrink, owns):
    """Scale down the sketch, and the sums of every label by its own factor too."""
    shrink_sketch(state, shrink)
    factors = np.ones((2, owns.shape[0]), np.float32)  # of sums and classes
    for j in range(owns.shape[0]):
        own = owns[j]
        factors[0, j] = shrink_label(state, j, shrink * own)
        state.bias[1, j] *= own
        if state.members.shape[0] > 0:
            factors[1, j] = at_least_faint(state.members[0, j], shrink * own)
            state.members[0, j] *= factors[1, j]
    scale_labels(state.rows, state.pool, factors[0])
    scale_labels(state.classes, state.pool, factors[1])


@kernel
def scale_labels(heads, pool, factors):
    """Multiply the sums of each label by its factor."""
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        for at in range(start, start + heads[row, SIZE]):
            if pool.labels[at] < factors.shape[0]:
                pool.values[at * pool.layers] *= factors[pool.labels[at]]


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
    """Scale down the counts of a label; returns the factor for its sums per bucket.

    A label unseen for long keeps its mean and fractions, which weigh nothing beside a new
    document. A perceptron's weights are no means: they fade to nothing.
    """
    kept = at_least_faint(state.counts[label], shrink)
    state.counts[label] *= kept
    if state.together.shape[0] == 0:
        state.bias[0, label] *= shrink
        return shrink
    start = first_cell(state.together, label)
    for at in range(start, start + state.together[label, SIZE]):
        state.pool.values[at * state.pool.layers] *= np.float32(kept)
    state.norms[label] *= kept * kept
    state.scales[label] /= kept
    return kept


@kernel
def at_least_faint(documents, shrink):
    """Raise the factor until at least a faint trace of the documents remains."""
    while documents * shrink < FAINT and shrink < 1.0:
        shrink *= 2.0
    return shrink
