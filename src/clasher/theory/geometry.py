"""Bounds for lengths and inner products: Theorem 1, Eq. 8, Proposition 1 and second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from clasher.theory import checks

LEAST_CONFIDENCE = 0.7
"""Theorem 1 holds with probability 1 − 3δ for δ < 0.1."""


def largest_weight(error: float, delta: float, dimensions: int) -> float:
    """Eq. 6: return the largest coordinate ‖x‖∞ that a vector of unit length may have."""
    logs = math.log(1.0 / delta) * math.log(dimensions / delta) ** 2
    return math.sqrt(error / (16.0 * logs))


@dataclass(frozen=True)
class _Sparse:
    """What `Norms` and `Products` share: Theorem 1 with Eq. 6."""

    dimensions: int
    confidence: float = 0.9
    weight: float = 0.0
    _events: ClassVar[int] = 3  # each fails with probability δ < 0.1

    def __post_init__(self) -> None:
        name = type(self).__name__
        checks.whole(name, "dimensions", self.dimensions, 1)
        checks.number(name, "confidence", self.confidence, 1.0 - self._events / 10.0, 1.0)
        checks.least(name, "weight", self.weight, 0.0)

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.9, weight: float = 0.0) -> Self | None:
        """Return the fewest dimensions; None if Eq. 6 fails, which more dimensions make worse."""
        checks.error(cls.__name__, error)
        delta = cls(1, confidence, weight).delta
        found = cls(checks.up(12.0 * error**-2 * math.log(1.0 / delta)), confidence, weight)
        return found if weight <= largest_weight(error, delta, found.dimensions) else None

    @property
    def delta(self) -> float:
        """δ of Theorem 1."""
        return (1.0 - self.confidence) / self._events

    @property
    def error(self) -> float | None:
        """ε, the least that meets both conditions of Theorem 1; None if that is not below 1."""
        log = math.log(1.0 / self.delta)
        by_size = math.sqrt(12.0 * log / self.dimensions)
        by_weight = 16.0 * self.weight**2 * log * math.log(self.dimensions / self.delta) ** 2
        return checks.below(max(by_size, by_weight), 1.0)

    @property
    def largest_weight(self) -> float | None:
        """The largest weight that Eq. 6 allows at this error; None without a guarantee."""
        error = self.error
        return None if error is None else largest_weight(error, self.delta, self.dimensions)


@dataclass(frozen=True)
class Norms(_Sparse):
    """Theorem 1 (Eq. 6, 7): hashing keeps ‖x‖² within a factor 1 ± ε, with probability 1 − 3δ.

    It needs m ≥ 12 ε⁻² ln(1/δ) and a vector of unit length without large coordinates (Eq. 6). The
    second condition is hard: at m = 65536 no word may carry more than about 0.15 % of a document's
    length, so a document needs some 400,000 different words. No real text has them; `Spread` needs
    no such condition.

    Parameters
    ----------
    dimensions
        m.
    confidence
        1 − 3δ, more than 0.7 because δ < 0.1.
    weight
        ‖x‖∞ of the documents scaled to unit length; 0 skips the condition of Eq. 6.

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


@dataclass(frozen=True)
class Products(_Sparse):
    """Eq. 8: hashing moves an inner product by ε or more with probability 6 exp(−mε²/12) at most.

    The paper divides by ⟨x₁, x₂⟩. But Theorem 1, applied to x₁ + x₂ and x₁ − x₂, gives an
    *absolute* error of ε for vectors of unit length, which is the version here: no relative bound
    can hold for documents without a common word. Eq. 6 must hold for x₁ ± x₂.

    Parameters
    ----------
    dimensions
        m.
    confidence
        One minus the probability of Eq. 8, more than 0.4 because δ < 0.1.
    weight
        ‖x₁ ± x₂‖∞ at unit length, as for `Norms`.

    Examples
    --------
    >>> round(Products(65536, confidence=0.9).error, 4)
    0.0274
    >>> Products.for_error(0.1, confidence=0.9).dimensions
    4914
    """

    _events: ClassVar[int] = 6  # Theorem 1 is used twice


@dataclass(frozen=True)
class Spread:
    """Second moments of lengths and inner products: for every document, however short.

    Over hash functions, ‖φ(x)‖² has mean ‖x‖² and variance 2(‖x‖₂⁴ − ‖x‖₄⁴)/m, and
    ⟨φ(x), φ(y)⟩ of unit vectors has mean ⟨x, y⟩ and a variance of at most 2/m (Weinberger et al.,
    2009, Lemma 2). Chebyshev's inequality gives an error of √(2/(mδ)) with probability 1 − δ.

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
        """Return the fewest dimensions."""
        checks.error("Spread", error, math.inf)
        return cls(checks.up(2.0 * error**-2 / (1.0 - cls(1, confidence).confidence)), confidence)

    @property
    def deviation(self) -> float:
        """√(2/m), a bound on the standard deviation."""
        return math.sqrt(2.0 / self.dimensions)

    @property
    def error(self) -> float:
        """ε; above 1 it is only an upper bound on lengths."""
        return self.deviation / math.sqrt(1.0 - self.confidence)


SKETCH = 1.0 - math.exp(-1.0)
"""The probability of Lemma 1."""

STEEPEST = 0.648
"""ln²(1 + t) ≤ 0.648 t for every t ≥ 0; they meet near t = 3.9."""

MOST_DIMENSIONS = 2**100
"""The end of the search for a size."""


@dataclass(frozen=True)
class TfIdf:
    """Proposition 1 (Eq. 17): Algorithm 3 keeps ‖x‖² of the exact TF-IDF within 1 ± ε̄.

    It needs m ≥ max(588 ‖f‖⁴ ε̄⁻² ln(1/δ), ⌈7 ‖f‖² e/ε̄⌉) and holds with probability
    (1 − 1/e)(1 − 3δ). ε̄ is 7ε‖f‖² for the ε of Theorem 1 and Lemma 1. Eq. 17 has 1 + ε̄² as the
    upper end, which the proof shows only for ε̄ ≥ 1/(7‖f‖²); here it is 1 + ε̄.

    It is of little use. ‖f‖ grows with the stream, and after a few documents ‖f‖⁴ needs more
    dimensions than any machine has. And the proof has gaps: Eq. 34 leaves out the signs ξ, without
    which Eq. 33 need not be positive; Lemma 1 holds for one word and is used for all words of the
    document at once; the step to Eq. 37 needs IDF ≥ 1, but Eq. 36 assumes IDF ≤ 1. `TfIdfSpread`
    does without these steps.

    Parameters
    ----------
    dimensions
        m.
    total
        ‖f‖, in documents; at least 1.
    confidence
        (1 − 1/e)(1 − 3δ), between 0.4425 and 0.6321 because δ < 0.1.

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
        """Return the fewest dimensions."""
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
        """ε̄; None if that is not below 1."""
        by_theorem_1 = math.sqrt(588.0 * self.total**4 * math.log(1.0 / self.delta))
        by_lemma_1 = 7.0 * self.total**2 * math.e
        root = math.sqrt(self.dimensions)
        return checks.below(max(by_theorem_1 / root, by_lemma_1 / self.dimensions), 1.0)

    @property
    def largest_weight(self) -> float | None:
        """Eq. 6 at ε = ε̄ / (7‖f‖²); None without a guarantee."""
        if self.error is None:
            return None
        return largest_weight(self.error / (7.0 * self.total**2), self.delta, self.dimensions)


@dataclass(frozen=True)
class TfIdfSpread:
    """Second moments of the TF-IDF geometry: for every document, with signs.

    Let s_i = IDF_i − IDF*_i ≥ 0 be what the sketch subtracts from a weight. The hashed TF-IDF is
    then φ(x) − φ(s ⊙ z), because all words of a bucket share its IDF*. Signs and buckets are
    independent, so E‖φ(s ⊙ z)‖² = E Σ s_i² z_i², and s_i = ln(1 + t_i) with
    E t_i ≤ (‖f‖ − f_i)/(m f_i) gives E s_i² ≤ 0.648 (‖f‖ − f_i)/(m f_i). Markov's inequality for
    this part, Chebyshev's for ‖φ(x)‖², each with half of δ, and the triangle inequality give

        | ‖φ(d)‖² / ‖x‖² − 1 | ≤ (√(1 + √(4/(mδ))) + √(1.296 ρ/(mδ)))² − 1

    with probability 1 − δ, where ρ = Σ z_i² (‖f‖/f_i − 1) / ‖x‖² measures how rare the words are.

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
        """Find the fewest dimensions by bisection."""
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

        Five events get a fifth of δ each: ⟨φ(x), φ(y)⟩, both lengths and both shifts of the IDF.
        """
        return self._by(events=5)

    @property
    def cosine_error(self) -> float | None:
        """The same for cosines; None if that is not below 1.

        If the product and both lengths stay within E < 1, so does the product of the lengths, and
        the cosine stays within 2E.
        """
        error = self._by(events=5, without_shift=3)
        return checks.below(2.0 * error, 1.0)

    @property
    def mean_error(self) -> float:
        """A bound on the mean of either error over hash functions (Cauchy, Schwarz).

        >>> round(TfIdfSpread(2**20, rarity=500.0).mean_error, 3)
        0.037
        """
        shift = math.sqrt(STEEPEST * self.rarity / self.dimensions)
        return math.sqrt(2.0 / self.dimensions) + shift * (2.0 + shift)

    def _by(self, events: int, without_shift: int = 1) -> float:
        """Split δ between the events; TF (no rarity) has no shift of the IDF."""
        parts = events if self.rarity else without_shift
        share = parts / (self.dimensions * (1.0 - self.confidence))
        hashing = math.sqrt(2.0 * share)
        shift = math.sqrt(STEEPEST * self.rarity * share)
        return hashing + shift * (2.0 * math.sqrt(1.0 + hashing) + shift)
