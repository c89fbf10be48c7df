"""Taking documents back: the steps of the centroid rule with a negative weight."""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.classes import count_classes
from clasher.kernels.fading import gain
from clasher.kernels.labels import UNLABELLED, mark, relate
from clasher.kernels.regions import feed
from clasher.kernels.sketch import uncount, weigh
from clasher.kernels.state import LABELLED, LABELS, NO_MEASURE, NOW, PERCEPTRON


@kernel
def unlearn_document(buckets, counts, places, keys, known, ids, yes, state, setting, work):
    """Algorithm 5 backwards: the document leaves the sketch and the regions of its labels.

    It is weighed as if it came now, which is as it was weighed where weights do not change.
    """
    uncount(state, setting, buckets, keys)
    if known == UNLABELLED:
        return
    weigh(state, setting, buckets, counts, places, keys, work)
    state.clock[NOW] *= setting.growth  # its labels were learnt when it had been counted
    labels = state.totals[LABELS]
    mark(work.truth, labels, known, ids, yes)
    state.totals[LABELLED] -= 1
    if setting.measure != NO_MEASURE:
        count_classes(state, setting.measure, buckets, ids, yes, -1.0)
    for at in range(ids.shape[0]):
        if yes[at]:
            label = ids[at]
            weight = -min(gain(state, label), state.counts[label])
            if setting.rule == PERCEPTRON:
                state.counts[label] += weight
            else:
                before = state.counts[label]
                feed(state, label, buckets, work.x, weight)
                relate(state, label, known, ids, yes, work.truth, labels, weight, before)
                tidy(state, label, labels)
    state.clock[NOW] /= setting.growth


@kernel
def tidy(state, label, labels):
    """Keep a region possible: fractions from 0 to 1, and nothing of it after its last document."""
    n = state.counts[label]
    for j in range(labels):
        state.together[label, j] = min(max(state.together[label, j], np.float32(0.0)), n)
    if n == 0.0:
        for bucket in range(state.rows.shape[0]):
            state.rows[bucket, 0, label] = np.float32(0.0)
        state.norms[label] = 0.0
        state.scales[label] = 0.0
