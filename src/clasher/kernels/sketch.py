"""Signed counts → weights, and the document frequencies behind them."""

import math

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.classes import factor
from clasher.kernels.state import DOCUMENTS, LABELLED, LABELS, NO_MEASURE


@kernel
def weigh(state, setting, buckets, counts, x):
    """Algorithm 3, as if the document had been counted; returns the length of ``x``.

    What labels tell of words is taken as it stands: the document to come has none yet.
    """
    frequencies = state.frequencies[0]
    total = math.log(state.totals[DOCUMENTS] + 1.0)
    labels, labelled = np.float64(state.totals[LABELS]), np.float64(state.totals[LABELLED])
    squared = 0.0
    for at in range(buckets.shape[0]):
        weight = np.float64(counts[at])
        if setting.log_tf and weight != 0.0:
            weight = math.copysign(1.0 + math.log(abs(weight)), weight)
        if setting.idf:
            weight *= total - math.log(frequencies[buckets[at]] + 1.0)
        if setting.measure != NO_MEASURE:
            kept = state.terms[1, buckets[at]]
            weight *= factor(kept, setting.measure, labels, labelled)
        x[at] = weight
        squared += weight * weight
    length = math.sqrt(squared)
    if setting.unit and length > 0.0:
        scale = 1.0 / length
        for at in range(buckets.shape[0]):
            x[at] *= scale
        return 1.0
    return length


@kernel
def count(state, buckets):
    """Algorithm 3, lines 6 and 7: each bucket of the document once, and the document."""
    for at in range(buckets.shape[0]):
        state.frequencies[0, buckets[at]] += 1.0
    state.totals[DOCUMENTS] += 1
