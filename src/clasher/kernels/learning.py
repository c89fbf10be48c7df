"""The learning rules: what a labelled document changes."""

import math

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.fading import gain
from clasher.kernels.labels import NO, UNKNOWN, YES, relate
from clasher.kernels.regions import feed, halve, ratio
from clasher.kernels.state import BINS, LABELLED

# Sums are float32, which cannot count on for ever: past this many documents all that is summed
# for a label is halved, which leaves its mean as it is and makes later documents weigh more.
COUNT_LIMIT = 2.0**22

# The margin rule.
STEP = np.float32(0.9)
FLOOR = np.float32(8.0)  # under the root of AdaGrad, in squares of a typical weight of the document
SLACK = 0.14  # gradients up to this size are left alone
BIAS_START = -4.0
BIAS_STEP = 0.5
BIAS_FLOOR = 0.1
SHARED_START = (4.0, 2.5, 1.0)
SHARED_STEP = 0.07
SHARED_FLOOR = 10.0
QUIET = math.log(SLACK / (1.0 - SLACK))  # σ(z) > SLACK from here on

# The learnt threshold of the margin rule.
LOWEST, BIN = -3.0, 0.1
EVERY = 1000  # labelled documents between two choices
FADE = 0.9

PERCEPTRON_STEP = np.float32(0.1)


@kernel
def sigmoid(z):
    """σ(z), without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@kernel
def learn_centroid(state, buckets, x, known, ids, yes, truth, labels):
    """Algorithm 5 (Mode 1): every label of the document is fed."""
    for at in range(ids.shape[0]):
        if yes[at]:
            weight = gain(state, ids[at])
            feed_and_relate(state, ids[at], buckets, x, known, ids, yes, truth, labels, weight)


@kernel
def feed_and_relate(state, label, buckets, x, known, ids, yes, truth, labels, weight):
    """Feed one label's prototype and its statistics with a document that counts ``weight``."""
    feed(state, label, buckets, x, weight)
    relate(state, label, known, ids, yes, truth, labels, weight)
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


@kernel
def learn_margin(state, buckets, x, region, truth, labels, work):
    """The linear part of Mode 3: a gradient step where the document is not yet well told apart."""
    slope_c, slope_r, slope_f = 0.0, 0.0, 0.0
    for j in range(labels):
        z = work.scores[j]
        true = truth[j] == YES
        if truth[j] == UNKNOWN or (not true and z <= QUIET) or (true and z >= -QUIET):
            continue
        slope = sigmoid(z) - (1.0 if true else 0.0)
        follow(state, j, buckets, x, np.float32(slope), np.float32(state.gains[j]))
        state.bias[1, j] += slope * slope
        state.bias[0, j] -= BIAS_STEP * slope / math.sqrt(BIAS_FLOOR + state.bias[1, j])
        if region >= 0:
            slope_c += slope * work.cosines[j]
            slope_r += slope * ratio(work.cosines[j], work.cosines[region])
            slope_f += slope * state.together[region, j] / state.counts[region]
    share(state.shared, 0, slope_c)
    share(state.shared, 1, slope_r)
    share(state.shared, 2, slope_f)


@kernel
def follow(state, label, buckets, x, slope, one):
    """AdaGrad on the weights of one label; ``one`` is what a square of now counts."""
    floor = one * FLOOR / np.float32(max(buckets.shape[0], 1))
    step = STEP * np.sqrt(one)
    for at in range(buckets.shape[0]):
        bucket = buckets[at]
        move = slope * x[at]
        squared = state.squares[bucket, label] + one * move * move
        state.squares[bucket, label] = squared
        state.rows[bucket, 1, label] -= step * move / np.sqrt(floor + squared)


@kernel
def share(shared, which, slope):
    """AdaGrad on one of the weights that all labels share."""
    shared[1, which] += slope * slope
    shared[0, which] -= SHARED_STEP * slope / math.sqrt(SHARED_FLOOR + shared[1, which])


@kernel
def note_margins(state, length, truth, labels, scores):
    """Count the scores of known labels, and choose the threshold anew now and then."""
    if length > 0.0:
        for j in range(labels):
            z = scores[j]
            if truth[j] != UNKNOWN and state.counts[j] > 0.0 and (z > LOWEST or truth[j] == YES):
                place = min(max(math.floor((z - LOWEST) / BIN) + 1, 0), BINS - 1)
                state.margins[1 if truth[j] == YES else 0, place] += 1.0
    if state.totals[LABELLED] % EVERY == 0:
        state.cut[0] = best_cut(state.margins, state.cut[0])
        for side in range(2):
            for place in range(BINS):
                state.margins[side, place] *= FADE


@kernel
def best_cut(margins, otherwise):
    """The lowest bin edge above which predicting gives the best micro F1, if any finds a label."""
    positives = 0.0
    for place in range(BINS):
        positives += margins[1, place]
    hits, alarms, best, best_value = 0.0, 0.0, 0, 0.0
    for place in range(BINS - 1, 0, -1):
        hits += margins[1, place]
        alarms += margins[0, place]
        if hits > 0.0:
            value = 2.0 * hits / (positives + hits + alarms)
            if value >= best_value:
                best, best_value = place, value
    return LOWEST + BIN * (best - 1) if best > 0 else otherwise
