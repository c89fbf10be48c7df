"""Algorithm 1 with labels split over machines.

A shard has the columns of some labels. Whatever depends on all labels takes a round: each shard
answers for its labels, and all shards get the best of the answers. Labels are scored by the same
functions as in ``clash.py``, so predictions equal those of one machine.
"""

import math

from clasher.kernels import inlined, kernel
from clasher.kernels.clash import VECTOR, clash
from clasher.kernels.labels import above
from clasher.kernels.margin import add_clashes, best_two, highest_three, look_beside_two, worth
from clasher.kernels.regions import add_rows, closeness, nearest
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
    width = (labels + VECTOR - 1) // VECTOR * VECTOR
    for document in range(indptr.shape[0] - 1):
        own, length = weigh_one(
            document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work
        )
        add_rows(state.rows, 0, width, own, work.x, work.products)
        region = nearest(work, length, state, labels, setting.euclidean)
        (i0, i1, i2), (c0, c1, c2) = (-1, -1, -1), (0.0, 0.0, 0.0)
        value, cosine = 0.0, 0.0
        if region >= 0:
            value, cosine = closeness(work, state, region, setting.euclidean), work.cosines[region]
            (i0, i1, i2), (c0, c1, c2) = highest_three(work.cosines, -1, labels)
        out_labels[document, 0], out_labels[document, 1] = region, i0
        out_labels[document, 2], out_labels[document, 3] = i1, i2
        out_values[document, 0], out_values[document, 1] = value, cosine
        out_values[document, 2], out_values[document, 3], out_values[document, 4] = c0, c1, c2


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
        clash(state, setting, own, length, labels, work)
        filled = answer(
            state, setting.threshold, floor, length, labels, work, document, filled,
            out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip


@kernel
def ask_scores(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    together, all_counts, near_labels, near_values, out_labels, out_values,
):  # fmt: skip
    """Find the two best labels of this shard before the second look, and their z.

    ``near_labels`` [n, 4] and ``near_values`` [n, 4] are the nearest region of all shards, the
    three with the highest cosines, and their cosines. ``out_labels`` and ``out_values`` are [n, 2].
    """
    for document in range(indptr.shape[0] - 1):
        best, second = -1, -1
        if near_labels[document, 0] >= 0:
            score_shard(
                document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
                labels, together, all_counts, near_labels[document], near_values[document],
            )  # fmt: skip
            best, second = best_two(work.scores, state.counts, labels)
        out_labels[document, 0], out_labels[document, 1] = best, second
        out_values[document, 0] = work.scores[best] if best >= 0 else 0.0
        out_values[document, 1] = work.scores[second] if second >= 0 else 0.0


@kernel
def ask_look(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    together, all_counts, near_labels, near_values, first, all_gains, cut, two_labels, two_values,
    out_indptr, out_ids, out_best, out_value,
):  # fmt: skip
    """Find the labels of this shard that pass after the second look, and its best label.

    ``two_labels`` [n, 2] and ``two_values`` [n, 2] are the best labels of all shards.
    """
    floor = state.floor[0] if setting.learnt_floor else setting.floor
    filled = 0
    for document in range(indptr.shape[0] - 1):
        length = 0.0
        if near_labels[document, 0] >= 0:
            length = score_shard(
                document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
                labels, together, all_counts, near_labels[document], near_values[document],
            )  # fmt: skip
            best, second = two_labels[document, 0], two_labels[document, 1]
            if second >= 0:
                look_beside_two(
                    state, together, all_counts, all_gains, best, second, two_values[document, 0],
                    two_values[document, 1], first, labels, work,
                )  # fmt: skip
        filled = answer(
            state, cut, floor, length, labels, work, document, filled,
            out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip


@inlined
def score_shard(
    document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    together, all_counts, near_labels, near_values,
):  # fmt: skip
    """Write z of this shard's labels before the second look, given the regions of all shards.

    Returns the length of the document.
    """
    own, length = weigh_one(
        document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work
    )
    width = (labels + VECTOR - 1) // VECTOR * VECTOR
    add_rows(state.rows, 0, width, own, work.x, work.products)
    nearest(work, length, state, labels, setting.euclidean)  # writes the cosines
    add_rows(state.rows, 1, width, own, work.x, work.linear)
    i0, i1, i2 = near_labels[1], near_labels[2], near_labels[3]
    highest = near_values[1], near_values[2], near_values[3]
    values = worth(highest, all_counts[i0], all_counts[i1], all_counts[i2])
    rows = together[i0], together[i1], together[i2]
    add_clashes(state, rows, values, near_values[0], labels, work)
    return length


@kernel
def answer(
    state, threshold, floor, length, labels, work, document, filled, out_indptr, out_ids, out_best,
    out_value,
):  # fmt: skip
    """Write the labels that pass, and the best above the floor or −1; returns ``filled``."""
    out_best[document] = -1
    if length > 0.0:
        found = above(work.scores, labels, state.counts, threshold, math.inf, work.chosen)
        for at in range(found):
            out_ids[filled + at] = work.chosen[at]
        filled += found
        best, _ = best_two(work.scores, state.counts, labels)
        if best >= 0 and work.scores[best] > floor:
            out_best[document] = best
            out_value[document] = work.scores[best]
    out_indptr[document + 1] = filled
    return filled


@kernel
def ask_regions(regions, state, together, all_counts, setting, work, out_indptr, out_ids):
    """Eq. 13 for documents whose nearest region is one of this shard; −1 has no labels."""
    filled = 0
    for document in range(regions.shape[0]):
        region = regions[document]
        if region >= 0:
            n = state.counts[region]
            for j in range(all_counts.shape[0]):
                work.scores[j] = together[region, j] / n
            found = above(
                work.scores, all_counts.shape[0], all_counts, setting.threshold,
                setting.floor, work.chosen,
            )  # fmt: skip
            for at in range(found):
                out_ids[filled + at] = work.chosen[at]
            filled += found
        out_indptr[document + 1] = filled
