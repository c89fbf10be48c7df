"""The paper's learning rules and the perceptron: what a labelled document changes."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.fading import gain
from clasher.kernels.labels import NO, UNKNOWN, YES, relate
from clasher.kernels.regions import feed, halve

# Sums are float32, which cannot count on for ever: past this many documents all that is summed
# for a label is halved, which leaves its mean as it is and makes later documents weigh more.
COUNT_LIMIT = 2.0**22

PERCEPTRON_STEP = np.float32(0.1)


@inlined
def learn_centroid(state, buckets, x, known, ids, yes, truth, labels):
    """Algorithm 5 (Mode 1): every label of the document is fed."""
    for at in range(ids.shape[0]):
        if yes[at]:
            weight = gain(state, ids[at])
            feed_and_relate(state, ids[at], buckets, x, known, ids, yes, truth, labels, weight)


@inlined
def feed_and_relate(state, label, buckets, x, known, ids, yes, truth, labels, weight):
    """Feed one label's prototype and its statistics with a document that counts ``weight``."""
    before = state.counts[label]
    feed(state, label, buckets, x, weight)
    relate(state, label, known, ids, yes, truth, labels, weight, before)
    if state.counts[label] >= COUNT_LIMIT * gain(state, label):
        halve(state, label)


@kernel
def learn_mistake(state, buckets, x, known, ids, yes, truth, labels, chosen):
    """Algorithm 6 (Mode 2): missed labels are fed; one false label feeds all true ones."""
    for at in range(ids.shape[0]):
        if yes[at]:
            missed = True
            for predicted in chosen:
                if predicted == ids[at]:
                    missed = False
            if missed:
                weight = gain(state, ids[at])
                feed_and_relate(state, ids[at], buckets, x, known, ids, yes, truth, labels, weight)
    for predicted in chosen:
        if truth[predicted] == NO:
            learn_centroid(state, buckets, x, known, ids, yes, truth, labels)
            return


@kernel
def learn_perceptron(state, buckets, x, ids, yes, truth, labels, scores):
    """Rosenblatt's rule for every label of its own."""
    for j in range(labels):
        if truth[j] != UNKNOWN and (scores[j] > 0.0) != (truth[j] == YES):
            step = PERCEPTRON_STEP * np.float32(gain(state, j))
            move = step if truth[j] == YES else -step
            state.bias[0, j] += move
            for at in range(buckets.shape[0]):
                state.rows[buckets[at], 0, j] += move * x[at]
    for at in range(ids.shape[0]):
        if yes[at]:
            state.counts[ids[at]] += gain(state, ids[at])
