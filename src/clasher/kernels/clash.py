"""Algorithm 1, document by document: map, predict, learn, and unlearn.

Loops stop before a document for which there is no room, and return its number: the caller makes
room and goes on from there.
"""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import clear_terms, first_cell, leave, locate, meet, most_room
from clasher.kernels.classes import count_classes
from clasher.kernels.decay import gain
from clasher.kernels.drift import watch
from clasher.kernels.labels import UNLABELLED, above, fractions, mark, relate, unmark
from clasher.kernels.margin import LOWEST, probability, score, score_at, sigmoid
from clasher.kernels.regions import clear, feed, nearest
from clasher.kernels.rules import choose_moved, learn
from clasher.kernels.sketch import count, uncount, weigh
from clasher.kernels.state import (
    CENTROID,
    DOCUMENTS,
    FULL,
    LABELLED,
    LABELS,
    LIMIT,
    MARGIN,
    NOW,
    PERCEPTRON,
    SIZE,
    TOP,
    USED,
)
from clasher.kernels.weightings import NO_MEASURE


@kernel
def unlearn_document(buckets, counts, places, keys, known, ids, yes, state, setting, work):
    """Undo Algorithm 5: remove a document from the sketch and from the regions of its labels.

    It is weighed as if it came now, so this is exact only if weights have not changed since. False
    if there is no room, before anything has changed.
    """
    labels = state.totals[LABELS]
    if not fits(state, setting, buckets, ids.shape[0], ids, labels):
        return False
    uncount(state, setting, buckets, keys)
    if known == UNLABELLED:
        return True
    weigh(state, setting, buckets, counts, places, keys, work)
    state.clock[NOW] *= setting.growth  # its labels were learnt after it was counted
    mark(work.truth, ids, yes)
    state.totals[LABELLED] -= 1
    if setting.measure != NO_MEASURE:
        count_classes(state, setting.measure, buckets, ids, yes, -1.0, labels)
    for at in range(ids.shape[0]):
        if yes[at]:
            label = ids[at]
            weight = -min(gain(state, label), state.counts[label])
            if setting.rule == PERCEPTRON:
                state.counts[label] += weight
            else:
                before = state.counts[label]
                own = ids[at : at + 1]
                locate(state.rows, state.pool, buckets, own, labels, work.places, work.slots)
                feed(state, label, work.places[0, : buckets.shape[0]], work.x, weight)
                relate(state, label, known, ids, yes, work.truth, labels, weight, before)
                tidy(state, label)
    state.clock[NOW] /= setting.growth
    unmark(work.truth, ids)
    return True


@kernel
def tidy(state, label):
    """Clip a region's fractions to 0 and 1; clear it after its last document."""
    n, pool = state.counts[label], state.pool
    start = first_cell(state.together, label)
    for at in range(start, start + state.together[label, SIZE]):
        place = at * pool.layers
        pool.values[place] = min(max(pool.values[place], np.float32(0.0)), n)
    if n == 0.0:
        clear(state, label)


@kernel
def fits(state, setting, buckets, many, ids, labels):
    """Tell whether the pool has room when a document meets ``many`` labels and carries ``ids``."""
    pool, true = state.pool, ids.shape[0]
    free = pool.free[LIMIT] - pool.free[TOP]
    if pool.free[USED] > FULL * pool.free[LIMIT]:
        return False
    if (2 * buckets.shape[0] + true) * 6 * np.int64(labels + 16) < free:
        return True
    needed = np.int64(0)
    for at in range(buckets.shape[0]):
        needed += most_room(state.rows, buckets[at], many, labels)
        if setting.measure != NO_MEASURE:
            needed += most_room(state.classes, buckets[at], true, labels)
    if setting.rule != PERCEPTRON:
        for at in range(true):
            needed += most_room(state.together, ids[at], true, labels)
    return needed <= free


@inlined
def clash(state, setting, buckets, length, labels, work):
    """Find the region of a weighed document, and score the labels that it touches.

    Returns the region, how many labels are touched (``work.touched``), and how many are likely
    (``work.likely``): all that can be predicted, or the best of them.
    """
    everything = setting.euclidean or setting.rule == PERCEPTRON
    touched = meet(state.rows, state.pool, buckets, work.x, labels, everything, work)
    if setting.rule == PERCEPTRON:
        for j in range(labels):
            work.scores[j] = (state.bias[0, j] + work.both[j]) / gain(state, j)
            work.likely[j] = j
        return -1, labels, labels
    region = nearest(work, length, state, touched, labels, setting.euclidean)
    if setting.rule == MARGIN:
        least = min(LOWEST, threshold_of(state, setting))
        touched, likely = score(state, region, touched, labels, least, work)
    else:
        touched = fractions(state, region, touched, work)
        likely = touched
    return region, touched, likely


@inlined
def threshold_of(state, setting):
    """Return the score above which labels are predicted."""
    if setting.rule == MARGIN:
        return state.cut[0] if setting.learnt_cut else score_at(state, setting.threshold)
    return setting.threshold


@inlined
def choose(state, setting, length, likely, work):
    """Eq. 13: write the predicted labels to ``work.chosen``; returns how many."""
    if length == 0.0:
        return 0
    floor = state.floor[0] if setting.learnt_floor else setting.floor
    return above(work, likely, state.counts, threshold_of(state, setting), floor)


@inlined
def score_true(state, setting, ids, yes, work):
    """Write z of the true labels that a document does not touch."""
    if setting.rule == MARGIN:
        for at in range(ids.shape[0]):
            if yes[at] and not work.marks[ids[at]]:
                clear_terms(ids[at], 2, work)
                work.scores[ids[at]] = state.bias[0, ids[at]]


@inlined
def teach(
    state, setting, buckets, length, region, likely, moved, chosen, known, ids, yes, labels, work
):
    """Line 6 of Algorithm 1: learn from the labels of one document."""
    for at in range(ids.shape[0]):
        state.seen[ids[at]] = state.totals[DOCUMENTS]
    state.totals[LABELLED] += 1
    if setting.measure != NO_MEASURE:
        count_classes(state, setting.measure, buckets, ids, yes, 1.0, labels)
    if setting.watching:
        watch(state, buckets, work.x, work.chosen[:chosen], known, ids, yes, work.truth)
    wrong, many = moved
    learn(
        state, setting, buckets, length, region, likely, wrong, many, chosen, known, ids, yes,
        labels, work,
    )  # fmt: skip


@kernel
def step_documents(
    first, indptr, buckets, counts, word_indptr, places, keys, known, label_indptr, ids, yes,
    state, setting, work, predicting, out_indptr, out_ids,
):  # fmt: skip
    """Algorithm 1 over a batch: predict if ``predicting``, then learn.

    Returns the document before which it stops for want of room, or the number of documents.
    """
    filled = out_indptr[first] if predicting else 0
    for document in range(first, indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        own = buckets[inside]
        words = slice(word_indptr[document], word_indptr[document + 1])
        mine = ids[label_indptr[document] : label_indptr[document + 1]]
        mine_yes = yes[label_indptr[document] : label_indptr[document + 1]]
        chosen, region, length, touched, likely, moved = 0, -1, 0.0, 0, 0, (0, 0)
        labels = state.totals[LABELS]
        labelled = known[document] != UNLABELLED
        if predicting and out_ids.shape[0] - filled < labels:
            return document
        if predicting or labelled:
            length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
            if mine.shape[0] > 0:
                labels = max(labels, mine[-1] + 1)
        asking = setting.rule != CENTROID or setting.watching  # Mode 1 learns without predicting
        if predicting or (labelled and asking):
            region, touched, likely = clash(state, setting, own, length, labels, work)
            chosen = choose(state, setting, length, likely, work)
        if labelled:
            mark(work.truth, mine, mine_yes)
            score_true(state, setting, mine, mine_yes, work)
            moved = choose_moved(setting, likely, known[document], mine, mine_yes, work)
            if not fits(state, setting, own, moved[1], mine, labels):
                unmark(work.truth, mine)
                leave(touched, work)
                return document
        if predicting:
            for at in range(chosen):
                out_ids[filled + at] = work.chosen[at]
            filled += chosen
            out_indptr[document + 1] = filled
        count(state, setting, own, places[words], keys[words], work)
        if labelled:
            state.totals[LABELS] = labels
            teach(
                state, setting, own, length, region, likely, moved, chosen, known[document], mine,
                mine_yes, labels, work,
            )  # fmt: skip
            unmark(work.truth, mine)
        leave(touched, work)
    return indptr.shape[0] - 1


@kernel
def predict_documents(
    first, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
    out_indptr, out_ids, out_scores,
):  # fmt: skip
    """Lines 3–5 of Algorithm 1 over a batch; changes nothing.

    Without rows in ``out_scores``, writes the label sets only. Returns the document before which it
    stops for want of room in ``out_ids``, or the number of documents.
    """
    filled = out_indptr[first]
    labels = state.totals[LABELS]
    for document in range(first, indptr.shape[0] - 1):
        if out_ids.shape[0] - filled < labels:
            return document
        inside = slice(indptr[document], indptr[document + 1])
        own = buckets[inside]
        words = slice(word_indptr[document], word_indptr[document + 1])
        length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
        _, touched, likely = clash(state, setting, own, length, labels, work)
        chosen = choose(state, setting, length, likely, work)
        for at in range(chosen):
            out_ids[filled + at] = work.chosen[at]
        filled += chosen
        out_indptr[document + 1] = filled
        if out_scores.shape[0] > 0:
            for j in range(labels):
                out_scores[document, j] = shown(state, setting, untouched(state, setting, j))
            for at in range(touched):
                j = work.touched[at]
                out_scores[document, j] = shown(state, setting, work.scores[j])
        leave(touched, work)
    return indptr.shape[0] - 1


@kernel
def untouched(state, setting, j):
    """Return the score of a label that a document does not touch."""
    return state.bias[0, j] if setting.rule == MARGIN else 0.0


@kernel
def shown(state, setting, evidence):
    """Turn a score into what users see: a probability, or the fraction F̂."""
    if setting.rule == MARGIN:
        return probability(state, evidence)
    return sigmoid(evidence) if setting.rule == PERCEPTRON else evidence
