"""Learning rules: how a labelled document changes the model."""

import numpy as np

from clasher.kernels import inlined
from clasher.kernels.cells import candidate, locate
from clasher.kernels.decay import gain
from clasher.kernels.labels import NO, UNKNOWN, YES, is_missed, stated
from clasher.kernels.margin import QUIET
from clasher.kernels.regions import add_document, feed_and_relate
from clasher.kernels.state import MARGIN, PERCEPTRON, RULE, TOGETHER

PERCEPTRON_STEP = np.float32(0.1)


@inlined
def choose_moved(state, wide, n, likely, known, ids, yes, work):
    """List the labels whose values the document may change, first those that are scored wrongly.

    Returns how many are scored wrongly (by the linear rules), how many there are, and the number of
    candidates: with the margin rule, true labels become candidates.
    """
    moved, scores, wrong = work.moved, work.scores, 0
    if RULE == PERCEPTRON:
        for j in range(likely):
            verdict = stated(work.truth, known, j)
            moved[wrong] = j
            wrong += verdict != UNKNOWN and (scores[j] > 0.0) != (verdict == YES)
        return wrong, wrong, n
    if RULE == MARGIN:  # beyond a margin, labels are right
        names = work.every if wide else work.ids
        for at in range(likely):
            p = work.likely[at]
            if scores[p] > QUIET and stated(work.truth, known, names[p]) == NO:
                moved[wrong], work.moved_at[wrong] = names[p], p
                wrong += 1
        for at in range(ids.shape[0]):
            if yes[at]:
                p, n = candidate(state, ids[at], wide, n, work)
                work.own_at[at] = p
                if scores[p] == -np.inf:
                    scores[p] = state.bias[0, ids[at]]
                if scores[p] < -QUIET:
                    moved[wrong], work.moved_at[wrong] = ids[at], p
                    wrong += 1
    many = wrong
    for at in range(ids.shape[0]):
        if yes[at]:
            if RULE == MARGIN:
                p = work.own_at[at]
                if scores[p] < -QUIET:
                    continue
                work.moved_at[many] = p
            moved[many] = ids[at]
            many += 1
    return wrong, many, n


@inlined
def learn_centroid(state, buckets, many, known, ids, yes, labels, work):
    """Algorithm 5 (Mode 1): feed the document to the labels ``work.moved[:many]``."""
    for first in range(0, many, TOGETHER):
        part = work.moved[first : min(first + TOGETHER, many)]
        locate(state.rows, state.pool, buckets, part, labels, work.places)
        for s in range(part.shape[0]):
            places = work.places[s, : buckets.shape[0]]
            feed_and_relate(state, part[s], places, known, ids, yes, labels, work)


@inlined
def learn_mistake(state, buckets, known, ids, yes, labels, work, chosen):
    """Algorithm 6 (Mode 2): feed missed labels; one false label feeds all true ones."""
    missed, true, is_wrong = 0, 0, False
    for predicted in chosen:
        is_wrong |= stated(work.truth, known, predicted) == NO
    for at in range(ids.shape[0]):
        if yes[at] and is_missed(ids[at], chosen):
            work.moved[missed] = ids[at]
            missed += 1
    true = missed
    if is_wrong:  # missed labels are fed twice
        for at in range(ids.shape[0]):
            if yes[at]:
                work.moved[true] = ids[at]
                true += 1
    learn_centroid(state, buckets, true, known, ids, yes, labels, work)


@inlined
def learn_perceptron(state, buckets, wrong, ids, yes, labels, work):
    """Rosenblatt's rule, for each label on its own."""
    for first in range(0, wrong, TOGETHER):
        part = work.moved[first : min(first + TOGETHER, wrong)]
        locate(state.rows, state.pool, buckets, part, labels, work.places)
        for s in range(part.shape[0]):
            j = part[s]
            step = PERCEPTRON_STEP * np.float32(gain(state.clock, state.gains, j))
            move = step if work.truth[j] == YES else -step
            state.bias[0, j] += move
            add_document(state.pool.values, work.places[s, : buckets.shape[0]], work.x, move)
    for at in range(ids.shape[0]):
        if yes[at]:
            state.counts[ids[at]] += gain(state.clock, state.gains, ids[at])
