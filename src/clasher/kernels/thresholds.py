"""What the linear rules make of their scores: the learnt threshold and floor, and probabilities.

Threshold and probabilities come from the same fading histograms of z, one for false and one for
true labels; only the margin rule has them. The floor tells how low the best label of a document may
score and still be predicted. Its histograms are those of the best z alone: one for documents
without labels, one for documents whose best label is true.
"""

import math

from clasher.kernels import inlined, kernel
from clasher.kernels.labels import UNKNOWN, YES
from clasher.kernels.odds import sigmoid
from clasher.kernels.state import BINS, LABELLED

LOWEST, BIN = -3.0, 0.1
LOWEST_FLOOR = LOWEST - BIN / 2.0  # a perceptron moves in steps of 0.1: edges lie between them
EVERY = 1000  # labelled documents between two choices
EARLY = 100  # the same for the first EVERY documents, and for the floor
FADE = 0.9

# σ(offset + slope·z) is the probability of a label: z itself is learnt no further than to be on the
# right side by a margin, so it says too little.
ODDS_START = (0.0, 2.0)
ODDS_TRUST = 20.0  # the start counts as much as so many labels at the middle
ODDS_STEPS = 30
LEAST_SLOPE = 0.1  # probabilities rise with z, whatever the histograms say


@inlined
def note_margins(state, length, truth, labels, scores):
    """Count the scores of known labels, and choose the threshold anew now and then."""
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
    """Count the score of the best label, and choose the floor anew now and then.

    A false best label of a document that has others says nothing: that document is better off with
    a guess than without a label.
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
    """The place of a score in a histogram whose lowest edge this is."""
    return min(max(math.floor((z - lowest) / BIN) + 1, 0), BINS - 1)


@kernel
def best_floor(bests):
    """The bin edge above which true best labels outnumber documents without labels by most.

    −∞ if every document had a label: then each one gets a label. ∞ if true best labels outnumber
    the others above no edge.
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
    """The lowest bin edge above which predicting gives the best micro F1, if any finds a label."""
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
    """Platt's scaling of the binned scores, in steps that can only improve it.

    The curvature of the loss is taken for the largest it can be (Böhning and Lindsay), so that no
    step goes too far. Labels below the lowest edge were not counted where they were false, and are
    left out.
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
    """The middle of a bin."""
    return LOWEST + BIN * (place - 0.5)


@kernel
def log_odds(state, z):
    """The calibrated log-odds of a label with score ``z``."""
    return state.odds[0] + state.odds[1] * z


@kernel
def probability(state, z):
    """The calibrated probability of a label with score ``z``."""
    return sigmoid(log_odds(state, z))


@kernel
def score_at(state, wanted):
    """The score that has these log-odds."""
    return (wanted - state.odds[0]) / state.odds[1]
