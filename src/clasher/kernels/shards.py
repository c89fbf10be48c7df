"""Algorithm 1 with labels split over machines.

A shard has the columns of some labels. Whatever depends on all labels takes a round: each shard
answers for its labels, and all shards get the best of the answers. Labels are scored by the same
functions as in ``clash.py``, so predictions equal those of one machine.
"""

import math

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import leave, meet
from clasher.kernels.clash import clash
from clasher.kernels.labels import above, best_two, fractions
from clasher.kernels.margin import LOWEST, add_clashes, add_regions, look_beside_two, worth
from clasher.kernels.regions import closeness, map_document
from clasher.kernels.sketch import weigh


@inlined
def weigh_one(document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work):
    """Weigh a document of a batch; returns its buckets and its length."""
    inside = slice(indptr[document], indptr[document + 1])
    words = slice(word_indptr[document], word_indptr[document + 1])
    own = buckets[inside]
    return own, weigh(state, setting, own, counts[inside], places[words], keys[words], work)


@kernel
def ask_nearest(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    out_labels, out_values,
):  # fmt: skip
    """Find the nearest region of this shard, and the three with the highest cosines.

    ``out_labels`` [n, 4]: the nearest and those three, −1 for none. ``out_values`` [n, 5]: the
    nearest's closeness and cosine, and the three cosines.
    """
    for document in range(indptr.shape[0] - 1):
        own, length = weigh_one(
            document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work
        )
        wide, n = meet(state, own, labels, setting.euclidean, work)
        near, three, highest, n = map_document(
            state, length, wide, n, labels, setting.euclidean, work
        )
        ids = work.every if wide else work.ids
        for which in range(4):
            out_labels[document, which] = -1
        for which in range(5):
            out_values[document, which] = 0.0
        if near >= 0:
            label, cosine = ids[near], work.cosines[near]
            out_labels[document, 0], out_values[document, 0] = label, cosine
            if setting.euclidean:
                product = work.both[near * state.pool.layers]
                out_values[document, 0] = closeness(
                    state.counts[label], state.norms[label], product
                )
            out_values[document, 1] = cosine
            for which in range(3):
                if highest[which] > 0.0:
                    out_labels[document, 1 + which] = ids[three[which]]
                    out_values[document, 2 + which] = highest[which]
        leave(wide, n, work)


@kernel
def ask_linear(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    out_indptr, out_ids, out_best, out_value,
):  # fmt: skip
    """Find the labels of this shard that a perceptron predicts, and its best label."""
    floor = state.floor[0] if setting.learnt_floor else setting.floor
    filled = 0
    for document in range(indptr.shape[0] - 1):
        own, length = weigh_one(
            document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work
        )
        _, _, _, _, likely, best = clash(state, setting, own, length, labels, work)
        filled = answer(
            state, setting.threshold, floor, length, work.every, likely, best, work, document,
            filled, out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip


@kernel
def ask_scores(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    all_counts, near_labels, near_values, out_labels, out_values,
):  # fmt: skip
    """Find the two best labels of this shard before the second look, and their z.

    ``near_labels`` [n, 4] and ``near_values`` [n, 4] are the nearest region of all shards, the
    three with the highest cosines, and their cosines. ``out_labels`` and ``out_values`` are [n, 2].
    """
    for document in range(indptr.shape[0] - 1):
        for which in range(2):
            out_labels[document, which], out_values[document, which] = -1, 0.0
        if near_labels[document, 0] >= 0:
            _, wide, n, _ = score_shard(
                document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
                labels, all_counts, near_labels[document], near_values[document], LOWEST,
            )  # fmt: skip
            ids = work.every if wide else work.ids
            two = best_two(work.scores, ids, state.counts, n)
            for which in range(2):
                if two[which] >= 0:
                    out_labels[document, which] = ids[two[which]]
                    out_values[document, which] = work.scores[two[which]]
            leave(wide, n, work)


@kernel
def ask_look(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    all_counts, near_labels, near_values, first, all_gains, cut, two_labels, two_values,
    out_indptr, out_ids, out_best, out_value,
):  # fmt: skip
    """Find the labels of this shard that pass after the second look, and its best label.

    ``two_labels`` [n, 2] and ``two_values`` [n, 2] are the best labels of all shards.
    """
    floor = state.floor[0] if setting.learnt_floor else setting.floor
    filled = 0
    for document in range(indptr.shape[0] - 1):
        length, wide, n, likely, best = 0.0, True, 0, 0, -1
        if near_labels[document, 0] >= 0:
            length, wide, n, likely = score_shard(
                document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
                labels, all_counts, near_labels[document], near_values[document], min(LOWEST, cut),
            )  # fmt: skip
            ids = work.every if wide else work.ids
            one, other = two_labels[document, 0], two_labels[document, 1]
            if other >= 0:
                look_beside_two(
                    state, all_counts, all_gains, one, other, two_values[document, 0],
                    two_values[document, 1], first, wide, likely, ids, work,
                )  # fmt: skip
            best, _ = best_two(work.scores, ids, state.counts, n)
        filled = answer(
            state, cut, floor, length, (work.every if wide else work.ids), likely, best, work,
            document, filled, out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip
        leave(wide, n, work)


@inlined
def score_shard(
    document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    all_counts, near_labels, near_values, least,
):  # fmt: skip
    """Write z of this shard's labels before the second look, given the regions of all shards.

    Returns the length of the document, and as ``clash`` its candidates and how many are likely.
    """
    own, length = weigh_one(
        document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work
    )
    wide, n = meet(state, own, labels, setting.euclidean, work)
    _, _, _, n = map_document(state, length, wide, n, labels, setting.euclidean, work)
    i0, i1, i2 = near_labels[1], near_labels[2], near_labels[3]
    highest = near_values[1], near_values[2], near_values[3]
    values = worth(highest, all_counts[i0], all_counts[i1], all_counts[i2])
    n = add_regions(state, (i0, i1, i2), values, wide, n, work)
    likely = add_clashes(state, near_values[0], wide, n, setting.euclidean, least, work)
    return length, wide, n, likely


@inlined
def answer(
    state, threshold, floor, length, ids, likely, best, work, document, filled, out_indptr, out_ids,
    out_best, out_value,
):  # fmt: skip
    """Write the labels that pass, and the best above the floor or −1; returns ``filled``."""
    out_best[document] = -1
    if length > 0.0:
        found = above(
            work.scores, ids, work.likely[:likely], state.counts, threshold, math.inf, best,
            work.chosen,
        )  # fmt: skip
        for at in range(found):
            out_ids[filled + at] = work.chosen[at]
        filled += found
        if best >= 0 and work.scores[best] > floor:
            out_best[document] = ids[best]
            out_value[document] = work.scores[best]
    out_indptr[document + 1] = filled
    return filled


@kernel
def ask_regions(regions, state, all_counts, setting, work, out_indptr, out_ids):
    """Eq. 13 for documents whose nearest region is one of this shard; −1 has no labels."""
    filled = 0
    for document in range(regions.shape[0]):
        region = regions[document]
        if region >= 0:
            n = fractions(
                state.together, state.pool, region, state.counts[region], work.ids, work.scores,
                work.likely,
            )  # fmt: skip
            best, _ = best_two(work.scores, work.ids, all_counts, n)
            found = above(
                work.scores, work.ids, work.likely[:n], all_counts, setting.threshold,
                setting.floor, best, work.chosen,
            )  # fmt: skip
            for at in range(found):
                out_ids[filled + at] = work.chosen[at]
            filled += found
        out_indptr[document + 1] = filled
