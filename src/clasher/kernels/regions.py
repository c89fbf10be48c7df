"""Regions: a prototype for each label, stored by bucket; see ``cells``."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import candidate, first_cell
from clasher.kernels.decay import gain
from clasher.kernels.labels import CHUNK, reaches, relate
from clasher.kernels.state import SIZE

# Sums are float32 and stop growing at some size. At this many documents all sums of a label are
# halved: its mean stays, and later documents weigh more.
COUNT_LIMIT = 2.0**22

SMALLEST = 5e-324  # the lowest number above 0


@inlined
def map_document(state, length, wide, n, labels, euclidean, work):
    """Algorithm 4: find the region with the nearest prototype, and the three with the best cosines.

    ``work.both`` has ⟨S_j, x⟩, where S_j is the sum of the documents fed to label j, so the
    prototype of Eq. 14 is S_j / n_j. Also writes the cosines; an untouched label has cosine 0.
    Returns the places of the nearest (−1 if there is none), and of the three (the nearest instead
    of those without a cosine above 0), their cosines, and the number of candidates.
    """
    inverse = 1.0 / length if length > 0.0 else 0.0
    ids = work.every if wide else work.ids
    scales = state.scales if wide else work.scales
    write_cosines(scales, inverse, state.pool.layers, n, work.both, work.cosines, work.fractions)
    three, highest = highest_three(work.cosines, ids, n)
    region = three[0]
    if length == 0.0:
        region = -1
    elif euclidean:
        region = closest(state.counts, state.norms, state.pool.layers, labels, work.both)
    elif region < 0:
        label = least_far(state.counts, work.cosines, wide, work.slots, labels)
        if label >= 0:
            region, n = candidate(state, label, wide, n, work)
    i0, i1, i2 = three
    i0, i1, i2 = i0 if i0 >= 0 else region, i1 if i1 >= 0 else region, i2 if i2 >= 0 else region
    return region, (i0, i1, i2), highest, n


@kernel
def write_cosines(scales, inverse, layers, n, both, cosines, fractions):
    """Write the cosines of candidates, and clear their fractions."""
    if layers == 2:
        for p in range(n):
            cosines[p] = both[2 * p] * scales[p] * inverse
            fractions[p] = 0.0
    else:
        for p in range(n):
            cosines[p] = both[p] * scales[p] * inverse


@kernel
def highest_three(cosines, ids, n):
    """Find the three candidates with the highest cosines above 0, −1 where there are fewer.

    Of equal cosines the lower label comes first.
    """
    i0, i1, i2 = -1, -1, -1
    c0, c1, c2 = 0.0, 0.0, 0.0
    for first in range(0, n, CHUNK):
        part = cosines[first : min(first + CHUNK, n)]
        if not reaches(part, max(c2, SMALLEST)):
            continue
        for at in range(part.shape[0]):
            p, c = first + at, part[at]
            if c > c2 or (c == c2 and c > 0.0 and ids[p] < ids[i2]):
                if c > c0 or (c == c0 and ids[p] < ids[i0]):
                    i0, i1, i2, c0, c1, c2 = p, i0, i1, c, c0, c1
                elif c > c1 or (c == c1 and ids[p] < ids[i1]):
                    i1, i2, c1, c2 = p, i1, c, c1
                else:
                    i2, c2 = p, c
    return (i0, i1, i2), (c0, c1, c2)


@kernel
def closest(counts, norms, layers, labels, both):
    """Find the label whose prototype has the least Euclidean distance, −1 if there is none."""
    best, best_value = -1, -np.inf
    for j in range(labels):
        if counts[j] > 0.0:
            value = closeness(counts[j], norms[j], both[j * layers])
            if value > best_value:
                best, best_value = j, value
    return best


@kernel
def closeness(count, norm, product):
    """Score a prototype by its distance: the nearer, the higher."""
    return (2.0 * product - norm / count) / count


@kernel
def least_far(counts, cosines, wide, slots, labels):
    """Find the first label with the highest cosine where none is above 0; −1 if there is none."""
    best, best_value = -1, -np.inf
    for j in range(labels):
        if counts[j] > 0.0:
            place = j if wide else slots[j]
            value = cosines[place] if place >= 0 else 0.0
            if value > best_value:
                best, best_value = j, value
                if value == 0.0:
                    break
    return best


@kernel
def ratio(cosine, best):
    """r_j: a cosine divided by the winner's, within ±1 (a Euclidean winner's may be lower)."""
    if best <= 0.0:
        return 0.0
    return min(max(cosine / best, -1.0), 1.0)


@inlined
def feed_and_relate(state, label, places, known, ids, yes, labels, work):
    """Add a document to a label's prototype and to its statistics.

    ``places`` are the label's cells in the document's buckets.
    """
    before, weight = state.counts[label], gain(state.clock, state.gains, label)
    feed(state, label, places, work.x, weight)
    relate(state, label, known, ids, yes, work.truth, labels, weight, before)
    if state.counts[label] >= COUNT_LIMIT * gain(state.clock, state.gains, label):
        halve(state, label)


@inlined
def feed(state, label, places, x, weight):
    """Algorithm 5, lines 2–3: add the document, times ``weight``, to the label's sum.

    ``places`` are those of the label's sums in the document's buckets. The norm follows the stored
    float32 values exactly, so it does not drift.
    """
    state.counts[label] += weight
    state.norms[label] += add_document(state.pool.values, places, x, np.float32(weight))
    state.scales[label] = 1.0 / np.sqrt(state.norms[label]) if state.norms[label] > 0.0 else 0.0


@kernel
def add_document(values, places, x, times):
    """Add ``times · x`` to some sums; returns the change of their squares."""
    change = 0.0
    for at in range(places.shape[0]):
        before = np.float64(values[places[at]])
        values[places[at]] += times * x[at]
        after = np.float64(values[places[at]])
        change += (after - before) * (after + before)
    return change


@kernel
def scale_label(heads, pool, label, factor):
    """Multiply the sums of a label."""
    for row in range(heads.shape[0]):
        start = first_cell(heads, row)
        for at in range(start, start + heads[row, SIZE]):
            if pool.labels[at] == label:
                pool.values[at * pool.layers] *= factor


@kernel
def scale_row(heads, row, pool, factor):
    """Multiply the sums of a row."""
    start = first_cell(heads, row)
    for at in range(start, start + heads[row, SIZE]):
        pool.values[at * pool.layers] *= factor


@kernel
def halve(state, label):
    """Halve all sums of a label; its means and fractions stay."""
    scale_label(state.rows, state.pool, label, np.float32(0.5))
    state.counts[label] *= 0.5
    state.norms[label] *= 0.25
    state.scales[label] *= 2.0
    scale_row(state.together, label, state.pool, np.float32(0.5))


@kernel
def clear(state, label):
    """Empty a region."""
    scale_label(state.rows, state.pool, label, np.float32(0.0))
    state.counts[label] = 0.0
    state.norms[label] = 0.0
    state.scales[label] = 0.0
