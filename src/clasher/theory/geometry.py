"""The geometry of hashed TF-IDF: Proposition 1, and what can be shown without its gaps.

Lengths and inner products under hashing: Theorem 1, Eq. 8, and second moments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from clasher.theory import checks

LEAST_CONFIDENCE = 0.7
"""Theorem 1 holds with probability 1 − 3δ for δ < 0.1."""


def largest_weight(error: float, delta: float, dimensions: int) -> float:
    """Eq. 6: the largest coordinate ‖x‖∞ that a vector of unit length may have.

    >>> round(largest_weight(0.025, 0.1 / 3, 65536), 4)
    0.0015
    """
    logs = math.log(1.0 / delta) * math.log(dimensions / delta) ** 2
    return math.sqrt(error / (16.0 * logs))


def least_error(weight: float, delta: float, dimensions: int) -> float | None:
    """The least ε that fulfils both conditions of Theorem 1; None where that is not below 1."""
    log = math.log(1.0 / delta)
    by_size = math.sqrt(12.0 * log / dimensions)
    by_weight = 16.0 * weight**2 * log * math.log(dimensions / delta) ** 2
    return checks.below(max(by_size, by_weight), 1.0)


@dataclass(frozen=True)
class Norms:
    """Theorem 1 (Eq. 6, 7): hashing keeps ‖x‖² within a factor 1 ± ε, with probability 1 − 3δ.

    It asks for m ≥ 12 ε⁻² ln(1/δ) and, of a vector of unit length, that no coordinate stand out
    (Eq. 6). The second condition is harder than it looks: at m = 65536 no word may carry more
    than about 0.15 % of a document's length, so that a document needs some 400,000 different
    words. No real text fulfils it; `Spread` needs no such condition.

    Parameters
    ----------
    dimensions
        m.
    confidence
        1 − 3δ; more than 0.7, since δ < 0.1.
    weight
        ‖x‖∞ of the documents scaled to unit length; 0 leaves the condition of Eq. 6 aside.

    Examples
    --------
    >>> bound = Norms(65536, confidence=0.9)
    >>> round(bound.error, 4), round(bound.largest_weight, 4)
    (0.025, 0.0015)
    >>> Norms.for_error(0.1, confidence=0.9).dimensions
    4082
    >>> print(Norms(65536, weight=0.2).error)
    None
    """

    dimensions: int
    confidence: float = 0.9
    weight: float = 0.0

    def __post_init__(self) -> None:
        checks.whole("Norms", "dimensions", self.dimensions, 1)
        checks.number("Norms", "confidence", self.confidence, LEAST_CONFIDENCE, 1.0)
        checks.least("Norms", "weight", self.weight, 0.0)

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.9, weight: float = 0.0) -> Norms | None:
        """The fewest dimensions; None where Eq. 6 fails, which more dimensions only make worse."""
        checks.error("Norms", error)
        delta = cls(1, confidence, weight).delta
        found = cls(checks.up(12.0 * error**-2 * math.log(1.0 / delta)), confidence, weight)
        return found if weight <= largest_weight(error, delta, found.dimensions) else None

    @property
    def delta(self) -> float:
        """δ."""
        return (1.0 - self.confidence) / 3.0

    @property
    def error(self) -> float | None:
        """ε, the least that fulfils both conditions; None where that is not below 1."""
        return least_error(self.weight, self.delta, self.dimensions)

    @property
    def largest_weight(self) -> float | None:
        """Return what Eq. 6 allows at this error; None where there is no guarantee."""
        error = self.error
        return None if error is None else largest_weight(error, self.delta, self.dimensions)


@dataclass(frozen=True)
class Products:
    """Eq. 8: hashing moves an inner product by ε or more with probability 6 exp(−mε²/12) at most.

    The paper divides by ⟨x₁, x₂⟩. What follows from Theorem 1, applied to x₁ + x₂ and x₁ − x₂, is
    an *absolute* error of ε for vectors of unit length: no bound in proportion to the product can
    hold for documents that share no word. That is the version here. Eq. 6 is asked of x₁ ± x₂.

    Parameters
    ----------
    dimensions
        m.
    confidence
        One minus the probability of Eq. 8; more than 0.4, since δ < 0.1.
    weight
        ‖x₁ ± x₂‖∞ at unit length, as for `Norms`.

    Examples
    --------
    >>> round(Products(65536, confidence=0.9).error, 4)
    0.0274
    >>> Products.for_error(0.1, confidence=0.9).dimensions
    4914
    """

    dimensions: int
    confidence: float = 0.9
    weight: float = 0.0

    def __post_init__(self) -> None:
        checks.whole("Products", "dimensions", self.dimensions, 1)
        checks.number("Products", "confidence", self.confidence, 0.4, 1.0)
        checks.least("Products", "weight", self.weight, 0.0)

    @classmethod
    def for_error(
        cls, error: float, confidence: float = 0.9, weight: float = 0.0
    ) -> Products | None:
        """The fewest dimensions; None where Eq. 6 fails."""
        checks.error("Products", error)
        delta = cls(1, confidence, weight).delta
        found = cls(checks.up(12.0 * error**-2 * math.log(1.0 / delta)), confidence, weight)
        return found if weight <= largest_weight(error, delta, found.dimensions) else None

    @property
    def delta(self) -> float:
        """δ of Theorem 1, which is used twice."""
        return (1.0 - self.confidence) / 6.0

    @property
    def error(self) -> float | None:
        """ε; None where that is not below 1."""
        return least_error(self.weight, self.delta, self.dimensions)

    @property
    def largest_weight(self) -> float | None:
        """Return what Eq. 6 allows at this error; None where there is no guarantee."""
        error = self.error
        return None if error is None else largest_weight(error, self.delta, self.dimensions)


@dataclass(frozen=True)
class Spread:
    """Lengths and inner products by their second moments: every document, however few its words.

    Over the draw of the hash, ‖φ(x)‖² has mean ‖x‖² and variance 2(‖x‖₂⁴ − ‖x‖₄⁴)/m, and
    ⟨φ(x), φ(y)⟩ of unit vectors has mean ⟨x, y⟩ and a variance of at most 2/m (Weinberger et al.,
    2009, Lemma 2). Chebyshev's inequality makes that an error of √(2/(mδ)) with probability 1 − δ.

    Parameters
    ----------
    dimensions
        m.
    confidence
        1 − δ.

    Examples
    --------
    >>> bound = Spread(65536, confidence=0.9)
    >>> round(bound.error, 4), round(bound.deviation, 4)
    (0.0175, 0.0055)
    >>> Spread.for_error(0.1, confidence=0.9).dimensions
    2000
    """

    dimensions: int
    confidence: float = 0.9

    def __post_init__(self) -> None:
        checks.whole("Spread", "dimensions", self.dimensions, 1)
        checks.number("Spread", "confidence", self.confidence, 0.0, 1.0)

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.9) -> Spread:
        """The fewest dimensions."""
        checks.error("Spread", error, math.inf)
        return cls(checks.up(2.0 * error**-2 / (1.0 - cls(1, confidence).confidence)), confidence)

    @property
    def deviation(self) -> float:
        """The standard deviation is at most √(2/m)."""
        return math.sqrt(2.0 / self.dimensions)

    @property
    def error(self) -> float:
        """ε; above 1 it still bounds lengths from above."""
        return self.deviation / math.sqrt(1.0 - self.confidence)


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
        ρ of a document; `clasher.theory.distortion` measures it.
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
