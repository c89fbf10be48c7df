"""Bounds for counts, IDF and decisions: Theorem 2, Lemmas 1 and 2, Proposition 2."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clasher.theory import checks
from clasher.theory.geometry import largest_weight


@dataclass(frozen=True)
class CountMin:
    """Theorem 2 (Eq. 9 to 11): f ≤ f̂ always, and f̂ ≤ f + ε‖f‖ with probability 1 − δ.

    ε = e/m and δ = exp(−L). Algorithm 3 counts a bucket once per document, even if several words
    of the document share it: that is at most the count of Eq. 9 and at least f, so
    the bound holds.

    Parameters
    ----------
    dimensions
        m, the counters in a row.
    depth
        L, the rows.

    Examples
    --------
    >>> sketch = CountMin(65536)
    >>> round(sketch.error, 7), round(sketch.confidence, 3)
    (4.15e-05, 0.632)
    >>> CountMin.for_error(0.001, confidence=0.99)
    CountMin(dimensions=2719, depth=5)
    """

    dimensions: int
    depth: int = 1

    def __post_init__(self) -> None:
        checks.whole("CountMin", "dimensions", self.dimensions, 1)
        checks.whole("CountMin", "depth", self.depth, 1)

    @classmethod
    def for_error(cls, error: float, confidence: float = 1.0 - math.exp(-1.0)) -> CountMin:
        """Return the smallest sketch: m = ⌈e/ε⌉ and L = ⌈ln(1/δ)⌉."""
        checks.error("CountMin", error, math.inf)
        checks.number("CountMin", "confidence", confidence, 0.0, 1.0)
        rows = checks.up(-math.log(1.0 - confidence))
        return cls(max(1, checks.up(math.e / error)), max(1, rows))

    @property
    def error(self) -> float:
        """ε, in parts of ‖f‖."""
        return math.e / self.dimensions

    @property
    def confidence(self) -> float:
        """1 − δ."""
        return -math.expm1(-self.depth)

    def overcount(self, total: float) -> float:
        """ε‖f‖, for ``total`` = ‖f‖."""
        checks.least("CountMin", "total", total, 0.0)
        return self.error * total

    def mean_overcount(self, total: float, frequency: float = 0.0) -> float:
        """Bound the mean of f̂ − f over hash functions: (‖f‖ − f)/m, as the proof of Theorem 2 does.

        >>> CountMin(1000).mean_overcount(50_000)
        50.0
        """
        checks.least("CountMin", "total", total, 0.0)
        checks.least("CountMin", "frequency", frequency, 0.0)
        return max(0.0, total - frequency) / self.dimensions


@dataclass(frozen=True)
class Idf:
    """Lemma 1 (Eq. 22 to 24): the IDF of a sketch is never too high, and rarely much too low.

    With IDF* that of the sketch, Theorem 2 gives IDF − ln(1 + ε‖f‖/f) ≤ IDF* ≤ IDF (Eq. 22): that
    is ``error``. The lemma as stated drops the word's own frequency f and the logarithm, which
    gives ε‖f‖: that is ``stated``. It is true for every f ≥ 1 (the proof assumes f > 1 without
    need), but ‖f‖ grows with the stream, so it soon exceeds ln n, the largest possible IDF, and
    says nothing. ``error`` depends on ‖f‖/f only and does not grow with the stream.

    Parameters
    ----------
    dimensions
        m.
    total
        ‖f‖, in documents.
    frequency
        f, the documents with the word.
    depth
        L; 1 in the lemma.

    Examples
    --------
    A word in 1 of 100 documents of 80 words:

    >>> bound = Idf(65536, total=80, frequency=0.01)
    >>> round(bound.error, 2), round(bound.expected, 2), round(bound.confidence, 2)
    (0.29, 0.12, 0.63)
    >>> Idf.for_error(0.1, total=80, frequency=0.01).dimensions
    206771
    """

    dimensions: int
    total: float
    frequency: float = 1.0
    depth: int = 1

    def __post_init__(self) -> None:
        CountMin(self.dimensions, self.depth)
        checks.least("Idf", "total", self.total, 0.0)
        checks.number("Idf", "frequency", self.frequency, 0.0, math.inf)

    @classmethod
    def for_error(cls, error: float, total: float, frequency: float = 1.0, depth: int = 1) -> Idf:
        """Return the fewest dimensions for an error of ln(1 + ε‖f‖/f)."""
        checks.error("Idf", error, 700.0)
        ratio = cls(1, total, frequency, depth).total / frequency
        return cls(max(1, checks.up(math.e * ratio / math.expm1(error))), total, frequency, depth)

    @property
    def error(self) -> float:
        """ln(1 + ε‖f‖/f)."""
        return math.log1p(CountMin(self.dimensions).overcount(self.total) / self.frequency)

    @property
    def stated(self) -> float:
        """ε‖f‖: Lemma 1 as stated, for frequencies that are counts of documents."""
        return CountMin(self.dimensions).overcount(self.total)

    @property
    def expected(self) -> float:
        """A bound on the mean error over hash functions (Jensen's inequality)."""
        mean = CountMin(self.dimensions).mean_overcount(self.total, self.frequency)
        return math.log1p(mean / self.frequency)

    @property
    def confidence(self) -> float:
        """1 − exp(−L)."""
        return CountMin(self.dimensions, self.depth).confidence


MOST_DOUBT = 0.3
"""Lemma 2 assumes δ̄ < 0.1, but its proof only needs δ̄/(3n_t) < 0.1, as in Theorem 1."""


@dataclass(frozen=True)
class Decision:
    """Lemma 2 (Eq. 18): a document with margin η̄ or more falls into the same region when hashed.

    The margin is relative, η̄ = η(x) / max_j ‖p̄_j − x‖² ≤ 1, with Euclidean regions as in Eq. 12.
    It needs m ≥ 48 η̄⁻² ln(3n_t/δ̄), where n_t is the number of labels, and holds with probability
    1 − δ̄. The lemma assumes ‖x‖∞ ≤ 1/√c; its proof needs Eq. 6 for each difference p̄_j − x, scaled
    to unit length: ``largest_weight`` is that 1/√c. (The proof ends with δ = δ̄/n_t, but the lemma
    and the sum over events before it have δ̄/(3n_t).) ``by_second_moments`` needs no such
    condition: Chebyshev's inequality for each of the n_t distances gives √(8 n_t/(m δ̄)).

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
        """Return the fewest dimensions."""
        checks.number("Decision", "margin", margin, checks.SMALLEST, 1.0)
        log = math.log(1.0 / cls(1, labels, confidence).delta)
        return cls(checks.up(48.0 * margin**-2 * log), labels, confidence)

    @property
    def delta(self) -> float:
        """δ of Theorem 1: δ̄ / (3 n_t)."""
        return (1.0 - self.confidence) / (3.0 * self.labels)

    @property
    def margin(self) -> float | None:
        """η̄, the least safe margin; None if that is not below 1."""
        return checks.below(math.sqrt(48.0 * math.log(1.0 / self.delta) / self.dimensions), 1.0)

    @property
    def by_second_moments(self) -> float | None:
        """The least safe margin for documents of any kind; None if that is not below 1."""
        doubt = 1.0 - self.confidence
        return checks.below(math.sqrt(8.0 * self.labels / (self.dimensions * doubt)), 1.0)

    @property
    def largest_weight(self) -> float | None:
        """1/√c with c = 32 η̄⁻¹ ln(3n_t/δ̄) ln²(3mn_t/δ̄); None without a guarantee."""
        if self.margin is None:
            return None
        return largest_weight(self.margin / 2.0, self.delta, self.dimensions)


@dataclass(frozen=True)
class TestError:
    """Proposition 2 (Eq. 19, 20): how much error hashing can add on a test set.

    Pr(Err) ≤ Pr(Err*) + (1 − δ_η)δ̄ + δ_η with δ̄ ≤ 3 n_t exp(−m η²/(48 D⁴)), where Err* is the
    error without hashing. The proposition calls n_t the number of test documents too, but the
    exponential is Lemma 2 solved for δ̄, so here it is the number of *labels*; nothing in the proof
    depends on the size of the test set. D is the diameter of a ball that holds the test documents
    and, because the proof bounds ‖p̄_j − x‖ by it, the prototypes. Lemma 2's condition on single
    words applies too.

    Parameters
    ----------
    dimensions
        m.
    labels
        n_t of Lemma 2.
    margin
        η, the margin of Eq. 18, not relative.
    diameter
        D; √2 for documents of unit length without negative weights, and their means.
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

    __test__ = False  # not a test of pytest

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
        """Return the fewest dimensions with at most this fraction of changed decisions."""
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
        """δ̄ of Eq. 20; None if that is not below 0.3."""
        exponent = -self.dimensions * self.relative_margin**2 / 48.0
        return checks.below(3.0 * self.labels * math.exp(exponent), MOST_DOUBT)

    @property
    def bound(self) -> float | None:
        """Eq. 19: the error in the hashed space, at most 1; None without a guarantee."""
        if self.change is None:
            return None
        return min(1.0, self.original + (1.0 - self.below) * self.change + self.below)
