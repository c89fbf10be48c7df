"""Weights of a document's buckets, and the sketch of document frequencies behind them."""

import math

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.decay import tick
from clasher.kernels.hashing import row_bucket
from clasher.kernels.state import DOCUMENTS, EXTRAS, FADED, LABELLED, LABELS, NOW
from clasher.kernels.weightings import NO_MEASURE, factor

# A text starts with its topic: the first words weigh more.
LEAD = 1.0 + 0.6 * np.exp(-np.arange(128) / 16.0)


@inlined
def weigh(state, setting, buckets, counts, places, keys, work):
    """Algorithm 3, as if the document had been counted; returns the length of ``work.x``.

    A deep sketch needs the keys of the words; without keys the counters of buckets are used.
    """
    x, frequencies = work.x, state.frequencies[0]
    deep = False
    if EXTRAS != 0:
        deep = state.frequencies.shape[0] > 1 and keys.shape[0] > 0
        if deep:
            estimate(state, buckets, places, keys, work)
    one = state.clock[NOW]
    total = math.log(state.clock[FADED] + one)
    labels, labelled = np.float64(state.totals[LABELS]), np.float64(state.totals[LABELLED])
    squared = 0.0
    for at in range(buckets.shape[0]):
        weight = np.float64(counts[at])
        if setting.log_tf and abs(weight) > 1.0:  # the logarithm of 1 needs no computing
            weight = math.copysign(1.0 + math.log(abs(weight)), weight)
        if setting.idf:
            frequency = work.frequencies[at] if deep else frequencies[buckets[at]]
            weight *= total - math.log(frequency + one)
        if EXTRAS != 0 and setting.measure != NO_MEASURE:
            kept = state.terms[1, buckets[at]]
            weight *= factor(kept, setting.measure, labels, labelled)
        if setting.lead and at < LEAD.shape[0]:
            weight *= LEAD[at]
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
def estimate(state, buckets, places, keys, work):
    """Eq. 10: estimate a word's document frequency by the lowest of its counters.

    A bucket with several words of the document takes their largest estimate, so no word's IDF is
    overestimated, as in Lemma 1.
    """
    frequencies = state.frequencies
    for at in range(buckets.shape[0]):
        work.frequencies[at] = 0.0
    for word in range(keys.shape[0]):
        at = places[word]
        least = frequencies[0, buckets[at]]
        for row in range(1, frequencies.shape[0]):
            cell = row_bucket(keys[word], row, frequencies.shape[1])
            least = min(least, frequencies[row, cell])
        work.estimates[word] = least
        work.frequencies[at] = max(work.frequencies[at], least)


@inlined
def count(state, setting, buckets, places, keys, work):
    """Algorithm 3, lines 6 and 7: count the document, and each of its counters once."""
    one = state.clock[NOW]
    if EXTRAS != 0 and setting.conservative:
        estimate(state, buckets, places, keys, work)
        raise_counters(state.frequencies, buckets, places, keys, work.estimates, one)
    else:
        row = state.frequencies[0]
        for at in range(buckets.shape[0]):
            row[buckets[at]] += one
        if EXTRAS != 0 and keys.shape[0] > 0:
            count_words(state.frequencies, keys, one)
    state.clock[FADED] += one
    state.totals[DOCUMENTS] += 1
    if EXTRAS != 0:
        tick(state, setting.growth)


@kernel
def uncount(state, setting, buckets, keys):
    """Undo ``count``: exactly for the latest document, as if the latest for an older one.

    Conservative counters stay: nobody knows which of them the document raised, and a counter
    that is too low would underestimate.
    """
    state.clock[NOW] /= setting.growth
    one = state.clock[NOW]
    if not setting.conservative:
        for at in range(buckets.shape[0]):
            state.frequencies[0, buckets[at]] = max(state.frequencies[0, buckets[at]] - one, 0.0)
        count_words(state.frequencies, keys, -one)
    state.clock[FADED] = max(state.clock[FADED] - one, 0.0)
    state.totals[DOCUMENTS] -= 1


@kernel
def count_words(frequencies, keys, times):
    """Eq. 9 in the further rows: add ``times`` to each counter of the document, once.

    Two words may share a counter, so a changed counter is negative until all words are done.
    """
    for row in range(1, frequencies.shape[0]):
        for word in range(keys.shape[0]):
            cell = row_bucket(keys[word], row, frequencies.shape[1])
            if frequencies[row, cell] >= 0.0:
                frequencies[row, cell] = -1.0 - max(frequencies[row, cell] + times, 0.0)
        for word in range(keys.shape[0]):
            cell = row_bucket(keys[word], row, frequencies.shape[1])
            if frequencies[row, cell] < 0.0:
                frequencies[row, cell] = -1.0 - frequencies[row, cell]


@kernel
def raise_counters(frequencies, buckets, places, keys, estimates, one):
    """Conservative update: raise a counter no further than the new estimate of one of its words."""
    for word in range(keys.shape[0]):
        known = estimates[word] + one
        bucket = buckets[places[word]]
        frequencies[0, bucket] = max(frequencies[0, bucket], known)
        for row in range(1, frequencies.shape[0]):
            cell = row_bucket(keys[word], row, frequencies.shape[1])
            frequencies[row, cell] = max(frequencies[row, cell], known)
