"""Learning rules: how a labelled document changes the model."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import locate
from clasher.kernels.decay import gain
from clasher.kernels.labels import NO, UNKNOWN, YES, is_empty, is_missed, stated
from clasher.kernels.margin import QUIET, learn_margin, note_best, note_margins
from clasher.kernels.regions import feed_and_relate
from clasher.kernels.state import MARGIN, MISTAKE, PERCEPTRON, TOGETHER

PERCEPTRON_STEP = np.float32(0.1)


@inlined
def choose_moved(setting, likely, known, ids, yes, work):
    """List the labels whose values the document may change; returns how many.

    The linear rules come first with the labels that they score wrongly.
    """
    moved, scores, wrong = work.moved, work.scores, 0
    if setting.rule == PERCEPTRON:
        for at in range(likely):
            j = work.likely[at]
            verdict = stated(work.truth, known, j)
            moved[wrong] = j
            wrong += verdict != UNKNOWN and (scores[j] > 0.0) != (verdict == YES)
        return wrong, wrong
    if setting.rule == MARGIN:  # beyond a margin, labels are right
        for at in range(likely):
            j = work.likely[at]
            if scores[j] > QUIET and stated(work.truth, known, j) == NO:
                moved[wrong] = j
                wrong += 1
        for at in range(ids.shape[0]):
            if yes[at] and scores[ids[at]] < -QUIET:
                moved[wrong] = ids[at]
                wrong += 1
    many = wrong
    for at in range(ids.shape[0]):
        if yes[at] and not (setting.rule == MARGIN and scores[ids[at]] < -QUIET):
            moved[many] = ids[at]
            many += 1
    return wrong, many


@inlined
def learn(
    state, setting, buckets, length, region, likely, wrong, many, chosen, known, ids, yes, labels,
    work,
):  # fmt: skip
    """Apply the model's rule to one document."""
    if setting.rule == PERCEPTRON:
        note_best(state, length, likely, is_empty(known, ids, yes, labels), work)
        learn_perceptron(state, buckets, wrong, ids, yes, labels, work)
    elif setting.rule == MARGIN:
        note_margins(state, length, likely, known, ids, yes, work)
        note_best(state, length, likely, is_empty(known, ids, yes, labels), work)
        learn_margin(state, buckets, region, wrong, many, known, ids, yes, labels, work)
    elif setting.rule == MISTAKE:
        learn_mistake(state, buckets, known, ids, yes, labels, work, work.chosen[:chosen])
    else:
        learn_centroid(state, buckets, many, known, ids, yes, labels, work)


@kernel
def learn_centroid(state, buckets, many, known, ids, yes, labels, work):
    """Algorithm 5 (Mode 1): feed the document to the labels ``work.moved[:many]``."""
    for first in range(0, many, TOGETHER):
        part = work.moved[first : min(first + TOGETHER, many)]
        locate(state.rows, state.pool, buckets, part, labels, work.places, work.slots)
        for s in range(part.shape[0]):
            feed_and_relate(state, part[s], s, buckets, known, ids, yes, labels, work)


@kernel
def learn_mistake(state, buckets, known, ids, yes, labels, work, chosen):
    """Algorithm 6 (Mode 2): feed missed labels; one false label feeds all true ones."""
    missed = 0
    for at in range(ids.shape[0]):
        if yes[at] and is_missed(ids[at], chosen):
            work.moved[missed] = ids[at]
            missed += 1
    learn_centroid(state, buckets, missed, known, ids, yes, labels, work)
    for predicted in chosen:
        if stated(work.truth, known, predicted) == NO:
            true = 0
            for at in range(ids.shape[0]):
                if yes[at]:
                    work.moved[true] = ids[at]
                    true += 1
            learn_centroid(state, buckets, true, known, ids, yes, labels, work)
            return


@kernel
def learn_perceptron(state, buckets, wrong, ids, yes, labels, work):
    """Rosenblatt's rule, for each label on its own."""
    for first in range(0, wrong, TOGETHER):
        part = work.moved[first : min(first + TOGETHER, wrong)]
        locate(state.rows, state.pool, buckets, part, labels, work.places, work.slots)
        for s in range(part.shape[0]):
            j = part[s]
            step = PERCEPTRON_STEP * np.float32(gain(state, j))
            move = step if work.truth[j] == YES else -step
            state.bias[0, j] += move
            for at in range(buckets.shape[0]):
                state.pool.values[work.places[s, at]] += move * work.x[at]
    for at in range(ids.shape[0]):
        if yes[at]:
            state.counts[ids[at]] += gain(state, ids[at])
