"""Learning rules: how a labelled document changes the model."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.decay import gain
from clasher.kernels.labels import NO, UNKNOWN, YES, is_empty, is_missed, relate
from clasher.kernels.margin import learn_margin, note_best, note_margins
from clasher.kernels.regions import feed, halve
from clasher.kernels.state import CENTROID, MISTAKE, PERCEPTRON

# Sums are float32 and stop growing at some size. At this many documents all sums of a label are
# halved: its mean stays, and later documents weigh more.
COUNT_LIMIT = 2.0**22

PERCEPTRON_STEP = np.float32(0.1)


@inlined
def learn(state, setting, buckets, length, region, chosen, known, ids, yes, labels, work):
    """Apply the model's rule to one document."""
    x, truth, scores = work.x, work.truth, work.scores
    if setting.rule == CENTROID:
        learn_centroid(state, buckets, x, known, ids, yes, truth, labels)
    elif setting.rule == MISTAKE:
        learn_mistake(state, buckets, x, known, ids, yes, truth, labels, work.chosen[:chosen])
    elif setting.rule == PERCEPTRON:
        note_best(state, length, truth, is_empty(known, ids, yes, labels), labels, scores)
        learn_perceptron(state, buckets, x, ids, yes, truth, labels, scores)
    else:
        note_margins(state, length, truth, labels, scores)
        note_best(state, length, truth, is_empty(known, ids, yes, labels), labels, scores)
        learn_margin(state, buckets, x, region, truth, labels, work)
        learn_centroid(state, buckets, x, known, ids, yes, truth, labels)


@inlined
def learn_centroid(state, buckets, x, known, ids, yes, truth, labels):
    """Algorithm 5 (Mode 1): feed the document to each of its labels."""
    for at in range(ids.shape[0]):
        if yes[at]:
            weight = gain(state, ids[at])
            feed_and_relate(state, ids[at], buckets, x, known, ids, yes, truth, labels, weight)


@inlined
def feed_and_relate(state, label, buckets, x, known, ids, yes, truth, labels, weight):
    """Add a document that counts ``weight`` to a label's prototype and to its statistics."""
    before = state.counts[label]
    feed(state, label, buckets, x, weight)
    relate(state, label, known, ids, yes, truth, labels, weight, before)
    if state.counts[label] >= COUNT_LIMIT * gain(state, label):
        halve(state, label)


@kernel
def learn_mistake(state, buckets, x, known, ids, yes, truth, labels, chosen):
    """Algorithm 6 (Mode 2): feed missed labels; one false label feeds all true ones."""
    for at in range(ids.shape[0]):
        if yes[at] and is_missed(ids[at], chosen):
            weight = gain(state, ids[at])
            feed_and_relate(state, ids[at], buckets, x, known, ids, yes, truth, labels, weight)
    for predicted in chosen:
        if truth[predicted] == NO:
            learn_centroid(state, buckets, x, known, ids, yes, truth, labels)
            return


@kernel
def learn_perceptron(state, buckets, x, ids, yes, truth, labels, scores):
    """Rosenblatt's rule, for each label on its own."""
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
