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
from clasher.kernels.decay import gain
from clasher.kernels.labels import UNKNOWN, YES
from clasher.kernels.regions import ratio
from clasher.kernels.state import BINS, DOCUMENTS, FADED, LABELLED, NOW


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
def note_margins(state, length, truth, labels, scores):
    """Count the scores of known labels, and update the threshold from time to time."""
    if length > 0.0:
        for j in range(labels):
            z = scores[j]
            if truth[j] != UNKNOWN and state.counts[j] > 0.0 and (z > LOWEST or truth[j] == YES):
                state.margins[1 if truth[j] == YES else 0, bin_of(z, LOWEST)] += 1.0
    labelled = state.totals[LABELLED]
    if labelled % EVERY == 0 or (labelled < EVERY and labelled % EARLY == 0):
        state.cut[0] = best_cut(state.margins, state.cut[0])
        calibrate(state.margins, state.odds)
    if labelled % EVERY == 0:
        for side in range(2):
            for place in range(BINS):
                state.margins[side, place] *= FADE


@inlined
def note_best(state, length, truth, empty, labels, scores):
    """Count the score of the best label, and update the floor from time to time.

    A false best label does not count if the document has other labels: a guess is better there
    than no label.
    """
    best = -1
    for j in range(labels):
        if state.counts[j] > 0.0 and (best < 0 or scores[j] > scores[best]):
            best = j
    if length > 0.0 and best >= 0 and (empty or truth[best] == YES):
        state.bests[0 if empty else 1, bin_of(scores[best], LOWEST_FLOOR)] += 1.0
    labelled = state.totals[LABELLED]
    if labelled < EARLY or labelled % EARLY == 0:
        state.floor[0] = best_floor(state.bests)
    if labelled % EVERY == 0:
        for side in range(2):
            for place in range(BINS):
                state.bests[side, place] *= FADE


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
def log_odds(state, z):
    """Return the calibrated log-odds of a label with score ``z``."""
    return state.odds[0] + state.odds[1] * z


@kernel
def probability(state, z):
    """Return the calibrated probability of a label with score ``z``."""
    return sigmoid(log_odds(state, z))


@kernel
def score_at(state, odds):
    """Return the score with these log-odds."""
    return (odds - state.odds[0]) / state.odds[1]


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
def score(state, region, labels, work):
    """Write z of every label, given the cosines and ⟨w_j, x⟩."""
    if region < 0:
        for j in range(labels):
            work.scores[j] = state.bias[0, j] + work.linear[j]
        return
    (i0, i1, i2), values = nearest_three(work.cosines, state.counts, region, labels)
    rows = state.together[i0], state.together[i1], state.together[i2]
    add_clashes(state, rows, values, work.cosines[region], labels, work)
    look_twice(state, labels, work)


@inlined
def nearest_three(cosines, counts, region, labels):
    """Find the regions with the highest cosines, and what each of their documents counts."""
    (i0, i1, i2), highest = highest_three(cosines, region, labels)
    return (i0, i1, i2), worth(highest, counts[i0], counts[i1], counts[i2])


@inlined
def highest_three(cosines, region, labels):
    """Find the three highest cosines above 0 and their regions; the nearest instead of none."""
    i0, i1, i2 = region, region, region
    c0, c1, c2 = 0.0, 0.0, 0.0
    for i in range(labels):
        c = cosines[i]
        if c > c2:
            if c > c0:
                i0, i1, i2, c0, c1, c2 = i, i0, i1, c, c0, c1
            elif c > c1:
                i1, i2, c1, c2 = i, i1, c, c1
            else:
                i2, c2 = i, c
    return (i0, i1, i2), (c0, c1, c2)


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
def add_clashes(state, rows, values, best, labels, work):
    """Write z of every label before the second look; ``rows`` are the regions' fractions."""
    scores, cosines, fractions = work.scores, work.cosines, work.fractions
    bias, linear = state.bias[0], work.linear
    row0, row1, row2 = rows
    v0, v1, v2 = values
    a1, a2, a3 = state.shared[0, COSINE], state.shared[0, RATIO], state.shared[0, FRACTION]
    for j in range(labels):
        c = cosines[j]
        fractions[j] = v0 * row0[j] + v1 * row1[j] + v2 * row2[j]
        clashes = a1 * c + a2 * ratio(c, best) + a3 * fractions[j]
        scores[j] = bias[j] + linear[j] + clashes


@inlined
def look_twice(state, labels, work):
    """l_j: whether a label comes with the best other label more or less often than by chance.

    From −1 to 1, times the probability of the other label; 0 for labels with a very low z.
    """
    best, second = best_two(work.scores, state.counts, labels)
    if second < 0:
        for j in range(labels):
            work.looks[j] = 0.0
        return
    look_beside_two(
        state, state.together, state.counts, state.gains, best, second, work.scores[best],
        work.scores[second], 0, labels, work,
    )  # fmt: skip


@inlined
def look_beside_two(
    state, together, all_counts, all_gains, best, second, best_z, second_z, first, labels, work
):
    """Write l_j of the state's labels, which start at ``first``, and add it to their z.

    The other arguments are of all labels; ``together`` has the columns of the state's labels.
    """
    documents = state.clock[FADED] / state.clock[NOW] * state.totals[LABELLED]
    documents = documents / max(state.totals[DOCUMENTS], 1) + 1.0  # with labels, faded
    now, scores, looks = state.clock[NOW], work.scores, work.looks
    one, share = now * all_gains[best], all_counts[best] / documents
    odds, row, counts, gains = sigmoid(best_z), together[best], state.counts, state.gains
    for j in range(labels):  # no branch, so that it vectorises
        look = odds * association(row[j], share, counts[j], one, now * gains[j])
        looks[j] = look if (scores[j] > LOWEST) & (counts[j] > 0.0) else 0.0
    here = best - first
    if 0 <= here < labels and best_z > LOWEST:
        other, beside = now * all_gains[second], all_counts[second] / documents
        link = association(together[second, here], beside, all_counts[best], other, one)
        looks[here] = sigmoid(second_z) * link
    a4 = state.shared[0, LOOK]
    for j in range(labels):
        scores[j] += a4 * looks[j]


@inlined
def best_two(scores, counts, labels):
    """Find the two labels with the highest z, −1 if there are fewer."""
    best, second = -1, -1
    for j in range(labels):
        if counts[j] > 0.0:
            if best < 0 or scores[j] > scores[best]:
                best, second = j, best
            elif second < 0 or scores[j] > scores[second]:
                second = j
    return best, second


@inlined
def association(both, share, count, one, other):
    """Compare the documents with both labels to those expected of independent labels.

    (n_ij − e) / (n_ij + e + 1) with e = n_i·n_j / n. ``both`` is n_ij and ``share`` n_i / n, in
    units of what a document counts for label i; ``count`` is n_j in those of j.
    """
    seen, expected = both * other, share * count
    return (seen - expected) / (seen + expected + one * other)


@inlined
def learn_margin(state, buckets, x, region, truth, labels, work):
    """The linear part of Mode 3: a gradient step for labels on the wrong side of the margin."""
    slopes = work.slopes
    for which in range(slopes.shape[0]):
        slopes[which] = 0.0
    total = TINY + sum_of_squares(state.bias[1], state.gains, labels)
    rows, squares = state.rows[:, 1], work.squares
    for at in range(buckets.shape[0]):
        squares[at] = state.squares[buckets[at]]
    moved = 0.0
    for j in range(labels):
        z = work.scores[j]
        true = truth[j] == YES
        if truth[j] == UNKNOWN or (not true and z <= QUIET) or (true and z >= -QUIET):
            continue
        slope = sigmoid(z)
        if true:
            slope = (slope - 1.0) * (1.0 + RARE / math.sqrt(1.0 + state.counts[j] / gain(state, j)))
        one = state.gains[j]
        part = np.float32(state.bias[1, j] / one / total)
        follow(rows, j, buckets, x, np.float32(slope), part, squares, work.weights)
        moved += slope * slope
        state.bias[1, j] += one * slope * slope
        state.bias[0, j] -= BIAS_STEP * slope / math.sqrt(BIAS_FLOOR + state.bias[1, j] / one)
        if region >= 0:
            slopes[COSINE] += slope * work.cosines[j]
            slopes[RATIO] += slope * ratio(work.cosines[j], work.cosines[region])
            slopes[FRACTION] += slope * work.fractions[j]
            slopes[LOOK] += slope * work.looks[j]
    if moved > 0.0:
        for at in range(buckets.shape[0]):
            state.squares[buckets[at]] = squares[at] + np.float32(moved) * x[at] * x[at]
    for which in range(slopes.shape[0]):  # AdaGrad on the weights that all labels share
        slope = slopes[which]
        state.shared[1, which] += slope * slope
        root = math.sqrt(SHARED_FLOOR + state.shared[1, which])
        state.shared[0, which] -= SHARED_STEP * slope / root


@kernel(fastmath={"reassoc"})
def sum_of_squares(squares, gains, labels):
    """Add up the AdaGrad sums of all labels."""
    total = 0.0
    for j in range(labels):
        total += squares[j] / gains[j]
    return total


@kernel
def follow(rows, label, buckets, x, slope, part, squares, weights):
    """AdaGrad on the weights of one label, which has ``part`` of each bucket's sum.

    Larger weights take larger steps (exponentiated gradient with hyperbolic entropy): few words
    carry the decision, and noise moves the others little. Weights are gathered from all over memory
    first, so that the arithmetic vectorises.
    """
    used = buckets.shape[0]
    floor = FLOOR / np.float32(max(used, 1))
    one = np.float32(1.0)
    for at in range(used):
        weights[at] = rows[buckets[at], label]
    for at in range(used):
        move, weight = slope * x[at], weights[at]
        squared = floor + part * squares[at] + move * move
        weights[at] = weight - STEP * move * np.sqrt((one + weight * weight) / squared)
    for at in range(used):
        rows[buckets[at], label] = weights[at]
