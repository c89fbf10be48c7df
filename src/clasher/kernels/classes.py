"""Class-conditional sketches (section 3.6): what the labels of documents tell about a word.

``classes[bucket, k]`` counts the documents with the bucket and label k (A_k), ``members[0, k]``
those with label k (N_k) in the same units, so that A_k / N_k is a rate even after both were halved
or faded. ``members[1, k]`` and ``terms[0, bucket]`` are plain counts of labelled documents, for
priors and for the document frequency among labelled documents.

``terms[1, bucket]`` keeps what a pass over all labels found out, since such a pass for every word
of every document would cost more than all else: it is made anew when the bucket's labelled
documents have grown by an eighth to a quarter. What is kept hardly changes while the bucket is not
seen: the statistics are in units of evidence (N times an effect), which other documents do not
move. The labels that ICF asks for are counted as they come, without a pass.
"""

import math

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.fading import gain
from clasher.kernels.rules import COUNT_LIMIT
from clasher.kernels.state import GINI, ICF, ICSDF, IG, LABELLED, LABELS, ODDS

SHRINK = 5.0  # documents of a label at which its statistic counts half: few of them prove little
SMOOTH = 0.5  # added to each count of an odds ratio, so that none is zero


@kernel
def feed_classes(state, measure, label, buckets, weight):
    """Count a document of a label that counts ``weight``; halve the label where it is full.

    A document with a negative weight is taken back.
    """
    nothing, one = np.float32(0.0), gain(state, label)
    for at in range(buckets.shape[0]):
        row = state.classes[buckets[at]]
        known = row[label] > nothing
        row[label] = max(row[label] + np.float32(weight * one), nothing)
        if measure == ICF and known != (row[label] > nothing):
            state.terms[1, buckets[at]] += -1.0 if known else 1.0
    state.members[0, label] = max(state.members[0, label] + weight * one, 0.0)
    state.members[1, label] = max(state.members[1, label] + math.copysign(1.0, weight), 0.0)
    if state.members[0, label] >= COUNT_LIMIT * one:
        state.members[0, label] *= 0.5
        for bucket in range(state.classes.shape[0]):
            state.classes[bucket, label] *= np.float32(0.5)


@kernel
def count_classes(state, measure, buckets, ids, yes, weight):
    """Count a labelled document: each label it is known to have, once, whatever the rule learns.

    A label that is not stated adds nothing, as one that is denied. The rates A_k / N_k are those of
    the documents known to have label k; but priors take unknown labels for absent ones, so a label
    that is often left unstated appears rarer than it is, and its words more telling.
    """
    for at in range(ids.shape[0]):
        if yes[at]:
            feed_classes(state, measure, ids[at], buckets, weight)
    for at in range(buckets.shape[0]):
        bucket = buckets[at]
        state.terms[0, bucket] = max(state.terms[0, bucket] + math.copysign(1.0, weight), 0.0)
        if measure != ICF and is_due(state.terms[0, bucket]):
            state.terms[1, bucket] = term(state, measure, bucket)


@kernel
def look_again(state, measure):
    """Make all that is kept of words anew, after labels have changed as a whole."""
    for bucket in range(state.terms.shape[1]):
        if state.terms[0, bucket] > 0.0:
            state.terms[1, bucket] = term(state, measure, bucket)


@kernel
def is_due(documents):
    """Whether to look at a word's labels again: each time up to 8 documents, then more rarely.

    Depends on the count alone, so that it needs no memory and no clock.
    """
    step = 1.0
    while documents >= 8.0 * step:
        step *= 2.0
    return documents % step == 0.0


@kernel
def term(state, measure, bucket):
    """What ``terms`` keeps of a bucket: a pass over the labels it was seen with."""
    documents = max(np.float64(state.totals[LABELLED]), 1.0)
    share = state.terms[0, bucket] / documents
    row = state.classes[bucket]
    found = 0.0
    for k in range(state.totals[LABELS]):
        if row[k] > 0.0:
            rate = row[k] / state.members[0, k]
            if measure == ICF:
                found += 1.0
            elif measure == ICSDF:
                found += rate * documents
            else:
                own = state.members[1, k]
                value = statistic(measure, documents, own / documents, share, rate)
                value *= own / (own + SHRINK)
                found = found + value if measure in (IG, GINI) else max(found, value)
    return found if measure in (ICF, ICSDF, ODDS) else math.log1p(found)


@kernel
def statistic(measure, documents, prior, share, rate):
    """How much a word and a label depend on each other, from P(label), P(word), P(word | label)."""
    both = min(rate * prior, share)
    if measure == ODDS:
        return log_odds_ratio(documents, prior, share, both)
    if measure == IG:
        return 2.0 * documents * information(prior, share, both)
    spread = share * (1.0 - share)
    if spread <= 0.0:
        return 0.0
    excess = documents * (both - prior * share) ** 2 / spread
    if measure == GINI:
        return 2.0 * excess
    variance = prior * (1.0 - prior)
    return min(excess / variance, documents) if variance > 0.0 else 0.0


@kernel
def log_odds_ratio(documents, prior, share, both):
    """ln(AD / BC), every count raised by SMOOTH; 0 for a word that speaks against the label."""
    a = both * documents + SMOOTH
    b = (prior - both) * documents + SMOOTH
    c = (share - both) * documents + SMOOTH
    d = max(1.0 - prior - share + both, 0.0) * documents + SMOOTH
    return max(math.log(a * d / (b * c)), 0.0)


@kernel
def information(prior, share, both):
    """The mutual information, in nats, of having the word and having the label."""
    found = part(both, prior * share)
    found += part(prior - both, prior * (1.0 - share))
    found += part(share - both, share * (1.0 - prior))
    found += part(1.0 - prior - share + both, (1.0 - prior) * (1.0 - share))
    return max(found, 0.0)


@kernel
def part(observed, expected):
    """One of the four terms of the mutual information; 0 ln 0 is 0."""
    return observed * math.log(observed / expected) if observed > 0.0 and expected > 0.0 else 0.0


@kernel
def factor(kept, measure, labels, documents):
    """What a weight is multiplied by; 1 before any label is known, and never less."""
    if measure in (ICF, ICSDF):
        most = labels if measure == ICF else labels * documents
        return 1.0 + max(math.log(most / max(kept, 1.0)), 0.0) if most > 0.0 else 1.0
    return 1.0 + kept
