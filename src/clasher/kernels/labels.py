"""Region statistics → label sets, and the truth of one document as a row."""

import numpy as np

from clasher.kernels import inlined, kernel

UNKNOWN, NO, YES = np.int8(-1), np.int8(0), np.int8(1)
UNLABELLED, COMPLETE, PARTIAL = np.uint8(0), np.uint8(1), np.uint8(2)


@kernel
def fractions(state, region, labels, out):
    """Eq. 15: the fraction of the region's documents that carry each label."""
    if region < 0:
        for j in range(labels):
            out[j] = 0.0
        return
    n = state.counts[region]
    for j in range(labels):
        out[j] = state.together[region, j] / n


@inlined
def above(scores, labels, counts, threshold, floor, out):
    """Eq. 13: the labels above the threshold, or else the best one above the floor; how many."""
    found = 0
    best = -1
    for j in range(labels):
        if counts[j] > 0.0:
            if scores[j] > threshold:
                out[found] = j
                found += 1
            if best < 0 or scores[j] > scores[best]:
                best = j
    if found == 0 and best >= 0 and scores[best] > floor:
        out[0] = best
        found = 1
    return found


@inlined
def mark(truth, labels, known, ids, yes):
    """Write what is known of one document's labels over the row ``truth``."""
    rest = NO if known == COMPLETE else UNKNOWN
    for j in range(labels):
        truth[j] = rest
    for at in range(ids.shape[0]):
        truth[ids[at]] = YES if yes[at] else NO


@kernel
def is_empty(known, ids, yes, labels):
    """Whether a document is known to carry none of the labels."""
    for at in range(ids.shape[0]):
        if yes[at]:
            return False
    return known == COMPLETE or ids.shape[0] == labels


@inlined
def relate(state, label, known, ids, yes, truth, labels, weight, before):
    """Eq. 16 in counts: who came together with ``label``, whose count was raised from ``before``.

    An unknown label leaves its fraction of the region as it is.
    """
    for at in range(ids.shape[0]):
        if yes[at]:
            state.together[label, ids[at]] += np.float32(weight)
    if known == PARTIAL and before > 0.0:
        grown = np.float32(state.counts[label] / before)
        for j in range(labels):
            if truth[j] == UNKNOWN:
                state.together[label, j] *= grown
