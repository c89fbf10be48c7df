"""Algorithm 1 with labels split over machines.

A shard has the columns of some labels. Whatever depends on all labels takes a round: each shard
answers for its labels, and all shards get the best of the answers. Labels are scored by the same
functions as in ``clash.py``, so predictions equal those of one machine.
"""

import math

from clasher.kernels import kernel
from clasher.kernels.clash import VECTOR
from clasher.kernels.decay import gain
from clasher.kernels.labels import above
from clasher.kernels.margin import (
    LOOK,
    LOWEST,
    add_clashes,
    association,
    best_two,
    highest_three,
    labelled_documents,
    look_beside,
    sigmoid,
    worth,
)
from clasher.kernels.regions import add_rows, closeness, nearest
from clasher.kernels.sketch import weigh
from clasher.kernels.state import NOW


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
        inside = slice(indptr[document], indptr[document + 1])
        own, words = buckets[inside], slice(word_indptr[document], word_indptr[document + 1])
        length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
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
    width = (labels + VECTOR - 1) // VECTOR * VECTOR
    filled = 0
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        own, words = buckets[inside], slice(word_indptr[document], word_indptr[document + 1])
        length = weigh(state, setting, own, counts[inside], places[words], keys[words], work)
        add_rows(state.rows, 0, width, own, work.x, work.linear)
        for j in range(labels):
            work.scores[j] = (state.bias[0, j] + work.linear[j]) / gain(state, j)
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
        inside = slice(indptr[document], indptr[document + 1])
        words = slice(word_indptr[document], word_indptr[document + 1])
        best, second = -1, -1
        if near_labels[document, 0] >= 0:
            score_shard(
                buckets[inside], counts[inside], places[words], keys[words], state, setting, work,
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
        inside = slice(indptr[document], indptr[document + 1])
        words = slice(word_indptr[document], word_indptr[document + 1])
        length = 0.0
        if near_labels[document, 0] >= 0:
            length = 1.0
            score_shard(
                buckets[inside], counts[inside], places[words], keys[words], state, setting, work,
                labels, together, all_counts, near_labels[document], near_values[document],
            )  # fmt: skip
            look_again(
                state, labels, together, all_counts, all_gains, first, two_labels[document],
                two_values[document], work,
            )  # fmt: skip
        filled = answer(
            state, cut, floor, length, labels, work, document, filled,
            out_indptr, out_ids, out_best, out_value,
        )  # fmt: skip


@kernel
def score_shard(
    buckets, counts, places, keys, state, setting, work, labels, together, all_counts, near_labels,
    near_values,
):  # fmt: skip
    """Write z of this shard's labels before the second look, given the regions of all shards."""
    width = (labels + VECTOR - 1) // VECTOR * VECTOR
    length = weigh(state, setting, buckets, counts, places, keys, work)
    add_rows(state.rows, 0, width, buckets, work.x, work.products)
    nearest(work, length, state, labels, setting.euclidean)  # writes the cosines
    add_rows(state.rows, 1, width, buckets, work.x, work.linear)
    i0, i1, i2 = near_labels[1], near_labels[2], near_labels[3]
    highest = near_values[1], near_values[2], near_values[3]
    values = worth(highest, all_counts[i0], all_counts[i1], all_counts[i2])
    rows = together[i0], together[i1], together[i2]
    add_clashes(state, rows, values, near_values[0], labels, work)


@kernel
def look_again(state, labels, together, all_counts, all_gains, first, two, values, work):
    """Take the second look at this shard's labels, beside the best of all shards."""
    best, second = two[0], two[1]
    if second < 0:
        return
    documents, now = labelled_documents(state) + 1.0, state.clock[NOW]
    one, share = now * all_gains[best], all_counts[best] / documents
    look_beside(values[0], together[best], share, one, state.counts, state.gains, now, labels, work)
    here = best - first
    if 0 <= here < labels and values[0] > LOWEST:
        other, beside = now * all_gains[second], all_counts[second] / documents
        link = association(together[second, here], beside, all_counts[best], other, one)
        work.looks[here] = sigmoid(values[1]) * link
    a4 = state.shared[0, LOOK]
    for j in range(labels):
        work.scores[j] += a4 * work.looks[j]


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
