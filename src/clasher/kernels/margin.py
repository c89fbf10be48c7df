"""Mode 3, the margin rule: a linear classifier that falls back on the nearest prototypes.

The prototypes help with words that the classifier has not learnt yet. With x the weighed document,
c_j its cosine to the prototype of label j, i* the nearest region, r_j = c_j / c_i*, F_j the
fractions F̂ of the nearest regions, and l_j the second look at a label beside the best other label:

    z_j = b_j + ⟨w_j, x⟩ + a1·c_j + a2·r_j + a3·F_j + a4·l_j        a1..a4 shared by all labels

``state.squares[k]`` is the AdaGrad sum of bucket k over all labels, ``state.bias[1, j]`` that of
label j over all buckets: together they replace a sum per weight, which would take as much memory as
the weights. Values of a label are in units of its gain.

Threshold and probabilities come from fading histograms of z, one for false and one for true labels.
The floor, which the perceptron learns too, is the lowest score at which the best label of a
document is still predicted. Its histograms count the best z only: of documents without labels, and
of documents whose best label is true.
"""

import math

import numpy as np

from clasher.kernels import inlined, kernel
from clasher.kernels.cells import candidate, find, first_cell, locate
from clasher.kernels.decay import gain
from clasher.kernels.labels import CHUNK, NO, YES, best_two, best_two_listed, reaches, stated
from clasher.kernels.regions import feed_and_relate, ratio
from clasher.kernels.state import (
    BINS,
    DENSE,
    DOCUMENTS,
    FADED,
    LABELLED,
    LABELS,
    NOW,
    SIZE,
    TOGETHER,
)


@kernel
def sigmoid(z):
    """σ(z), without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


LOWEST, BIN = -3.0, 0.1
LOWEST_FLOOR = LOWEST - BIN / 2.0  # a perceptron moves in steps of 0.1: edges lie between them
EVERY = 1000  # labelled documents between two updates of the threshold
EARLY = 100  # the same for the first EVERY documents, and for the floor
FADE = 0.9

# σ(offset + slope·z) is the probability of a label. z itself is not calibrated: learning stops once
# it is on the right side by a margin.
ODDS_START = (0.0, 2.0)
ODDS_TRUST = 20.0  # the start counts as much as this many labels at the middle
ODDS_STEPS = 30
LEAST_SLOPE = 0.1  # probabilities rise with z, whatever the histograms say


@inlined
def note_margins(state, length, likely, names, known, ids, yes, work):
    """Count the scores of known labels, and update the threshold from time to time."""
    if length > 0.0:
        for at in range(likely):
            p = work.likely[at]
            z, j = work.scores[p], names[p]
            if z > LOWEST and state.counts[j] > 0.0 and stated(work.truth, known, j) == NO:
                state.margins[0, bin_of(z, LOWEST)] += 1.0
        for at in range(ids.shape[0]):
            if yes[at] and state.counts[ids[at]] > 0.0:
                state.margins[1, bin_of(work.scores[work.own_at[at]], LOWEST)] += 1.0
    labelled = state.totals[LABELLED]
    if labelled % EVERY == 0 or (labelled < EVERY and labelled % EARLY == 0):
        state.cut[0] = best_cut(state.margins, state.cut[0])
        calibrate(state.margins, state.odds)
    if labelled % EVERY == 0:
        fade(state.margins)


@inlined
def note_best(state, length, best, score, is_true, empty):
    """Count the score of the best label, and update the floor from time to time.

    A false best label does not count if the document has other labels: a guess is better there
    than no label.
    """
    if length > 0.0 and best >= 0 and (empty or is_true):
        state.bests[0 if empty else 1, bin_of(score, LOWEST_FLOOR)] += 1.0
    labelled = state.totals[LABELLED]
    if labelled < EARLY or labelled % EARLY == 0:
        state.floor[0] = best_floor(state.bests)
    if labelled % EVERY == 0:
        fade(state.bests)


@kernel
def fade(histograms):
    """Let past documents count less."""
    for side in range(2):
        for place in range(BINS):
            histograms[side, place] *= FADE


@inlined
def bin_of(z, lowest):
    """Return the bin of a score in a histogram that starts at ``lowest``."""
    return min(max(math.floor((z - lowest) / BIN) + 1, 0), BINS - 1)


@kernel
def best_floor(bests):
    """Find the bin edge above which true best labels outnumber unlabelled documents the most.

    −∞ if every document had a label, so that each one gets a label; ∞ if there is no such edge.
    """
    lead, most, floor, empty = 0.0, 0.0, math.inf, 0.0
    for place in range(BINS - 1, -1, -1):
        lead += bests[1, place] - bests[0, place]
        empty += bests[0, place]
        if lead > most:
            most, floor = lead, LOWEST_FLOOR + BIN * (place - 1) if place > 0 else -math.inf
    return floor if empty > 0.0 else -math.inf


@kernel
def best_cut(margins, otherwise):
    """Find the lowest bin edge with the best micro F1; ``otherwise`` if none finds a label."""
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


@kernel
def calibrate(margins, odds):
    """Platt scaling of the binned scores, in steps that only improve it.

    Uses the upper bound on the curvature by Böhning and Lindsay, so no step goes too far. The
    lowest bin is left out: false labels are not counted there.
    """
    h00, h01, h11 = ODDS_TRUST, 0.0, ODDS_TRUST
    for place in range(1, BINS):
        count = margins[0, place] + margins[1, place]
        z = middle(place)
        h00, h01, h11 = h00 + count, h01 + count * z, h11 + count * z * z
    determinant = h00 * h11 - h01 * h01
    for _ in range(ODDS_STEPS):
        g0 = ODDS_TRUST / 4.0 * (odds[0] - ODDS_START[0])
        g1 = ODDS_TRUST / 4.0 * (odds[1] - ODDS_START[1])
        for place in range(1, BINS):
            count = margins[0, place] + margins[1, place]
            z = middle(place)
            error = count * sigmoid(odds[0] + odds[1] * z) - margins[1, place]
            g0, g1 = g0 + error, g1 + error * z
        odds[0] -= 4.0 * (h11 * g0 - h01 * g1) / determinant
        odds[1] = max(odds[1] - 4.0 * (h00 * g1 - h01 * g0) / determinant, LEAST_SLOPE)


@kernel
def middle(place):
    """Return the middle of a bin."""
    return LOWEST + BIN * (place - 0.5)


@kernel
def log_odds(odds, z):
    """Return the calibrated log-odds of a label with score ``z``; ``odds`` is ``State.odds``."""
    return odds[0] + odds[1] * z


@kernel
def probability(odds, z):
    """Return the calibrated probability of a label with score ``z``."""
    return sigmoid(log_odds(odds, z))


@kernel
def score_at(odds, wanted):
    """Return the score with the log-odds ``wanted``."""
    return (wanted - odds[0]) / odds[1]


STEP = np.float32(0.7)
FLOOR = np.float32(8.0)  # under the root of AdaGrad, in squares of a typical weight of the document
SLACK = 0.14  # ignore gradients up to this size
RARE = 4.0  # a true label moves more by this over the root of its documents
BIAS_START = -4.0
BIAS_STEP = 0.5
BIAS_FLOOR = 0.1
SHARED_START = (4.0, 2.5, 1.0, 0.0)
SHARED_STEP = 0.07
SHARED_FLOOR = 10.0
QUIET = math.log(SLACK / (1.0 - SLACK))  # σ(z) > SLACK from here on
TINY = 1e-300  # instead of 0 before the first gradient

COSINE, RATIO, FRACTION, LOOK = 0, 1, 2, 3  # places in State.shared


@inlined
def score(state, region, cosine, three, highest, wide, n, everything, least, work):
    """Write z of every candidate, given the cosines and ⟨w_j, x⟩: of touched labels, or of all.

    The labels of the nearest regions become candidates too. Returns how many there are, how many
    are likely (places in ``work.likely`` of those with z above ``least`` before the second look),
    and the place of the best, or −1.
    """
    if region >= 0:
        ids, counts = (work.every if wide else work.ids), state.counts
        l0, l1, l2 = ids[three[0]], ids[three[1]], ids[three[2]]
        values = worth(highest, counts[l0], counts[l1], counts[l2])
        n = add_regions(state, (l0, l1, l2), values, wide, n, work)
    likely = add_clashes(state, cosine, wide, n, everything, least, work)
    ids = work.every if wide else work.ids
    best, second = best_two_listed(work.scores, ids, state.counts, work.likely[:likely])
    if second < 0:
        best, second = best_two(work.scores, ids, state.counts, n)
    if region >= 0 and second >= 0:
        look_beside_two(
            state, state.counts, state.gains, ids[best], ids[second], work.scores[best],
            work.scores[second], 0, wide, likely, ids, work,
        )  # fmt: skip
        best, _ = best_two_listed(work.scores, ids, state.counts, work.likely[:likely])
        if best < 0 or work.scores[best] <= least:
            best, _ = best_two(work.scores, ids, state.counts, n)
    return n, likely, best


@inlined
def worth(highest, n0, n1, n2):
    """Weigh each document of these regions by the squares of the cosines.

    Only the nearest region counts if all cosines are 0 or less.
    """
    c0, c1, c2 = highest
    total = c0 * c0 + c1 * c1 + c2 * c2
    if total == 0.0:
        return 1.0 / n0, 0.0, 0.0
    v0, v1, v2 = c0 * c0 / total, c1 * c1 / total, c2 * c2 / total
    return v0 / n0, v1 / n1, v2 / n2


@inlined
def add_regions(state, regions, values, wide, n, work):
    """Add up F_j over three regions; their labels become candidates. Returns how many there are."""
    pool, together, fractions = state.pool, state.together, work.fractions
    for which in range(3):
        region, value = regions[which], values[which]
        if value > 0.0:
            start, size = first_cell(together, region), together[region, SIZE]
            if wide and together[region, DENSE]:
                add_fractions(pool.values[2 * start :], min(size, n), value, fractions)
            elif wide:
                for at in range(start, start + size):
                    fractions[pool.labels[at]] += value * pool.values[2 * at]
            else:
                for at in range(start, start + size):
                    if pool.values[2 * at] != 0.0:
                        p, n = candidate(state, pool.labels[at], wide, n, work)
                        fractions[p] += value * pool.values[2 * at]
    return n


@kernel
def add_fractions(row, size, value, fractions):
    """Add a dense row of co-occurrences, times ``value``."""
    for j in range(size):
        fractions[j] += value * row[2 * j]


@inlined
def add_clashes(state, best_cosine, wide, n, everything, least, work):
    """Write z of the candidates before the second look; list the likely ones, return how many."""
    inverse = 1.0 / best_cosine if best_cosine > 0.0 else 0.0
    bias = state.bias[0] if wide else work.bias
    add_terms(
        n, everything, bias, state.shared[0], inverse, work.both, work.cosines, work.fractions,
        work.looks, work.scores,
    )  # fmt: skip
    return list_above(work.scores, n, least, work.likely)


@kernel
def add_terms(n, everything, bias, shared, inverse, both, cosines, fractions, looks, scores):
    """Add up the terms of z: −∞ for an untouched label, unless ``everything`` counts as touched.

    ``inverse`` is 1 / c_i*, or 0.
    """
    a1, a2, a3 = shared[COSINE], shared[RATIO], shared[FRACTION]
    for p in range(n):  # no branch, so that it vectorises
        c = cosines[p]
        relative = min(max(c * inverse, -1.0), 1.0)
        z = bias[p] + both[2 * p + 1] + (a1 * c + a2 * relative + a3 * fractions[p])
        is_met = (both[2 * p] != 0.0) | (both[2 * p + 1] != 0.0) | (fractions[p] != 0.0)
        scores[p] = z if is_met | everything else -np.inf
        looks[p] = 0.0


@kernel
def list_above(scores, n, least, out):
    """List the candidates with a score above ``least``; returns how many."""
    found = 0
    for first in range(0, n, CHUNK):
        part = scores[first : min(first + CHUNK, n)]
        if reaches(part, least):
            for at in range(part.shape[0]):
                out[found] = first + at
                found += part[at] > least
    return found


@inlined
def look_beside_two(
    state, all_counts, all_gains, best, second, best_z, second_z, first, wide, likely, ids, work
):
    """Write l_j of the likely labels, whose numbers start at ``first``, and add it to their z.

    l_j: whether a label comes with the best other label more or less often than by chance. From −1
    to 1, times the probability of the other label; 0 for labels with a very low z. The other
    arguments are of all labels; ``state.together`` has the columns of the state's labels.
    """
    documents = state.clock[FADED] / state.clock[NOW] * state.totals[LABELLED]
    documents = documents / max(state.totals[DOCUMENTS], 1) + 1.0  # with labels, faded
    now, pool, together, listed = state.clock[NOW], state.pool, state.together, work.likely[:likely]
    one, share = now * all_gains[best], all_counts[best] / documents
    start, slope = first_cell(together, best), state.shared[0, LOOK]
    gather_pairs(
        pool.labels, pool.values, start, together[best, SIZE], together[best, DENSE], listed, ids,
        work.slots, wide, work.pairs,
    )  # fmt: skip
    own = look_beside(
        listed, ids, best - first, state.counts, state.gains, now, work.pairs, share, one,
        sigmoid(best_z), slope, work.looks, work.scores,
    )  # fmt: skip
    if own >= 0:  # the best label itself stands beside the second best
        other, times = now * all_gains[second], all_counts[second] / documents
        cell = find(together, second, pool, best - first)
        both = pool.values[2 * cell] if cell >= 0 else np.float32(0.0)
        look = sigmoid(second_z) * association(both, times, all_counts[best], other, one)
        work.looks[own] = look
        work.scores[own] += slope * look


@kernel
def gather_pairs(cell_labels, values, start, size, dense, likely, ids, slots, wide, out):
    """Write how often each likely label came with the label of a row of co-occurrences."""
    if dense:
        for at in range(likely.shape[0]):
            j = ids[likely[at]]
            out[likely[at]] = values[2 * (start + j)] if j < size else np.float32(0.0)
    else:
        for at in range(likely.shape[0]):
            out[likely[at]] = np.float32(0.0)
        for cell in range(start, start + size):
            place = cell_labels[cell] if wide else slots[cell_labels[cell]]
            if place >= 0:
                out[place] = values[2 * cell]


@kernel
def look_beside(
    likely, ids, best, counts, gains, now, pairs, share, one, odds, slope, looks, scores
):
    """Write l_j beside the label ``best`` of all others; returns the place of ``best``, or −1."""
    own = -1
    for at in range(likely.shape[0]):
        p = likely[at]
        j = ids[p]
        if scores[p] > LOWEST and counts[j] > 0.0:
            if j == best:
                own = p
            else:
                look = odds * association(pairs[p], share, counts[j], one, now * gains[j])
                looks[p] = look
                scores[p] += slope * look
    return own


@inlined
def association(both, share, count, one, other):
    """Compare the documents with both labels to those expected of independent labels.

    (n_ij − e) / (n_ij + e + 1) with e = n_i·n_j / n. ``both`` is n_ij and ``share`` n_i / n, in
    units of what a document counts for label i; ``count`` is n_j in those of j.
    """
    seen, expected = both * other, share * count
    return (seen - expected) / (seen + expected + one * other)


@inlined
def learn_margin(state, buckets, best_cosine, wrong, many, known, ids, yes, labels, work):
    """Take a gradient step for the first ``wrong`` labels of ``work.moved``; feed the true ones."""
    slopes, squares, used = work.slopes, work.squares, buckets.shape[0]
    slopes[:] = 0.0
    total, moved = TINY + state.spent[0], 0.0
    for at in range(used):
        squares[at] = state.squares[buckets[at]]
    for first in range(0, many, TOGETHER):
        part = work.moved[first : min(first + TOGETHER, many)]
        locate(state.rows, state.pool, buckets, part, labels, work.places)
        for s in range(part.shape[0]):
            j, p, places = part[s], work.moved_at[first + s], work.places[s, :used]
            if first + s < wrong:
                slope, one = sigmoid(work.scores[p]), state.gains[j]
                if work.truth[j] == YES:
                    documents = state.counts[j] / gain(state.clock, state.gains, j)
                    slope = (slope - 1.0) * (1.0 + RARE / math.sqrt(1.0 + documents))
                share = np.float32(state.bias[1, j] / one / total)
                follow(
                    state.pool.values, places, work.x, np.float32(slope), share, squares,
                    work.weights,
                )  # fmt: skip
                squared = slope * slope
                moved += squared
                state.spent[0] += squared
                state.bias[1, j] += one * squared
                spent = BIAS_FLOOR + state.bias[1, j] / one
                state.bias[0, j] -= BIAS_STEP * slope / math.sqrt(spent)
                slopes[COSINE] += slope * work.cosines[p]
                slopes[RATIO] += slope * ratio(work.cosines[p], best_cosine)
                slopes[FRACTION] += slope * work.fractions[p]
                slopes[LOOK] += slope * work.looks[p]
            if work.truth[j] == YES:
                feed_and_relate(state, j, places, known, ids, yes, labels, work)
    if moved > 0.0:
        for at in range(used):
            state.squares[buckets[at]] = squares[at] + np.float32(moved) * work.x[at] * work.x[at]
    step_shared(state.shared, slopes)


@kernel
def step_shared(shared, slopes):
    """AdaGrad on the weights that all labels share."""
    for which in range(slopes.shape[0]):
        slope = slopes[which]
        shared[1, which] += slope * slope
        shared[0, which] -= SHARED_STEP * slope / math.sqrt(SHARED_FLOOR + shared[1, which])


@kernel
def follow(values, places, x, slope, part, squares, weights):
    """AdaGrad on the weights of one label, which has ``part`` of each bucket's sum.

    ``places`` are those of the label's sums: its weights lie behind them. Larger weights take
    larger steps (exponentiated gradient with hyperbolic entropy): few words carry the decision, and
    noise moves the others little. Weights are gathered from all over memory first, so that the
    arithmetic vectorises.
    """
    used = places.shape[0]
    floor = FLOOR / np.float32(max(used, 1))
    one = np.float32(1.0)
    for at in range(used):
        weights[at] = values[places[at] + 1]
    for at in range(used):
        move, weight = slope * x[at], weights[at]
        squared = floor + part * squares[at] + move * move
        weights[at] = weight - STEP * move * np.sqrt((one + weight * weight) / squared)
    for at in range(used):
        values[places[at] + 1] = weights[at]


@kernel
def add_up_spent(state):
    """Add up the AdaGrad sums of all biases, after a change to whole labels."""
    state.spent[0] = 0.0
    for j in range(state.totals[LABELS]):
        state.spent[0] += state.bias[1, j] / state.gains[j]
