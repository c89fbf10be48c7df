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
from clasher.kernels.margin import (
    LOWEST,
    add_clashes,
    add_regions,
    highest_three,
    keep_best,
    look_beside_two,
    worth,
)
from clasher.kernels.regions import closeness, nearest
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
        touched = meet(state.rows, state.pool, own, work.x, labels, setting.euclidean, work)
        region = nearest(work, length, state, touched, labels, setting.euclidean)
        (i0, i1, i2), (c0, c1, c2) = (-1, -1, -1), (0.0, 0.0, 0.0)
        value, cosine = 0.0, 0.0
        if region >= 0:
            value, cosine = closeness(work, state, region, setting.euclidean), work.cosines[region]
            (i0, i1, i2), (c0, c1, c2) = highest_three(work, -1, touched)
        leave(touched, work)
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
        _, touched, likely = clash(state, setting, own, length, labels, work)
        filled = answer(
            state, setting.threshold, floor, length, likely, work, document, filled,
            out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip
        leave(touched, work)


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
        best, second = -1, -1
        if near_labels[document, 0] >= 0:
            _, touched, _, best, second = score_shard(
                document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
                labels, all_counts, near_labels[document], near_values[document], LOWEST,
            )  # fmt: skip
            leave(touched, work)
        out_labels[document, 0], out_labels[document, 1] = best, second
        out_values[document, 0] = work.scores[best] if best >= 0 else 0.0
        out_values[document, 1] = work.scores[second] if second >= 0 else 0.0


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
        length, touched, likely = 0.0, 0, 0
        if near_labels[document, 0] >= 0:
            length, touched, likely, _, _ = score_shard(
                document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work,
                labels, all_counts, near_labels[document], near_values[document], min(LOWEST, cut),
            )  # fmt: skip
            best, second = two_labels[document, 0], two_labels[document, 1]
            if second >= 0:
                look_beside_two(
                    state, all_counts, all_gains, best, second, two_values[document, 0],
                    two_values[document, 1], first, likely, work,
                )  # fmt: skip
            likely = keep_best(state.counts, touched, likely, min(LOWEST, cut), work)
        filled = answer(
            state, cut, floor, length, likely, work, document, filled,
            out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip
        leave(touched, work)


@inlined
def score_shard(
    document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work, labels,
    all_counts, near_labels, near_values, least,
):  # fmt: skip
    """Write z of this shard's labels before the second look, given the regions of all shards.

    Returns the length of the document, how many labels are touched and likely, and the best two.
    """
    own, length = weigh_one(
        document, indptr, buckets, counts, word_indptr, places, keys, state, setting, work
    )
    touched = meet(state.rows, state.pool, own, work.x, labels, setting.euclidean, work)
    nearest(work, length, state, touched, labels, setting.euclidean)  # writes the cosines
    i0, i1, i2 = near_labels[1], near_labels[2], near_labels[3]
    highest = near_values[1], near_values[2], near_values[3]
    values = worth(highest, all_counts[i0], all_counts[i1], all_counts[i2])
    touched = add_regions(state, (i0, i1, i2), values, touched, labels, work)
    likely, best, second = add_clashes(state, near_values[0], touched, labels, least, work)
    return length, touched, likely, best, second


@kernel
def answer(
    state, threshold, floor, length, likely, work, document, filled, out_indptr, out_ids, out_best,
    out_value,
):  # fmt: skip
    """Write the labels that pass, and the best above the floor or −1; returns ``filled``."""
    out_best[document] = -1
    if length > 0.0:
        found = above(work, likely, state.counts, threshold, math.inf)
        for at in range(found):
            out_ids[filled + at] = work.chosen[at]
        filled += found
        best, _ = best_two(work.scores, work.likely[:likely], state.counts)
        if best >= 0 and work.scores[best] > floor:
            out_best[document] = best
            out_value[document] = work.scores[best]
    out_indptr[document + 1] = filled
    return filled


@kernel
def ask_regions(regions, state, all_counts, setting, work, out_indptr, out_ids):
    """Eq. 13 for documents whose nearest region is one of this shard; −1 has no labels."""
    filled = 0
    for document in range(regions.shape[0]):
        if regions[document] >= 0:
            touched = fractions(state, regions[document], 0, work)
            found = above(work, touched, all_counts, setting.threshold, setting.floor)
            for at in range(found):
                out_ids[filled + at] = work.chosen[at]
            filled += found
            leave(touched, work)
        out_indptr[document + 1] = filled
