"""Regions: prototypes, stored transposed as ``rows[bucket, layer, label]``."""

import numpy as np

from clasher.kernels import inlined, kernel


@kernel(fastmath={"contract"})
def add_rows(rows, layer, width, buckets, x, out):
    """``out[j] = Σ_k x_k · rows[k, layer, j]`` for ``width`` labels, four rows at a time."""
    for j in range(width):
        out[j] = np.float32(0.0)
    used = buckets.shape[0]
    whole = used - used % 4
    for at in range(0, whole, 4):
        x0, x1, x2, x3 = x[at], x[at + 1], x[at + 2], x[at + 3]
        r0 = rows[buckets[at], layer]
        r1 = rows[buckets[at + 1], layer]
        r2 = rows[buckets[at + 2], layer]
        r3 = rows[buckets[at + 3], layer]
        for j in range(width):
            out[j] += x0 * r0[j] + x1 * r1[j] + x2 * r2[j] + x3 * r3[j]
    for at in range(whole, used):
        x0 = x[at]
        r0 = rows[buckets[at], layer]
        for j in range(width):
            out[j] += x0 * r0[j]


@inlined
def nearest(work, length, state, labels, euclidean):
    """Algorithm 4: find the region with the nearest prototype, −1 if there is none.

    ``work.products[j]`` is ⟨S_j, x⟩, where S_j is the sum of the documents fed to label j, so the
    prototype of Eq. 14 is S_j / n_j. Also writes the cosines.
    """
    if length == 0.0:
        return -1
    best = -1
    best_value = -np.inf
    for j in range(labels):
        work.cosines[j] = work.products[j] * state.scales[j] / length
    for j in range(labels):
        if state.counts[j] > 0.0:
            value = closeness(work, state, j, euclidean)
            if value > best_value:
                best = j
                best_value = value
    return best


@inlined
def closeness(work, state, j, euclidean):
    """Score a prototype: the nearer, the higher."""
    if euclidean:
        n = state.counts[j]
        return (2.0 * work.products[j] - state.norms[j] / n) / n
    return work.cosines[j]


@kernel
def ratio(cosine, best):
    """r_j: a cosine divided by the winner's, within ±1 (a Euclidean winner's may be lower)."""
    if best <= 0.0:
        return 0.0
    return min(max(cosine / best, -1.0), 1.0)


@inlined
def feed(state, label, buckets, x, weight):
    """Algorithm 5, lines 2–3: add the document, times ``weight``, to the label's sum.

    The norm follows the stored float32 values exactly, so it does not drift.
    """
    change = 0.0
    times = np.float32(weight)
    for at in range(buckets.shape[0]):
        row = state.rows[buckets[at], 0]
        before = np.float64(row[label])
        row[label] += times * x[at]
        after = np.float64(row[label])
        change += (after - before) * (after + before)
    state.counts[label] += weight
    state.norms[label] += change
    state.scales[label] = 1.0 / np.sqrt(state.norms[label]) if state.norms[label] > 0.0 else 0.0


@kernel
def halve(state, label):
    """Halve all sums of a label; its means and fractions stay."""
    for bucket in range(state.rows.shape[0]):
        state.rows[bucket, 0, label] *= np.float32(0.5)
    state.counts[label] *= 0.5
    state.norms[label] *= 0.25
    state.scales[label] *= 2.0
    for other in range(state.together.shape[1]):
        state.together[label, other] *= np.float32(0.5)


@kernel
def clear(state, label):
    """Empty a region."""
    for bucket in range(state.rows.shape[0]):
        state.rows[bucket, 0, label] = np.float32(0.0)
    state.counts[label] = 0.0
    state.norms[label] = 0.0
    state.scales[label] = 0.0


@kernel
def copy_rows(rows, target, frequencies):
    """Copy into wider rows, except buckets that no document has used."""
    for bucket in range(rows.shape[0]):
        if frequencies[bucket] > 0:
            for layer in range(rows.shape[1]):
                for label in range(rows.shape[2]):
                    target[bucket, layer, label] = rows[bucket, layer, label]
