"""Class-conditional sketches (section 3.6): with which labels each word came.

A cell of ``classes`` counts the documents with its bucket and its label k (A_k), ``members[0, k]``
those with label k (N_k). Both fade and halve together, so A_k / N_k stays a rate. ``members[1, k]``
and ``terms[0, bucket]`` are plain counts of labelled documents, for P(label) and P(word).

``terms[1, bucket]`` caches the result of a pass over all labels, because a pass for every word of
every document would cost more than everything else. The pass is repeated after the bucket's
labelled documents have grown by an eighth to a quarter. Meanwhile the result hardly changes: the
statistics measure evidence (N times an effect), which other documents do not move. ICF needs no
pass: its labels are counted as they come.
"""

import math

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.cells import first_cell, reach
from clasher.kernels.decay import gain
from clasher.kernels.regions import COUNT_LIMIT, scale_label
from clasher.kernels.state import LABELLED, SIZE
from clasher.kernels.weightings import ADDED_UP, ICF, ICSDF, SHRINK, WITHOUT_LOG, statistic


@kernel
def feed_classes(state, measure, label, buckets, weight, labels):
    """Count a document for one of its labels; halve the label's counts when they reach the limit.

    A negative ``weight`` takes a document back.
    """
    nothing, one, pool = np.float32(0.0), gain(state.clock, state.gains, label), state.pool
    for at in range(buckets.shape[0]):
        place = reach(state.classes, buckets[at], pool, label, labels) * pool.layers
        known = pool.values[place] > nothing
        pool.values[place] = max(pool.values[place] + np.float32(weight * one), nothing)
        if measure == ICF and known != (pool.values[place] > nothing):
            state.terms[1, buckets[at]] += -1.0 if known else 1.0
    state.members[0, label] = max(state.members[0, label] + weight * one, 0.0)
    state.members[1, label] = max(state.members[1, label] + math.copysign(1.0, weight), 0.0)
    if state.members[0, label] >= COUNT_LIMIT * one:
        state.members[0, label] *= 0.5
        scale_label(state.classes, state.pool, label, np.float32(0.5))


@kernel
def count_classes(state, measure, buckets, ids, yes, weight, labels):
    """Count a labelled document once for each label it is known to have, whatever the rule learns.

    Unknown labels add nothing, like absent ones. So P(label) is too low for a label that is often
    unknown, and its words look more telling; the rates A_k / N_k are right.
    """
    for at in range(ids.shape[0]):
        if yes[at]:
            feed_classes(state, measure, ids[at], buckets, weight, labels)
    for at in range(buckets.shape[0]):
        bucket = buckets[at]
        state.terms[0, bucket] = max(state.terms[0, bucket] + math.copysign(1.0, weight), 0.0)
        if measure != ICF and is_due(state.terms[0, bucket]):
            state.terms[1, bucket] = term(state, measure, bucket)


@kernel
def look_again(state, measure):
    """Recompute the cached result of every word, after a change to whole labels."""
    for bucket in range(state.terms.shape[1]):
        if state.terms[0, bucket] > 0.0:
            state.terms[1, bucket] = term(state, measure, bucket)


@kernel
def is_due(documents):
    """Tell whether to pass over a word's labels again: always up to 8 documents, then less often.

    Depends on the count alone, so it needs no memory and no clock.
    """
    step = 1.0
    while documents >= 8.0 * step:
        step *= 2.0
    return documents % step == 0.0


@kernel
def term(state, measure, bucket):
    """Pass over the labels that a bucket came with; returns what ``terms`` keeps."""
    documents = max(np.float64(state.totals[LABELLED]), 1.0)
    share = state.terms[0, bucket] / documents
    start, found = first_cell(state.classes, bucket), 0.0
    for cell in range(start, start + state.classes[bucket, SIZE]):
        count = np.float64(state.pool.values[cell * state.pool.layers])
        if count > 0.0:
            k = state.pool.labels[cell]
            rate = count / state.members[0, k]
            if measure == ICF:
                found += 1.0
            elif measure == ICSDF:
                found += rate * documents
            else:
                own = state.members[1, k]
                value = statistic(measure, documents, own / documents, share, rate)
                value *= own / (own + SHRINK)
                found = found + value if measure in ADDED_UP else max(found, value)
    return found if measure in WITHOUT_LOG else math.log1p(found)
