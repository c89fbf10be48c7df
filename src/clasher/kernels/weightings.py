"""Weightings: by what factor each multiplies the count of a word.

``tfidf`` and ``tf`` look at words alone. The others (section 3.6) also look at the labels that a
word came with: each has a number, an entry in ``WEIGHTINGS`` and a formula in ``statistic``.
"""

import math
from typing import NamedTuple

from clasher.kernels import kernel

NO_MEASURE, ICF, ICSDF, CHI2, IG, ODDS, GINI = 0, 1, 2, 3, 4, 5, 6
ADDED_UP = (IG, GINI)  # sum the statistics of all labels; the others take the largest
WITHOUT_LOG = (ICF, ICSDF, ODDS)  # take the result as it is; the others take ln(1 + result)

SHRINK = 5.0  # a label with this many documents counts half: few documents prove little
SMOOTH = 0.5  # added to each count of an odds ratio, so that none is zero


class Weighting(NamedTuple):
    """The number of its formula, and whether it scales TF-IDF instead of TF."""

    measure: int
    idf: bool


WEIGHTINGS = {
    "tfidf": Weighting(NO_MEASURE, idf=True),
    "tf": Weighting(NO_MEASURE, idf=False),
    "icf": Weighting(ICF, idf=True),
    "icsdf": Weighting(ICSDF, idf=True),
    "chi2": Weighting(CHI2, idf=False),
    "ig": Weighting(IG, idf=False),
    "or": Weighting(ODDS, idf=False),
    "gini": Weighting(GINI, idf=False),
}


@kernel
def statistic(measure, documents, prior, share, rate):
    """Measure how a word and a label depend on each other.

    ``prior`` is P(label), ``share`` is P(word) and ``rate`` is P(word | label).
    """
    both = min(rate * prior, share)
    if measure == ODDS:
        return log_odds_ratio(documents, prior, share, both)
    if measure == IG:
        return 2.0 * documents * information(prior, share, both)
    spread = share * (1.0 - share)
    if spread <= 0.0:
        return 0.0
    excess = documents * (both - prior * share) ** 2 / spread
    if measure == GINI:
        return 2.0 * excess
    variance = prior * (1.0 - prior)
    return min(excess / variance, documents) if variance > 0.0 else 0.0


@kernel
def log_odds_ratio(documents, prior, share, both):
    """ln(AD / BC), with SMOOTH added to every count; 0 if the word speaks against the label."""
    a = both * documents + SMOOTH
    b = (prior - both) * documents + SMOOTH
    c = (share - both) * documents + SMOOTH
    d = max(1.0 - prior - share + both, 0.0) * documents + SMOOTH
    return max(math.log(a * d / (b * c)), 0.0)


@kernel
def information(prior, share, both):
    """Mutual information, in nats, of having the word and having the label."""
    found = part(both, prior * share)
    found += part(prior - both, prior * (1.0 - share))
    found += part(share - both, share * (1.0 - prior))
    found += part(1.0 - prior - share + both, (1.0 - prior) * (1.0 - share))
    return max(found, 0.0)


@kernel
def part(observed, expected):
    """One of the four terms of the mutual information; 0 ln 0 is 0."""
    return observed * math.log(observed / expected) if observed > 0.0 and expected > 0.0 else 0.0


@kernel
def factor(kept, measure, labels, documents):
    """Turn what ``term`` kept of a word into its factor: at least 1, and 1 before any label."""
    if measure in (ICF, ICSDF):
        most = labels if measure == ICF else labels * documents
        return 1.0 + max(math.log(most / max(kept, 1.0)), 0.0) if most > 0.0 else 1.0
    return 1.0 + kept
