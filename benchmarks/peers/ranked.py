"""Turn the most probable labels of documents into label sets and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from clasher import LabelSets
from clasher.labels import Rankings
from clasher.metrics import RANKS

BEST = max(RANKS)
"""The length of rankings."""

SEARCHED = 20
"""The number of labels to ask a peer for; those that it predicts must be among them."""

THRESHOLD = 0.5
"""The probability from which a label is predicted."""

Probable = Sequence[tuple[int, float]]
"""Label numbers and probabilities of one document, the best first."""


def decide(names: Sequence[str], rows: Sequence[Probable]) -> tuple[LabelSets, Rankings]:
    """Return the predicted labels and the best ones of each document.

    >>> sets, best = decide(["gas", "oil"], [[(1, 0.9), (0, 0.4)], []])
    >>> list(sets), list(best)
    ([{'oil'}, set()], [['oil', 'gas'], []])
    """
    pairs = np.array(list(chain.from_iterable(rows)), np.float64).reshape(-1, 2)
    ids, sizes = pairs[:, 0].astype(np.int32), [len(row) for row in rows]
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def only(kept: npt.NDArray[np.bool_]) -> LabelSets:
        return LabelSets(names, ids[kept], np.concatenate(([0], np.cumsum(kept)))[indptr])

    places = np.arange(len(pairs)) - np.repeat(indptr[:-1], sizes)
    return only(pairs[:, 1] >= THRESHOLD), Rankings(only(places < BEST))
