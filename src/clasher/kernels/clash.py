"""Algorithm 1, document by document: map, predict, learn, and unlearn.

Loops stop before a document for which there is no room, and return its number: the caller makes
room and goes on from there.
"""

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import first_cell, leave, locate, meet, most_room
from clasher.kernels.classes import count_classes
from clasher.kernels.decay import gain
from clasher.kernels.drift import watch
from clasher.kernels.labels import (
    UNLABELLED,
    YES,
    above,
    best_two,
    fractions,
    is_empty,
    mark,
    relate,
    unmark,
)
from clasher.kernels.margin import (
    LOWEST,
    learn_margin,
    note_best,
    note_margins,
    probability,
    score,
    score_at,
    sigmoid,
)
from clasher.kernels.regions import clear, feed, map_document
from clasher.kernels.rules import choose_moved, learn_centroid, learn_mistake, learn_perceptron
from clasher.kernels.sketch import count, uncount, weigh
from clasher.kernels.state import (
    CENTROID,
    DOCUMENTS,
    EXTRAS,
    FULL,
    LABELLED,
    LABELS,
    LIMIT,
    MARGIN,
    MISTAKE,
    NOW,
    PERCEPTRON,
    RULE,
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
    if EXTRAS != 0 and setting.measure != NO_MEASURE:
        count_classes(state, setting.measure, buckets, ids, yes, -1.0, labels)
    for at in range(ids.shape[0]):
        if yes[at]:
            label = ids[at]
            weight = -min(gain(state.clock, state.gains, label), state.counts[label])
            if RULE == PERCEPTRON:
                state.counts[label] += weight
            else:
                before = state.counts[label]
                own = ids[at : at + 1]
                locate(state.rows, state.pool, buckets, own, labels, work.places)
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
        needed += most_room(state.rows, buckets[at], pool, many, labels)
        if EXTRAS != 0 and setting.measure != NO_MEASURE:
            needed += most_room(state.classes, buckets[at], pool, true, labels)
    if setting.rule != PERCEPTRON:
        for at in range(true):
            needed += most_room(state.together, ids[at], pool, true, labels)
    return needed <= free


@inlined
def clash(state, setting, buckets, length, labels, work):
    """Find the region of a weighed document, and score the labels that it touches.

    Returns the region or −1, its cosine, whether candidates are wide, how many there are, how many
    are likely (``work.likely``: all that can be predicted), and the place of the best or −1.
    """
    if RULE == PERCEPTRON:
        meet(state, buckets, labels, True, work)
        for j in range(labels):
            work.scores[j] = (state.bias[0, j] + work.both[j]) / gain(state.clock, state.gains, j)
            work.likely[j] = j
        best, _ = best_two(work.scores, work.every, state.counts, labels)
        return -1, 0.0, True, labels, labels, best
    euclidean = setting.euclidean
    wide, n = meet(state, buckets, labels, euclidean, work)
    place, three, highest, n = map_document(state, length, wide, n, labels, euclidean, work)
    region, cosine, likely, best = -1, 0.0, 0, -1
    if place >= 0:
        region, cosine = np.int64((work.every if wide else work.ids)[place]), work.cosines[place]
    if RULE == MARGIN:
        least = min(LOWEST, threshold_of(state, setting))
        n, likely, best = score(
            state, region, cosine, three, highest, wide, n, euclidean, least, work
        )
    else:
        leave(wide, n, work)
        wide, n = False, 0
        if region >= 0:
            n = fractions(
                state.together, state.pool, region, state.counts[region], work.ids, work.scores,
                work.likely,
            )  # fmt: skip
        likely = n
        best, _ = best_two(work.scores, work.ids, state.counts, n)
    return region, cosine, wide, n, likely, best


@inlined
def threshold_of(state, setting):
    """Return the score above which labels are predicted."""
    if RULE == MARGIN:
        return state.cut[0] if setting.learnt_cut else score_at(state.odds, setting.threshold)
    return setting.threshold


@inlined
def choose(state, setting, length, wide, likely, best, work):
    """Eq. 13: write the predicted labels to ``work.chosen``; returns how many."""
    if length == 0.0:
        return 0
    floor = state.floor[0] if setting.learnt_floor else setting.floor
    return above(
        work.scores, (work.every if wide else work.ids), work.likely[:likely], state.counts,
        threshold_of(state, setting), floor, best, work.chosen,
    )  # fmt: skip


@inlined
def teach(
    state, setting, buckets, length, cosine, wide, likely, best, moved, chosen, known, ids, yes,
    labels, work,
):  # fmt: skip
    """Line 6 of Algorithm 1: learn from the labels of one document."""
    for at in range(ids.shape[0]):
        state.seen[ids[at]] = state.totals[DOCUMENTS]
    state.totals[LABELLED] += 1
    if EXTRAS != 0:
        if setting.measure != NO_MEASURE:
            count_classes(state, setting.measure, buckets, ids, yes, 1.0, labels)
        if setting.watching:
            watch(state, buckets, work.x, work.chosen[:chosen], known, ids, yes, work.truth)
    wrong, many = moved
    if RULE == CENTROID:
        learn_centroid(state, buckets, many, known, ids, yes, labels, work)
    if RULE == MISTAKE:
        learn_mistake(state, buckets, known, ids, yes, labels, work, work.chosen[:chosen])
    if RULE == MARGIN or RULE == PERCEPTRON:  # noqa: SIM109 - Numba leaves out such branches only
        names = work.every if wide else work.ids
        score, is_true = 0.0, False
        if best >= 0:
            score, is_true = work.scores[best], work.truth[names[best]] == YES
        if RULE == MARGIN:
            note_margins(state, length, likely, names, known, ids, yes, work)
        note_best(state, length, best, score, is_true, is_empty(known, ids, yes, labels))
    if RULE == MARGIN:
        learn_margin(state, buckets, cosine, wrong, many, known, ids, yes, labels, work)
    if RULE == PERCEPTRON:
        learn_perceptron(state, buckets, wrong, ids, yes, labels, work)


@kernel
def step_documents(
    first, indptr, buckets, counts, word_indptr, places, keys, known, label_indptr, ids, yes,
    state, setting, work, predicting, out_indptr, out_ids, out_ranked,
):  # fmt: skip
    """Algorithm 1 over a batch: predict if ``predicting``, then learn.

    Ranks as many labels as ``out_ranked`` [documents, …] has columns. Returns the document before
    which it stops for want of room, or the number of documents.
    """
    filled = out_indptr[first] if predicting else 0
    for document in range(first, indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        own = buckets[inside]
        words = slice(word_indptr[document], word_indptr[document + 1])
        mine = ids[label_indptr[document] : label_indptr[document + 1]]
        mine_yes = yes[label_indptr[document] : label_indptr[document + 1]]
        cosine, wide, n, likely, best = 0.0, True, 0, 0, -1
        length, chosen, moved = 0.0, 0, (0, 0)
        labels = state.totals[LABELS]
        labelled = known[document] != UNLABELLED
        if predicting and out_ids.shape[0] - filled < labels:
            return document
        if predicting or labelled:
            length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
            if mine.shape[0] > 0:
                labels = max(labels, mine[-1] + 1)
        asking = RULE != CENTROID or setting.watching  # Mode 1 learns without predicting
        if predicting or (labelled and asking):
            _, cosine, wide, n, likely, best = clash(state, setting, own, length, labels, work)
            chosen = choose(state, setting, length, wide, likely, best, work)
            if predicting and out_ranked.shape[1] > 0:
                names = work.every if wide else work.ids
                rank(work.scores, names, n, state.counts, out_ranked[document])
        if labelled:
            mark(work.truth, mine, mine_yes)
            wrong, many, n = choose_moved(
                state, wide, n, likely, known[document], mine, mine_yes, work
            )
            moved = wrong, many
            if not fits(state, setting, own, many, mine, labels):
                unmark(work.truth, mine)
                leave(wide, n, work)
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
                state, setting, own, length, cosine, wide, likely, best, moved, chosen,
                known[document], mine, mine_yes, labels, work,
            )  # fmt: skip
            unmark(work.truth, mine)
        leave(wide, n, work)
    return indptr.shape[0] - 1


@kernel
def predict_documents(
    first, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
    out_indptr, out_ids, out_scores, out_ranked,
):  # fmt: skip
    """Lines 3–5 of Algorithm 1 over a batch; changes nothing.

    Without rows in ``out_scores``, writes the label sets only, and ranks as many labels as
    ``out_ranked`` [documents, …] has columns. Returns the document before which it stops for want
    of room in ``out_ids``, or the number of documents.
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
        _, _, wide, n, likely, best = clash(state, setting, own, length, labels, work)
        chosen = choose(state, setting, length, wide, likely, best, work)
        for at in range(chosen):
            out_ids[filled + at] = work.chosen[at]
        filled += chosen
        out_indptr[document + 1] = filled
        names = work.every if wide else work.ids
        if out_ranked.shape[1] > 0:
            rank(work.scores, names, n, state.counts, out_ranked[document])
        if out_scores.shape[0] > 0:
            for j in range(labels):
                out_scores[document, j] = shown(state, untouched(state, j))
            for p in range(n):
                if work.scores[p] > -np.inf:
                    out_scores[document, names[p]] = shown(state, work.scores[p])
        leave(wide, n, work)
    return indptr.shape[0] - 1


@kernel
def examine(buckets, counts, places, keys, state, setting, work, out):
    """Do lines 3–5 of Algorithm 1 for one document, and show what they rest on; changes nothing.

    Writes score, what users see of it, c_j, F_j and l_j of every label to ``out`` [5, labels].
    Returns the region or −1, its cosine, the document's length, and how many labels are in
    ``work.chosen``.
    """
    labels = state.totals[LABELS]
    length = weigh(state, setting, buckets, counts, places, keys, work)
    region, cosine, wide, n, likely, best = clash(state, setting, buckets, length, labels, work)
    chosen = choose(state, setting, length, wide, likely, best, work)
    names = work.every if wide else work.ids
    for j in range(labels):
        out[0, j] = untouched(state, j)
        out[2, j], out[3, j], out[4, j] = 0.0, 0.0, 0.0
    for p in range(n):
        if work.scores[p] > -np.inf:
            j = names[p]
            out[0, j] = work.scores[p]
            if RULE == MARGIN:
                out[2, j], out[3, j] = work.cosines[p], work.fractions[p]
                out[4, j] = work.looks[p]
    for j in range(labels):
        out[1, j] = shown(state, out[0, j])
    leave(wide, n, work)
    return region, cosine, length, chosen


@kernel
def rank(scores, names, n, counts, out):
    """Write the labels with the highest scores, best first; −1 where there are fewer.

    Of equal ones the lower label comes first.
    """
    found, most = 0, out.shape[0]
    for p in range(n):  # out has places until all are known
        z = scores[p]
        if z == -np.inf or counts[names[p]] == 0.0:
            continue
        at = found
        while at > 0 and is_before(z, names[p], scores[out[at - 1]], names[out[at - 1]]):
            at -= 1
        if at < most:
            found = min(found + 1, most)
            for later in range(found - 1, at, -1):
                out[later] = out[later - 1]
            out[at] = p
    for at in range(most):
        out[at] = names[out[at]] if at < found else -1


@kernel
def is_before(z, label, other_z, other):
    """Tell whether a label ranks before another."""
    return z > other_z or (z == other_z and label < other)


@kernel
def untouched(state, j):
    """Return the score of a label that a document does not touch."""
    return state.bias[0, j] if RULE == MARGIN else 0.0


@kernel
def shown(state, evidence):
    """Turn a score into what users see: a probability, or the fraction F̂."""
    if RULE == MARGIN:
        return probability(state.odds, evidence)
    if RULE == PERCEPTRON:
        return sigmoid(evidence)
    return evidence
