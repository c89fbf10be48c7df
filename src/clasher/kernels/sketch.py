"""Weights of a document's buckets, and the sketch of document frequencies behind them."""

import math

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.decay import tick
from clasher.kernels.hashing import row_bucket
from clasher.kernels.state import DOCUMENTS, EXTRAS, FADED, LABELLED, LABELS, NOW
from clasher.kernels.weightings import NO_MEASURE, factor

# The logarithm of m in [√½, √2) is f − (f²/2 − s·(f²/2 + R)), with f = m − 1, s = f / (2 + f) and a
# polynomial R in s² (the constants of fdlibm): off by one unit in the last place at most.
SPLIT, FRACTION_BITS = np.int64(0x3FE6A09E667F3BCD), np.int64(52)  # √½ as bits
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
R1, R2, R3, R4, R5, R6, R7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip

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
    one, total, logs = state.clock[NOW], 0.0, work.frequencies
    labels, labelled = np.float64(state.totals[LABELS]), np.float64(state.totals[LABELLED])
    if setting.idf:
        used = buckets.shape[0]
        for at in range(used):
            logs[at] = (work.frequencies[at] if deep else frequencies[buckets[at]]) + one
        logs[used] = state.clock[FADED] + one
        take_logs(logs[: used + 1], work.powers)
        total = logs[used]  # so that a word of all documents weighs nothing
    squared = 0.0
    for at in range(buckets.shape[0]):
        weight = np.float64(counts[at])
        if setting.log_tf and abs(weight) > 1.0:  # the logarithm of 1 needs no computing
            weight = math.copysign(1.0 + math.log(abs(weight)), weight)
        if setting.idf:
            weight *= total - logs[at]
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
def take_logs(values, powers):
    """Replace positive numbers by their logarithms, without calls, so that it vectorises."""
    bits = values.view(np.int64)
    for at in range(values.shape[0]):
        power = (bits[at] - SPLIT) >> FRACTION_BITS
        bits[at] -= power << FRACTION_BITS
        powers[at] = power
    for at in range(values.shape[0]):
        f = values[at] - 1.0
        half, s = 0.5 * f * f, f / (2.0 + f)
        z = s * s
        rest = z * (R1 + z * (R2 + z * (R3 + z * (R4 + z * (R5 + z * (R6 + z * R7))))))
        low = half - (s * (half + rest) + powers[at] * LN2_LOW)
        values[at] = powers[at] * LN2_HIGH - (low - f)


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
