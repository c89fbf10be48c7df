"""A partially labelled stream out of a labelled one (section 6.6)."""

from __future__ import annotations

import numpy as np

from clasher.errors import SettingError
from clasher.labels import LabelSets


class Veil:
    """Hides the labels of some documents.

    Whether a document keeps its labels depends on the seed and on its place in the stream, not on
    how the stream is cut.

    Parameters
    ----------
    probability
        How likely a document is to keep its labels.
    seed
        Decides which ones do.

    Examples
    --------
    >>> veil = Veil(0.5, seed=1)
    >>> [sorted(labels) for labels in veil.over(LabelSets.of([{"oil"}, {"gold"}, {"tin"}]))]
    [[], [], ['tin']]
    """

    def __init__(self, probability: float, seed: int = 0) -> None:
        number = isinstance(probability, int | float) and not isinstance(probability, bool)
        if not number or not 0 <= probability <= 1:
            wanted = "a number from 0 to 1"
            raise SettingError.of("label_probability", wanted, probability, "evaluate")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise SettingError.of("seed", "an integer from 0 on", seed, "evaluate")
        self.probability = float(probability)
        self._random = np.random.default_rng(seed)

    def over(self, sets: LabelSets) -> LabelSets:
        """What may be seen of the next documents."""
        if self.probability == 1.0:
            return sets
        return sets.only(self._random.random(len(sets)) < self.probability)
