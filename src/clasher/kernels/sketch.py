"""Signed counts → weights, and the document frequencies behind them."""

import math

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.fading import tick
from clasher.kernels.hashing import row_bucket
from clasher.kernels.state import DOCUMENTS, FADED, LABELLED, LABELS, NOW
from clasher.kernels.weightings import NO_MEASURE, factor

# A text begins with what it is about: its first words weigh more, the others ever less so.
LEAD = 1.0 + 0.6 * np.exp(-np.arange(128) / 16.0)


@inlined
def weigh(state, setting, buckets, counts, places, keys, work):
    """Algorithm 3, as if the document had been counted; returns the length of ``work.x``.

    What labels tell of words is taken as it stands: the document to come has none yet. Where its
    words are not known, the counters of its buckets speak for them.
    """
    x, frequencies = work.x, state.frequencies[0]
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
        if setting.measure != NO_MEASURE:
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
    """Eq. 10: a word was in as many documents as the lowest of its counters tells, at most.

    A bucket with several words of the document takes the largest of their estimates: no word's IDF
    is overestimated, as in Lemma 1.
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
    """Algorithm 3, lines 6 and 7: each counter of the document once, and the document."""
    one = state.clock[NOW]
    if setting.conservative:
        estimate(state, buckets, places, keys, work)
        raise_counters(state.frequencies, buckets, places, keys, work.estimates, one)
    else:
        row = state.frequencies[0]
        for at in range(buckets.shape[0]):
            row[buckets[at]] += one
        if keys.shape[0] > 0:
            count_words(state.frequencies, keys, one)
    state.clock[FADED] += one
    state.totals[DOCUMENTS] += 1
    tick(state, setting.growth)


@kernel
def uncount(state, setting, buckets, keys):
    """Algorithm 3, lines 6 and 7, backwards: exact for the latest document.

    One that came before it has faded since, and is taken to be as fresh as the latest.
    Conservative counters stay: which of them the document had raised is not known, and one taken
    back too many would underestimate.
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
    """Eq. 9 in the rows of words: a counter that was changed is negative until all words are done.

    Two words of the document may share a counter, which must be changed once.
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
    """Conservative update: no counter is raised beyond what one of its words can have come to."""
    for word in range(keys.shape[0]):
        known = estimates[word] + one
        bucket = buckets[places[word]]
        frequencies[0, bucket] = max(frequencies[0, bucket], known)
        for row in range(1, frequencies.shape[0]):
            cell = row_bucket(keys[word], row, frequencies.shape[1])
            frequencies[row, cell] = max(frequencies[row, cell], known)
