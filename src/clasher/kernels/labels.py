"""From region statistics to label sets, and counts of hits and errors."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import first_cell, reach
from clasher.kernels.state import SIZE

CHUNK = 16  # candidates that are compared at once

UNKNOWN, NO, YES = np.int8(-1), np.int8(0), np.int8(1)
UNLABELLED, COMPLETE, PARTIAL = np.uint8(0), np.uint8(1), np.uint8(2)


@kernel
def fractions(together, pool, region, count, ids, scores, likely):
    """Eq. 15: the fraction of the region's documents that carry each label.

    Its labels become the candidates; returns how many there are.
    """
    n = 0
    start = first_cell(together, region)
    for at in range(start, start + together[region, SIZE]):
        both = pool.values[at * pool.layers]
        if both != 0.0:
            ids[n], scores[n], likely[n] = pool.labels[at], both / count, n
            n += 1
    return n


@kernel
def above(scores, ids, likely, counts, threshold, floor, best, out):
    """Eq. 13: write labels above the threshold, or the best above the floor; returns how many.

    ``likely`` are places of candidates that may pass; ``best`` is that of the best, or −1.
    """
    found = 0
    for at in range(likely.shape[0]):
        p = likely[at]
        if scores[p] > threshold and counts[ids[p]] > 0.0:
            place, label = found, ids[p]
            while place > 0 and out[place - 1] > label:
                out[place] = out[place - 1]
                place -= 1
            out[place] = label
            found += 1
    if found == 0 and best >= 0 and scores[best] > floor:
        out[0] = ids[best]
        found = 1
    return found


@kernel
def reaches(values, bar):
    """Tell whether one of a chunk of values is as high as a bar."""
    hits = 0
    if values.shape[0] == CHUNK:  # of a known length and without a branch, so that it vectorises
        for at in range(CHUNK):
            hits |= values[at] >= bar
    else:
        for at in range(values.shape[0]):
            hits |= values[at] >= bar
    return hits != 0


@kernel
def best_two(scores, ids, counts, n):
    """Find the two candidates with the highest scores, −1 if there are fewer.

    Of equal ones the lower label comes first.
    """
    best, second = -1, -1
    best_z, second_z = -np.inf, -np.inf
    for first in range(0, n, CHUNK):
        part = scores[first : min(first + CHUNK, n)]
        if not reaches(part, second_z):
            continue
        for at in range(part.shape[0]):
            p, z = first + at, part[at]
            if z >= second_z and z > -np.inf and counts[ids[p]] > 0.0:
                if z > best_z or (z == best_z and ids[p] < ids[best]):
                    best, second, best_z, second_z = p, best, z, best_z
                elif z > second_z or ids[p] < ids[second]:
                    second, second_z = p, z
    return best, second


@kernel
def best_two_listed(scores, ids, counts, places):
    """Find the two listed candidates with the highest scores, as ``best_two`` does among all."""
    best, second = -1, -1
    best_z, second_z = -np.inf, -np.inf
    for at in range(places.shape[0]):
        p = places[at]
        z = scores[p]
        if z >= second_z and counts[ids[p]] > 0.0:
            if z > best_z or (z == best_z and ids[p] < ids[best]):
                best, second, best_z, second_z = p, best, z, best_z
            elif z > second_z or second < 0 or ids[p] < ids[second]:
                second, second_z = p, z
    return best, second


DENIED = np.int8(-1)  # in work.truth, whose zeros leave the label to the kind of document


@inlined
def mark(truth, ids, yes):
    """Write what a document says of labels; ``unmark`` takes it away."""
    for at in range(ids.shape[0]):
        truth[ids[at]] = YES if yes[at] else DENIED


@inlined
def unmark(truth, ids):
    """Clear what ``mark`` has written."""
    for at in range(ids.shape[0]):
        truth[ids[at]] = 0


@inlined
def stated(truth, known, label):
    """Return YES, NO or UNKNOWN: complete documents deny every label that they do not name."""
    if truth[label] == YES:
        return YES
    return NO if known == COMPLETE or truth[label] == DENIED else UNKNOWN


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
    pool, together = state.pool, state.together
    for at in range(ids.shape[0]):
        if yes[at]:
            cell = reach(together, label, pool, ids[at], labels)
            pool.values[cell * pool.layers] += np.float32(weight)
    if known == PARTIAL and before > 0.0:
        grown = np.float32(state.counts[label] / before)
        start = first_cell(together, label)
        for at in range(start, start + together[label, SIZE]):
            if stated(truth, known, pool.labels[at]) == UNKNOWN:
                pool.values[at * pool.layers] *= grown


@kernel(nogil=False)
def number(numbers, ids, indptr, yes, out_ids, out_indptr, out_yes):
    """Renumber the labels of documents: ascending in a document, each once, as it was named first.

    Keeps Python's lock: it takes less time than to wait for another thread to give it back.
    """
    filled = 0
    out_indptr[0] = 0
    for document in range(indptr.shape[0] - 1):
        first = filled
        for at in range(indptr[document], indptr[document + 1]):
            label, place = numbers[ids[at]], filled
            while place > first and out_ids[place - 1] > label:
                place -= 1
            if place > first and out_ids[place - 1] == label:
                continue
            for later in range(filled, place, -1):
                out_ids[later], out_yes[later] = out_ids[later - 1], out_yes[later - 1]
            out_ids[place], out_yes[place] = label, yes[at]
            filled += 1
        out_indptr[document + 1] = filled


TP, FP, FN, STATED = 0, 1, 2, 3
"""Rows of ``counts``; STATED counts the partial documents that state a label, as yes or no."""

JUDGED, WHOLE, EXACT = 0, 1, 2
"""Places in ``totals``: judged documents, with complete labels, without an error."""

_NOTHING, _YES, _NO, _DONE = 0, 1, 2, 3


@kernel(nogil=False)
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
