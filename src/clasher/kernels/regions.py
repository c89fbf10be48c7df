"""Regions: a prototype for each label, stored by bucket; see ``cells``."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import first_cell
from clasher.kernels.decay import gain
from clasher.kernels.labels import relate
from clasher.kernels.state import SIZE

# Sums are float32 and stop growing at some size. At this many documents all sums of a label are
# halved: its mean stays, and later documents weigh more.
COUNT_LIMIT = 2.0**22


@inlined
def nearest(work, length, state, touched, labels, euclidean):
    """Algorithm 4: find the region with the nearest prototype, −1 if there is none.

    ``work.both`` has ⟨S_j, x⟩, where S_j is the sum of the documents fed to label j, so the
    prototype of Eq. 14 is S_j / n_j. Also writes the cosines. An untouched label has cosine 0 (all
    labels are touched where the distance is Euclidean).
    """
    best, best_value = -1, -np.inf
    inverse = 1.0 / length if length > 0.0 else 0.0
    if touched == labels:
        write_cosines(
            state.scales, inverse, state.pool.layers, range(labels), work.both, work.cosines,
            work.fractions,
        )  # fmt: skip
    else:
        write_cosines(
            state.scales, inverse, state.pool.layers, work.touched[:touched], work.both,
            work.cosines, work.fractions,
        )  # fmt: skip
    if length == 0.0:
        return -1
    cosines, counts = work.cosines, state.counts
    for at in range(touched):
        j = work.touched[at]
        value = closeness(work, state, j, euclidean) if euclidean else cosines[j]
        if value >= best_value and counts[j] > 0.0 and (value > best_value or j < best):
            best, best_value = j, value
    if best_value <= 0.0 and not euclidean:
        for j in range(labels if best < 0 or best_value < 0.0 else best):
            if counts[j] > 0.0 and not work.marks[j]:
                cosines[j] = 0.0
                return j
    return best


@kernel
def write_cosines(scales, inverse, layers, ids, both, cosines, fractions):
    """Write the cosines of labels, and clear their fractions."""
    if layers == 2:
        for j in ids:
            cosines[j] = both[2 * j] * scales[j] * inverse
            fractions[j] = 0.0
    else:
        for j in ids:
            cosines[j] = both[j] * scales[j] * inverse
            fractions[j] = 0.0


@inlined
def closeness(work, state, j, euclidean):
    """Score a prototype: the nearer, the higher."""
    if euclidean:
        n = state.counts[j]
        return (2.0 * work.both[j * state.pool.layers] - state.norms[j] / n) / n
    return work.cosines[j]


@kernel
def ratio(cosine, best):
    """r_j: a cosine divided by the winner's, within ±1 (a Euclidean winner's may be lower)."""
    if best <= 0.0:
        return 0.0
    return min(max(cosine / best, -1.0), 1.0)


@inlined
def feed_and_relate(state, label, s, buckets, known, ids, yes, labels, work):
    """Add a document to a label's prototype and to its statistics.

    ``work.places[s]`` are the label's cells in the document's buckets.
    """
    before, weight = state.counts[label], gain(state, label)
    feed(state, label, work.places[s, : buckets.shape[0]], work.x, weight)
    relate(state, label, known, ids, yes, work.truth, labels, weight, before)
    if state.counts[label] >= COUNT_LIMIT * gain(state, label):
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
