"""What hashing does to decisions: Lemma 2 and Proposition 2."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clasher.bounds import checks
from clasher.bounds.lengths import largest_weight

MOST_DOUBT = 0.3
"""Lemma 2 asks for δ̄ < 0.1; its proof only for the δ̄/(3n_t) < 0.1 of Theorem 1: this is enough."""


@dataclass(frozen=True)
class Decision:
    """Lemma 2 (Eq. 18): a document with margin η̄ or more falls into the same region when hashed.

    The margin is relative, η̄ = η(x) / max_j ‖p̄_j − x‖² ≤ 1, with Euclidean regions as in Eq. 12.
    It asks for m ≥ 48 η̄⁻² ln(3n_t/δ̄), n_t being the number of labels, and holds with probability
    1 − δ̄. The lemma asks ‖x‖∞ ≤ 1/√c; what its proof needs is the condition of Eq. 6 for each
    difference p̄_j − x, scaled to unit length: ``largest_weight`` is that 1/√c. (The proof ends with
    δ = δ̄/n_t, where the lemma and the sum over events before it have δ̄/(3n_t).)
    ``by_second_moments`` needs no such condition: Chebyshev's inequality for each of the n_t
    distances gives √(8 n_t/(m δ̄)).

    Parameters
    ----------
    dimensions
        m.
    labels
        n_t.
    confidence
        1 − δ̄; more than 0.7.

    Examples
    --------
    >>> round(Decision(65536, labels=2000, confidence=0.95).margin, 3)
    0.093
    >>> Decision.for_margin(0.1, labels=2000, confidence=0.95).dimensions
    56138
    """

    dimensions: int
    labels: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        checks.whole("Decision", "dimensions", self.dimensions, 1)
        checks.whole("Decision", "labels", self.labels, 1)
        checks.number("Decision", "confidence", self.confidence, 1.0 - MOST_DOUBT, 1.0)

    @classmethod
    def for_margin(cls, margin: float, labels: int, confidence: float = 0.95) -> Decision:
        """The fewest dimensions."""
        checks.number("Decision", "margin", margin, checks.SMALLEST, 1.0)
        log = math.log(1.0 / cls(1, labels, confidence).delta)
        return cls(checks.up(48.0 * margin**-2 * log), labels, confidence)

    @property
    def delta(self) -> float:
        """δ of Theorem 1: δ̄ / (3 n_t)."""
        return (1.0 - self.confidence) / (3.0 * self.labels)

    @property
    def margin(self) -> float | None:
        """η̄, the least that is safe; None where that is not below 1."""
        return checks.below(math.sqrt(48.0 * math.log(1.0 / self.delta) / self.dimensions), 1.0)

    @property
    def by_second_moments(self) -> float | None:
        """The least margin that is safe for documents of any kind; None where not below 1."""
        doubt = 1.0 - self.confidence
        return checks.below(math.sqrt(8.0 * self.labels / (self.dimensions * doubt)), 1.0)

    @property
    def largest_weight(self) -> float | None:
        """1/√c with c = 32 η̄⁻¹ ln(3n_t/δ̄) ln²(3mn_t/δ̄); None where there is no guarantee."""
        if self.margin is None:
            return None
        return largest_weight(self.margin / 2.0, self.delta, self.dimensions)


@dataclass(frozen=True)
class TestError:
    """Proposition 2 (Eq. 19, 20): how much error hashing can add on a test set.

    Pr(Err) ≤ Pr(Err*) + (1 − δ_η)δ̄ + δ_η with δ̄ ≤ 3 n_t exp(−m η²/(48 D⁴)), where Err* is the
    error without hashing. In this proposition n_t also counts the test documents. The exponential
    is Lemma 2 solved for δ̄, so its n_t is the number of *labels*; nothing in the proof depends on
    the size of the test set. D is the diameter of a ball around the test documents; the proof
    bounds ‖p̄_j − x‖ by it, so the prototypes have to lie in the ball too. Lemma 2's condition on
    single words carries over.

    Parameters
    ----------
    dimensions
        m.
    labels
        n_t of Lemma 2.
    margin
        η, the margin of Eq. 18, not divided by anything.
    diameter
        D; √2 holds for documents of unit length with weights of at least 0, and their means.
    below
        δ_η, the fraction of test documents with a smaller margin.
    original
        Pr(Err*).

    Examples
    --------
    >>> bound = TestError(2**20, labels=100, margin=0.1, below=0.02, original=0.1)
    >>> round(bound.change, 16), round(bound.bound, 3)
    (0.0, 0.12)
    >>> TestError.for_change(0.01, labels=100, margin=0.1).dimensions
    197932
    """

    __test__ = False  # its name looks like a test to pytest

    dimensions: int
    labels: int
    margin: float
    diameter: float = math.sqrt(2.0)
    below: float = 0.0
    original: float = 0.0

    def __post_init__(self) -> None:
        checks.whole("TestError", "dimensions", self.dimensions, 1)
        checks.whole("TestError", "labels", self.labels, 1)
        checks.number("TestError", "diameter", self.diameter, 0.0, math.inf)
        checks.number("TestError", "margin", self.margin, 0.0, self.diameter**2)
        for name in ("below", "original"):
            checks.number("TestError", name, getattr(self, name), -checks.SMALLEST, 1.0)

    @classmethod
    def for_change(
        cls, change: float, labels: int, margin: float, diameter: float = math.sqrt(2.0)
    ) -> TestError:
        """The fewest dimensions at which hashing changes at most this fraction of decisions."""
        checks.number("TestError", "change", change, 0.0, MOST_DOUBT)
        relative = cls(1, labels, margin, diameter).relative_margin
        size = 48.0 * relative**-2 * math.log(3.0 * labels / change)
        return cls(checks.up(size), labels, margin, diameter)

    @property
    def relative_margin(self) -> float:
        """η̄ = η/D²."""
        return self.margin / self.diameter**2

    @property
    def change(self) -> float | None:
        """δ̄ of Eq. 20; None where that is not below 0.3."""
        exponent = -self.dimensions * self.relative_margin**2 / 48.0
        return checks.below(3.0 * self.labels * math.exp(exponent), MOST_DOUBT)

    @property
    def bound(self) -> float | None:
        """Eq. 19: the error in the hashed space, at most 1; None where there is no guarantee."""
        if self.change is None:
            return None
        return min(1.0, self.original + (1.0 - self.below) * self.change + self.below)
