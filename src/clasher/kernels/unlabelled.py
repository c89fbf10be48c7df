"""Documents without labels: weights, and spherical online k-means.

A cluster is a label that nobody gave: it has a prototype as labels have.
"""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.cells import leave, locate, reach
from clasher.kernels.clash import clash, fits
from clasher.kernels.decay import gain
from clasher.kernels.regions import COUNT_LIMIT, clear, feed, halve, scale_row
from clasher.kernels.sketch import count, weigh
from clasher.kernels.state import DOCUMENTS, LABELLED, LABELS


@kernel
def weigh_documents(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, counting, weights
):
    """Weigh each document of a batch; if ``counting``, count it before the next."""
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        words = slice(word_indptr[document], word_indptr[document + 1])
        own = buckets[inside]
        weigh(state, setting, own, counts[inside], places[words], keys[words], work)
        for at in range(own.shape[0]):
            weights[indptr[document] + at] = work.x[at]
        if counting:
            count(state, setting, own, places[words], keys[words], work)


@kernel
def count_documents(indptr, buckets, word_indptr, places, keys, state, setting, work):
    """Count each document of a batch."""
    for document in range(indptr.shape[0] - 1):
        own = buckets[indptr[document] : indptr[document + 1]]
        words = slice(word_indptr[document], word_indptr[document + 1])
        count(state, setting, own, places[words], keys[words], work)


NO_KEYS = np.zeros(0, np.uint64)


@kernel
def cluster_documents(
    indptr,
    buckets,
    counts,
    state,
    setting,
    work,
    most,
    patience,
    learning,
    clusters,
    cosines,
    first,
):
    """Find the cluster of each document of a batch; if ``learning``, feed the document to it.

    −1 for a document without weight, or while there is no cluster and none is made. Returns the
    document before which it stops for want of room, or the number of documents.
    """
    no_places, no_keys = buckets[:0], NO_KEYS
    work.moved[0] = 0  # any cluster: each has room for itself only
    for document in range(first, indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        own = buckets[inside]
        length = weigh(state, setting, own, counts[inside], no_places, no_keys, work)
        if learning and not fits(state, setting, own, 1, work.moved[:1], most):
            return document
        cluster, cosine, wide, n, _, _ = clash(
            state, setting, own, length, state.totals[LABELS], work
        )
        leave(wide, n, work)
        if learning:
            count(state, setting, own, no_places, no_keys, work)
            if length > 0.0:
                cluster = choose_cluster(state, cluster, cosine, setting.threshold, most, patience)
                join(state, cluster, own, most, work)
        clusters[document] = cluster
        cosines[document] = cosine
    return indptr.shape[0] - 1


@kernel
def choose_cluster(state, nearest, cosine, threshold, most, patience):
    """Choose the nearest cluster if it is near enough, else a new one if there is room."""
    if nearest >= 0 and cosine >= threshold:
        return nearest
    used = state.totals[LABELS]
    if used < most:
        state.totals[LABELS] = used + 1
        return used
    stale = 0  # the cluster that was fed least recently
    for cluster in range(used):
        if state.seen[cluster] < state.seen[stale]:
            stale = cluster
    if state.totals[DOCUMENTS] - state.seen[stale] > patience:
        clear(state, stale)
        state.gains[stale] = 1.0
        scale_row(state.together, stale, state.pool, np.float32(0.0))
        return stale
    return nearest if nearest >= 0 else stale


@kernel
def join(state, cluster, buckets, most, work):
    """Feed a document to a cluster, as Mode 1 feeds it to its labels."""
    weight, pool = gain(state.clock, state.gains, cluster), state.pool
    work.moved[0] = cluster
    locate(state.rows, pool, buckets, work.moved[:1], most, work.places)
    feed(state, cluster, work.places[0, : buckets.shape[0]], work.x, weight)
    cell = reach(state.together, cluster, pool, cluster, most)
    pool.values[cell * pool.layers] += np.float32(weight)
    state.seen[cluster] = state.totals[DOCUMENTS]
    state.totals[LABELLED] += 1
    if state.counts[cluster] >= COUNT_LIMIT * weight:
        halve(state, cluster)
