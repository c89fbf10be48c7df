"""Algorithm 1, document by document: map, predict, learn, and unlearn."""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.classes import count_classes
from clasher.kernels.decay import gain
from clasher.kernels.drift import watch
from clasher.kernels.labels import UNLABELLED, above, fractions, mark, relate
from clasher.kernels.margin import probability, score, score_at, sigmoid
from clasher.kernels.regions import add_rows, clear, feed, nearest
from clasher.kernels.rules import learn
from clasher.kernels.sketch import count, uncount, weigh
from clasher.kernels.state import CENTROID, DOCUMENTS, LABELLED, LABELS, MARGIN, NOW, PERCEPTRON
from clasher.kernels.weightings import NO_MEASURE


@kernel
def unlearn_document(buckets, counts, places, keys, known, ids, yes, state, setting, work):
    """Undo Algorithm 5: remove a document from the sketch and from the regions of its labels.

    It is weighed as if it came now, so this is exact only if weights have not changed since.
    """
    uncount(state, setting, buckets, keys)
    if known == UNLABELLED:
        return
    weigh(state, setting, buckets, counts, places, keys, work)
    state.clock[NOW] *= setting.growth  # its labels were learnt after it was counted
    labels = state.totals[LABELS]
    mark(work.truth, labels, known, ids, yes)
    state.totals[LABELLED] -= 1
    if setting.measure != NO_MEASURE:
        count_classes(state, setting.measure, buckets, ids, yes, -1.0)
    for at in range(ids.shape[0]):
        if yes[at]:
            label = ids[at]
            weight = -min(gain(state, label), state.counts[label])
            if setting.rule == PERCEPTRON:
                state.counts[label] += weight
            else:
                before = state.counts[label]
                feed(state, label, buckets, work.x, weight)
                relate(state, label, known, ids, yes, work.truth, labels, weight, before)
                tidy(state, label, labels)
    state.clock[NOW] /= setting.growth


@kernel
def tidy(state, label, labels):
    """Clip a region's fractions to 0 and 1; clear it after its last document."""
    n = state.counts[label]
    for j in range(labels):
        state.together[label, j] = min(max(state.together[label, j], np.float32(0.0)), n)
    if n == 0.0:
        clear(state, label)


VECTOR = 16  # label rows are padded to this many


@inlined
def clash(state, setting, buckets, length, labels, work):
    """Find the region of a weighed document, and score every label; returns the region."""
    width = (labels + VECTOR - 1) // VECTOR * VECTOR
    if setting.rule == PERCEPTRON:
        add_rows(state.rows, 0, width, buckets, work.x, work.linear)
        for j in range(labels):
            work.scores[j] = (state.bias[0, j] + work.linear[j]) / gain(state, j)
        return -1
    add_rows(state.rows, 0, width, buckets, work.x, work.products)
    region = nearest(work, length, state, labels, setting.euclidean)
    if setting.rule != MARGIN:
        fractions(state, region, labels, work.scores)
        return region
    add_rows(state.rows, 1, width, buckets, work.x, work.linear)
    score(state, region, labels, work)
    return region


@inlined
def choose(state, setting, length, labels, work):
    """Eq. 13: write the predicted labels to ``work.chosen``; returns how many."""
    if length == 0.0:
        return 0
    threshold = setting.threshold
    if setting.rule == MARGIN:
        threshold = state.cut[0] if setting.learnt_cut else score_at(state, setting.threshold)
    floor = state.floor[0] if setting.learnt_floor else setting.floor
    return above(work.scores, labels, state.counts, threshold, floor, work.chosen)


@inlined
def teach(state, setting, buckets, length, region, chosen, known, ids, yes, labels, work):
    """Line 6 of Algorithm 1: learn from the labels of one document."""
    mark(work.truth, labels, known, ids, yes)
    for at in range(ids.shape[0]):
        state.seen[ids[at]] = state.totals[DOCUMENTS]
    state.totals[LABELLED] += 1
    if setting.measure != NO_MEASURE:
        count_classes(state, setting.measure, buckets, ids, yes, 1.0)
    if setting.watching:
        watch(state, buckets, work.x, work.chosen[:chosen], ids, yes, work.truth)
    learn(state, setting, buckets, length, region, chosen, known, ids, yes, labels, work)


@kernel
def step_documents(
    indptr, buckets, counts, word_indptr, places, keys, known, label_indptr, ids, yes,
    state, setting, work, predicting, out_indptr, out_ids,
):  # fmt: skip
    """Algorithm 1 over a batch: predict if ``predicting``, then learn."""
    filled = 0
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        own = buckets[inside]
        words = slice(word_indptr[document], word_indptr[document + 1])
        mine = ids[label_indptr[document] : label_indptr[document + 1]]
        mine_yes = yes[label_indptr[document] : label_indptr[document + 1]]
        chosen, region, length = 0, -1, 0.0
        labels = state.totals[LABELS]
        labelled = known[document] != UNLABELLED
        if predicting or labelled:
            length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
            if mine.shape[0] > 0:
                labels = max(labels, mine[-1] + 1)
        asking = setting.rule != CENTROID or setting.watching  # Mode 1 learns without predicting
        if predicting or (labelled and asking):
            region = clash(state, setting, own, length, labels, work)
            chosen = choose(state, setting, length, labels, work)
        if predicting:
            for at in range(chosen):
                out_ids[filled + at] = work.chosen[at]
            filled += chosen
            out_indptr[document + 1] = filled
        count(state, setting, own, places[words], keys[words], work)
        if labelled:
            state.totals[LABELS] = labels
            teach(
                state, setting, own, length, region, chosen, known[document], mine, mine_yes,
                labels, work,
            )  # fmt: skip


@kernel
def predict_documents(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
    out_indptr, out_ids, out_scores,
):  # fmt: skip
    """Lines 3–5 of Algorithm 1 over a batch; changes nothing.

    Without rows in ``out_scores``, writes the label sets only.
    """
    filled = 0
    labels = state.totals[LABELS]
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        own = buckets[inside]
        words = slice(word_indptr[document], word_indptr[document + 1])
        length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
        clash(state, setting, own, length, labels, work)
        chosen = choose(state, setting, length, labels, work)
        for at in range(chosen):
            out_ids[filled + at] = work.chosen[at]
        filled += chosen
        out_indptr[document + 1] = filled
        if out_scores.shape[0] > 0:
            for j in range(labels):
                out_scores[document, j] = shown(state, setting, work.scores[j])


@kernel
def shown(state, setting, evidence):
    """Turn a score into what users see: a probability, or the fraction F̂."""
    if setting.rule == MARGIN:
        return probability(state, evidence)
    return sigmoid(evidence) if setting.rule == PERCEPTRON else evidence
