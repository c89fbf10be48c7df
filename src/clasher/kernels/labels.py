"""From region statistics to label sets, and counts of hits and errors."""

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
    """Eq. 13: write labels above the threshold, or the best above the floor; returns how many."""
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
    """Write YES, NO or UNKNOWN for each label of one document to ``truth``."""
    rest = NO if known == COMPLETE else UNKNOWN
    for j in range(labels):
        truth[j] = rest
    for at in range(ids.shape[0]):
        truth[ids[at]] = YES if yes[at] else NO


@kernel
def is_empty(known, ids, yes, labels):
    """Tell whether a document is known to have no label."""
    for at in range(ids.shape[0]):
        if yes[at]:
            return False
    return known == COMPLETE or ids.shape[0] == labels


@inlined
def is_missed(label, chosen):
    """Tell whether a label is not among the predicted ones."""
    for predicted in chosen:  # noqa: SIM110 - Numba compiles no generators
        if predicted == label:
            return False
    return True


@inlined
def relate(state, label, known, ids, yes, truth, labels, weight, before):
    """Eq. 16 in counts: add the labels that came with ``label``, whose count was ``before``.

    The fraction of an unknown label stays.
    """
    for at in range(ids.shape[0]):
        if yes[at]:
            state.together[label, ids[at]] += np.float32(weight)
    if known == PARTIAL and before > 0.0:
        grown = np.float32(state.counts[label] / before)
        for j in range(labels):
            if truth[j] == UNKNOWN:
                state.together[label, j] *= grown


TP, FP, FN, STATED = 0, 1, 2, 3
"""Rows of ``counts``; STATED counts the partial documents that state a label, as yes or no."""

JUDGED, WHOLE, EXACT = 0, 1, 2
"""Places in ``totals``: judged documents, with complete labels, without an error."""

_NOTHING, _YES, _NO, _DONE = 0, 1, 2, 3


@kernel
def count(
    truth_ids,  # int64[entries]
    truth_indptr,  # int64[documents + 1]
    truth_yes,  # bool[entries]
    known,  # uint8[documents]
    predicted_ids,  # int64[entries]
    predicted_indptr,  # int64[documents + 1]
    predicted_yes,  # bool[entries]
    mark,  # uint8[labels], zeros: scratch
    first,  # int64[labels], -1: becomes the first document with a verdict on the label
    counts,  # int64[4, labels]
    totals,  # int64[3]
):
    """Add the hits and errors of every labelled document to ``counts`` and ``totals``.

    A label named twice in a document counts once. A partial document does not judge the labels
    that it does not state.
    """
    for d in range(len(known)):
        if known[d] == UNLABELLED:
            continue
        whole = known[d] == COMPLETE
        errors = 0
        for k in range(truth_indptr[d], truth_indptr[d + 1]):
            label = truth_ids[k]
            if mark[label] != _NOTHING:
                continue
            mark[label] = _YES if truth_yes[k] else _NO
            first[label] = d if first[label] < 0 else first[label]
            counts[STATED, label] += not whole
            if truth_yes[k]:
                counts[FN, label] += 1  # unless it was predicted: see below
                errors += 1
        for k in range(predicted_indptr[d], predicted_indptr[d + 1]):
            label = predicted_ids[k]
            if not predicted_yes[k] or mark[label] == _DONE:
                continue
            if mark[label] == _YES:
                counts[FN, label] -= 1
                counts[TP, label] += 1
                errors -= 1
            elif whole or mark[label] == _NO:
                first[label] = d if first[label] < 0 else first[label]
                counts[FP, label] += 1
                errors += 1
            mark[label] = _DONE
        for k in range(truth_indptr[d], truth_indptr[d + 1]):
            mark[truth_ids[k]] = _NOTHING
        for k in range(predicted_indptr[d], predicted_indptr[d + 1]):
            mark[predicted_ids[k]] = _NOTHING
        totals[JUDGED] += 1
        totals[WHOLE] += whole
        totals[EXACT] += whole and errors == 0
