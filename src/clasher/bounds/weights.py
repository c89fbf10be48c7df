"""The geometry of hashed TF-IDF: Proposition 1, and what can be shown without its gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clasher.bounds import checks
from clasher.bounds.lengths import LEAST_CONFIDENCE, largest_weight

SKETCH = 1.0 - math.exp(-1.0)
"""The probability of Lemma 1."""

STEEPEST = 0.648
"""ln²(1 + t) ≤ 0.648 t for every t ≥ 0; they meet near t = 3.9."""

MOST_DIMENSIONS = 2**100
"""Where the search for a size ends."""


@dataclass(frozen=True)
class TfIdf:
    """Proposition 1 (Eq. 17): Algorithm 3 keeps ‖x‖² of the exact TF-IDF within 1 ± ε̄.

    It asks for m ≥ max(588 ‖f‖⁴ ε̄⁻² ln(1/δ), ⌈7 ‖f‖² e/ε̄⌉) and holds with probability
    (1 − 1/e)(1 − 3δ). ε̄ is 7ε‖f‖² for the ε of Theorem 1 and Lemma 1. Eq. 17 prints 1 + ε̄² as the
    upper end, which the proof shows only where ε̄ ≥ 1/(7‖f‖²); here it is 1 + ε̄.

    Read it with care. ‖f‖ grows with the stream, and ‖f‖⁴ asks for more dimensions than any
    machine has after a handful of documents. Nor is the proof complete: Eq. 34 leaves out the
    signs ξ, without which Eq. 33 need not be positive; Lemma 1 holds for one word and is used for
    all words of the document at once; and the step to Eq. 37 needs IDF ≥ 1 where Eq. 36 assumes
    IDF ≤ 1. `TfIdfSpread` is a version that stands without these steps.

    Parameters
    ----------
    dimensions
        m.
    total
        ‖f‖, in documents; at least 1.
    confidence
        (1 − 1/e)(1 − 3δ), which for δ < 0.1 lies between 0.4425 and 0.6321.

    Examples
    --------
    >>> f"{TfIdf.for_error(0.5, total=1000).dimensions:.0e}"
    '6e+15'
    >>> print(TfIdf(2**20, total=1000).error)
    None
    """

    dimensions: int
    total: float
    confidence: float = 0.5

    def __post_init__(self) -> None:
        checks.whole("TfIdf", "dimensions", self.dimensions, 1)
        checks.least("TfIdf", "total", self.total, 1.0)
        checks.number("TfIdf", "confidence", self.confidence, SKETCH * LEAST_CONFIDENCE, SKETCH)

    @classmethod
    def for_error(cls, error: float, total: float, confidence: float = 0.5) -> TfIdf:
        """The fewest dimensions."""
        checks.error("TfIdf", error)
        log = math.log(1.0 / cls(1, total, confidence).delta)
        by_theorem_1 = checks.up(588.0 * total**4 * error**-2 * log)
        by_lemma_1 = checks.up(7.0 * total**2 * math.e / error)
        return cls(max(by_theorem_1, by_lemma_1), total, confidence)

    @property
    def delta(self) -> float:
        """δ."""
        return (1.0 - self.confidence / SKETCH) / 3.0

    @property
    def error(self) -> float | None:
        """ε̄; None where that is not below 1."""
        by_theorem_1 = math.sqrt(588.0 * self.total**4 * math.log(1.0 / self.delta))
        by_lemma_1 = 7.0 * self.total**2 * math.e
        root = math.sqrt(self.dimensions)
        return checks.below(max(by_theorem_1 / root, by_lemma_1 / self.dimensions), 1.0)

    @property
    def largest_weight(self) -> float | None:
        """Eq. 6 at ε = ε̄ / (7‖f‖²); None where there is no guarantee."""
        if self.error is None:
            return None
        return largest_weight(self.error / (7.0 * self.total**2), self.delta, self.dimensions)


@dataclass(frozen=True)
class TfIdfSpread:
    """The TF-IDF geometry by second moments: true for every document, signs and all.

    Let s_i = IDF_i − IDF*_i ≥ 0 be what the sketch takes off a weight. The hashed TF-IDF is then
    φ(x) − φ(s ⊙ z), since all words of a bucket share its IDF*. The signs are drawn apart from the
    buckets, so E‖φ(s ⊙ z)‖² = E Σ s_i² z_i², and s_i = ln(1 + t_i) with E t_i ≤ (‖f‖ − f_i)/(m f_i)
    gives E s_i² ≤ 0.648 (‖f‖ − f_i)/(m f_i). Markov's inequality for this part and Chebyshev's for
    ‖φ(x)‖², each with half of δ, and the triangle inequality make

        | ‖φ(d)‖² / ‖x‖² − 1 | ≤ (√(1 + √(4/(mδ))) + √(1.296 ρ/(mδ)))² − 1

    with probability 1 − δ, where ρ = Σ z_i² (‖f‖/f_i − 1) / ‖x‖² says how rare the words are.

    Parameters
    ----------
    dimensions
        m.
    rarity
        ρ of a document; `clasher.distortion` measures it.
    confidence
        1 − δ.

    Examples
    --------
    >>> round(TfIdfSpread(2**20, rarity=500.0).error, 3)
    0.17
    >>> TfIdfSpread.for_error(0.1, rarity=500.0).dimensions
    2937758
    """

    dimensions: int
    rarity: float
    confidence: float = 0.9

    def __post_init__(self) -> None:
        checks.whole("TfIdfSpread", "dimensions", self.dimensions, 1)
        checks.least("TfIdfSpread", "rarity", self.rarity, 0.0)
        checks.number("TfIdfSpread", "confidence", self.confidence, 0.0, 1.0)

    @classmethod
    def for_error(cls, error: float, rarity: float, confidence: float = 0.9) -> TfIdfSpread:
        """The fewest dimensions, found by bisection: the error falls as they grow."""
        checks.error("TfIdfSpread", error, math.inf)
        low, high = 0, MOST_DIMENSIONS
        while high - low > 1:
            middle = (low + high) // 2
            if cls(middle, rarity, confidence).error > error * (1.0 + checks.SMALLEST):
                low = middle
            else:
                high = middle
        return cls(high, rarity, confidence)

    @property
    def error(self) -> float:
        """The bound on | ‖φ(d)‖² / ‖x‖² − 1 |."""
        return self._by(events=2)

    @property
    def product_error(self) -> float:
        """The same for inner products of documents of unit length.

        Five things have to go well, each with a fifth of δ: ⟨φ(x), φ(y)⟩, both lengths and both
        shifts of the IDF.
        """
        return self._by(events=5)

    @property
    def cosine_error(self) -> float | None:
        """The same for cosines; None where that is not below 1.

        Where the product and both lengths are kept within E < 1, so is the product of the lengths,
        and the cosine within 2E.
        """
        error = self._by(events=5, without_shift=3)
        return checks.below(2.0 * error, 1.0)

    @property
    def mean_error(self) -> float:
        """The mean of either error, over the draw of the hash, is at most this (Cauchy, Schwarz).

        >>> round(TfIdfSpread(2**20, rarity=500.0).mean_error, 3)
        0.037
        """
        shift = math.sqrt(STEEPEST * self.rarity / self.dimensions)
        return math.sqrt(2.0 / self.dimensions) + shift * (2.0 + shift)

    def _by(self, events: int, without_shift: int = 1) -> float:
        """Share δ between the events; without a shift, only what hashing does is left."""
        parts = events if self.rarity else without_shift
        share = parts / (self.dimensions * (1.0 - self.confidence))
        hashing = math.sqrt(2.0 * share)
        shift = math.sqrt(STEEPEST * self.rarity * share)
        return hashing + shift * (2.0 * math.sqrt(1.0 + hashing) + shift)
