"""Apply the decision rule of clasher's margin rule to the scores of a peer.

The rule predicts the labels whose score passes a threshold, or the best label if none does. It
learns the threshold online: every 100 and later every 1,000 documents, it takes the bin edge with
the best micro F1 in fading histograms of the scores of true and false labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clasher.kernels.margin import BIN, EARLY, EVERY, FADE, LOWEST, best_cut
from clasher.kernels.state import BINS

Scores = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]


def decide(scores: Scores, threshold: float = 0.0) -> npt.NDArray[np.int8]:
    """Predict the labels that pass the threshold, or else the best one; a row per document.

    A label with a score of -inf is never predicted.

    >>> decide(np.array([[-0.5, -0.2], [0.3, 0.1], [-0.5, -np.inf], [-np.inf, -np.inf]])).tolist()
    [[0, 1], [1, 1], [1, 0], [0, 0]]
    """
    predicted = scores > threshold
    none = ~predicted.any(axis=1) & (scores.max(axis=1) > -np.inf)
    predicted[none, scores[none].argmax(axis=1)] = True
    return predicted.astype(np.int8)


def decide_online(scores: Scores, truth: Truth, learnt: Truth) -> npt.NDArray[np.int8]:
    """Decide one document after the other.

    The learnt documents before it determine the threshold and the known labels.

    >>> scores = np.tile([-0.4, -0.9], (300, 1))
    >>> scores[::2] = [-0.45, -0.35]
    >>> truth = scores > -0.5
    >>> found = decide_online(scores, truth, np.ones(300, bool))
    >>> found[0].tolist(), found[1].tolist(), found[2].tolist(), found[-2].tolist()
    ([0, 0], [1, 0], [0, 1], [1, 1])
    """
    documents = len(scores)
    taught = truth & learnt[:, None]
    first = np.where(taught.any(axis=0), taught.argmax(axis=0), documents)
    known = first < np.arange(documents)[:, None]
    candidates = np.where(known, scores, -np.inf)
    predicted = np.zeros(scores.shape, np.int8)
    histograms, threshold = np.zeros((2, BINS)), 0.0
    ends = {*range(EARLY, EVERY, EARLY), *range(EVERY, documents, EVERY), documents}
    start = 0
    for stop in sorted(end for end in ends if end <= documents):
        part = slice(start, stop)
        predicted[part] = decide(candidates[part], threshold)
        counted = known[part] & learnt[part, None]
        bins = np.floor((scores[part] - LOWEST) / BIN).astype(np.int64) + 1
        bins = np.clip(bins, 0, BINS - 1)
        for side in (False, True):
            places = bins[counted & (truth[part] == side)]
            histograms[int(side)] += np.bincount(places, minlength=BINS)
        threshold = best_cut(histograms, threshold)
        if stop % EVERY == 0:
            histograms *= FADE
        start = stop
    return predicted
