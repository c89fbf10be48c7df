"""Lengths and inner products under hashing: Theorem 1, Eq. 8, and second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clasher.bounds import checks

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
