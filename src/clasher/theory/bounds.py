"""The calculators: Theorems 1 and 2, Lemmas 1 and 2, Propositions 1 and 2, and second moments."""

import math
import sys
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from clasher.errors import is_integer, is_number, require

LEAST_CONFIDENCE = 0.7  # Theorem 1 holds with probability 1 − 3δ for δ < 0.1
MOST_DOUBT = 0.3  # Lemma 2 assumes δ̄ < 0.1; its proof only needs δ̄/(3n_t) < 0.1, as in Theorem 1
SKETCH = 1.0 - math.exp(-1.0)  # the probability of Lemma 1
STEEPEST = 0.648  # ln²(1 + t) ≤ 0.648 t for every t ≥ 0; they meet near t = 3.9
SMALLEST = 1e-12  # the smallest error that floats can handle

Limits = tuple[float] | tuple[float, float]

LIMITS: dict[str, Limits] = {
    "dimensions": (1,), "depth": (1,), "labels": (1,), "total": (0.0,), "weight": (0.0,),
    "rarity": (0.0,), "frequency": (0.0, math.inf), "diameter": (0.0, math.inf),
    "margin": (0.0, math.inf), "confidence": (0.0, 1.0), "below": (-SMALLEST, 1.0),
    "original": (-SMALLEST, 1.0),
}  # fmt: skip
"""The limits of each parameter that ``check`` uses, unless a class has its own."""


def check(owner: str, parameter: str, value: object, low: float, high: float | None = None) -> None:
    """Refuse a value that is not strictly between ``low`` and ``high``.

    Without ``high``: that is not finite and at least ``low``, and an integer if ``low`` is one.
    """
    if high is not None:
        holds = is_number(value, low, high) and value not in (low, high)
        must_be = f"a number between {low:.4g} and {high:.4g}"
    elif isinstance(low, int):
        holds, must_be = is_integer(value, low), f"an integer of at least {low}"
    else:
        holds = is_number(value, low, sys.float_info.max)
        must_be = f"a number of at least {low:g}"
    require(holds, parameter, must_be, value, owner)


def below(value: float, limit: float = 1.0) -> float | None:
    """Return an error, or None if it is too large to mean anything."""
    return value if value < limit else None


def largest_weight(error: float, delta: float, dimensions: int) -> float:
    """Eq. 6: return the largest coordinate ‖x‖∞ that a vector of unit length may have."""
    logs = math.log(1.0 / delta) * math.log(dimensions / delta) ** 2
    return math.sqrt(error / (16.0 * logs))


@dataclass(frozen=True)
class Bound:
    """A result for m dimensions; checks its parameters by their names."""

    dimensions: int
    _limits: ClassVar[dict[str, Limits]] = {}

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check(type(self).__name__, name, value, *(LIMITS | self._limits)[name])

    def _fewest(self, result: str, value: float, most: float = math.inf) -> Self:
        """Find the fewest dimensions that keep a result, which falls with them, within a value."""
        check(type(self).__name__, result, value, SMALLEST, most)

        def keeps(dimensions: int) -> bool:
            found = getattr(replace(self, dimensions=dimensions), result)
            return found is not None and found <= value * (1.0 + SMALLEST)

        high = 1
        while not keeps(high):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if keeps(middle) else (middle, high)
        return replace(self, dimensions=high)


@dataclass(frozen=True)
class _Sparse(Bound):
    """The base of `Norms` and `Products`: Theorem 1 with Eq. 6."""

    confidence: float = 0.9
    weight: float = 0.0
    _events: ClassVar[int] = 3  # each fails with probability δ < 0.1
    _limits: ClassVar = {"confidence": (LEAST_CONFIDENCE, 1.0)}

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.9, weight: float = 0.0) -> Self | None:
        """Return the fewest dimensions; None if Eq. 6 fails, which more dimensions make worse."""
        found = replace(cls(1, confidence)._fewest("error", error, 1.0), weight=weight)
        return found if weight <= largest_weight(error, found.delta, found.dimensions) else None

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
        return below(max(by_size, by_weight))

    @property
    def largest_weight(self) -> float | None:
        """The largest weight that Eq. 6 allows at this error; None without a guarantee."""
        error = self.error
        return None if error is None else largest_weight(error, self.delta, self.dimensions)


@dataclass(frozen=True)
class Norms(_Sparse):
    """Theorem 1 (Eq. 6, 7): hashing keeps ‖x‖² within a factor 1 ± ε, with probability 1 − 3δ.

    It needs δ < 0.1, m ≥ 12 ε⁻² ln(1/δ) and a vector of unit length without large coordinates
    (Eq. 6): ``weight`` is its ‖x‖∞; 0 skips this condition. It is hard: at m = 65536 no word may
    carry more than about 0.15 % of a document's length, so a document needs some 400,000 different
    words. `Spread` needs no such condition.

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
    can hold for documents without a common word. Eq. 6 must hold for x₁ ± x₂: ``weight`` is their
    largest coordinate at unit length. The confidence is above 0.4, because δ < 0.1.

    Examples
    --------
    >>> round(Products(65536, confidence=0.9).error, 4)
    0.0274
    >>> Products.for_error(0.1, confidence=0.9).dimensions
    4914
    """

    _events: ClassVar[int] = 6  # Theorem 1 is used twice
    _limits: ClassVar = {"confidence": (0.4, 1.0)}


@dataclass(frozen=True)
class Spread(Bound):
    """Second moments of lengths and inner products: for every document, however short.

    Over hash functions, ‖φ(x)‖² has mean ‖x‖² and variance 2(‖x‖₂⁴ − ‖x‖₄⁴)/m, and
    ⟨φ(x), φ(y)⟩ of unit vectors has mean ⟨x, y⟩ and a variance of at most 2/m (Weinberger et al.,
    2009, Lemma 2). Chebyshev's inequality gives an error of √(2/(mδ)) with probability 1 − δ.

    Examples
    --------
    >>> bound = Spread(65536, confidence=0.9)
    >>> round(bound.error, 4), round(bound.deviation, 4)
    (0.0175, 0.0055)
    >>> Spread.for_error(0.1, confidence=0.9).dimensions
    2000
    """

    confidence: float = 0.9

    @classmethod
    def for_error(cls, error: float, confidence: float = 0.9) -> Self:
        """Return the fewest dimensions."""
        return cls(1, confidence)._fewest("error", error)

    @property
    def deviation(self) -> float:
        """√(2/m), a bound on the standard deviation."""
        return math.sqrt(2.0 / self.dimensions)

    @property
    def error(self) -> float:
        """ε; above 1 it is only an upper bound on lengths."""
        return self.deviation / math.sqrt(1.0 - self.confidence)


@dataclass(frozen=True)
class TfIdf(Bound):
    """Proposition 1 (Eq. 17): Algorithm 3 keeps ‖x‖² of the exact TF-IDF within 1 ± ε̄.

    It needs m ≥ max(588 ‖f‖⁴ ε̄⁻² ln(1/δ), ⌈7 ‖f‖² e/ε̄⌉) and holds with probability
    (1 − 1/e)(1 − 3δ), from 0.4425 to 0.6321 because δ < 0.1. ε̄ is 7ε‖f‖² for the ε of Theorem 1 and
    Lemma 1. Eq. 17 has 1 + ε̄² as the upper end, which the proof shows only for ε̄ ≥ 1/(7‖f‖²); here
    it is 1 + ε̄.

    It is of little use: ‖f‖ grows with the stream, and after a few documents ‖f‖⁴ needs more
    dimensions than any machine has. And the proof has gaps: Eq. 34 leaves out the signs ξ, without
    which Eq. 33 need not be positive; Lemma 1 holds for one word and is used for all words of the
    document at once; the step to Eq. 37 needs IDF ≥ 1, but Eq. 36 assumes IDF ≤ 1. `TfIdfSpread`
    does without these steps.

    Examples
    --------
    >>> f"{TfIdf.for_error(0.5, total=1000).dimensions:.0e}"
    '6e+15'
    >>> print(TfIdf(2**20, total=1000).error)
    None
    """

    total: float
    confidence: float = 0.5
    _limits: ClassVar = {"total": (1.0,), "confidence": (SKETCH * LEAST_CONFIDENCE, SKETCH)}

    @classmethod
    def for_error(cls, error: float, total: float, confidence: float = 0.5) -> Self:
        """Return the fewest dimensions."""
        return cls(1, total, confidence)._fewest("error", error, 1.0)

    @property
    def delta(self) -> float:
        """δ."""
        return (1.0 - self.confidence / SKETCH) / 3.0

    @property
    def error(self) -> float | None:
        """ε̄; None if that is not below 1."""
        by_theorem_1 = math.sqrt(588.0 * self.total**4 * math.log(1.0 / self.delta))
        by_lemma_1 = 7.0 * self.total**2 * math.e
        return below(max(by_theorem_1 / math.sqrt(self.dimensions), by_lemma_1 / self.dimensions))

    @property
    def largest_weight(self) -> float | None:
        """Eq. 6 at ε = ε̄ / (7‖f‖²); None without a guarantee."""
        if self.error is None:
            return None
        return largest_weight(self.error / (7.0 * self.total**2), self.delta, self.dimensions)


@dataclass(frozen=True)
class TfIdfSpread(Bound):
    """Second moments of the TF-IDF geometry: for every document, with signs.

    Let s_i = IDF_i − IDF*_i ≥ 0 be what the sketch subtracts from a weight. The hashed TF-IDF is
    then φ(x) − φ(s ⊙ z), because all words of a bucket share its IDF*. Signs and buckets are
    independent, so E‖φ(s ⊙ z)‖² = E Σ s_i² z_i², and s_i = ln(1 + t_i) with
    E t_i ≤ (‖f‖ − f_i)/(m f_i) gives E s_i² ≤ 0.648 (‖f‖ − f_i)/(m f_i). Markov's inequality for
    this part, Chebyshev's for ‖φ(x)‖², each with half of δ, and the triangle inequality give

        | ‖φ(d)‖² / ‖x‖² − 1 | ≤ (√(1 + √(4/(mδ))) + √(1.296 ρ/(mδ)))² − 1

    with probability 1 − δ, where ρ = Σ z_i² (‖f‖/f_i − 1) / ‖x‖² measures how rare the words are
    (`clasher.theory.distortion` computes it).

    Examples
    --------
    >>> round(TfIdfSpread(2**20, rarity=500.0).error, 3)
    0.17
    >>> TfIdfSpread.for_error(0.1, rarity=500.0).dimensions
    2937758
    """

    rarity: float
    confidence: float = 0.9

    @classmethod
    def for_error(cls, error: float, rarity: float, confidence: float = 0.9) -> Self:
        """Return the fewest dimensions."""
        return cls(1, rarity, confidence)._fewest("error", error)

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
        return below(2.0 * self._by(events=5, without_shift=3))

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


@dataclass(frozen=True)
class CountMin(Bound):
    """Theorem 2 (Eq. 9 to 11): f ≤ f̂ always, and f̂ ≤ f + ε‖f‖ with probability 1 − δ.

    ε = e/m and δ = exp(−L), for L rows of m counters. Algorithm 3 counts a bucket once per
    document, even if several of its words share it: that is at most the count of Eq. 9 and at least
    f, so the bound holds.

    Examples
    --------
    >>> sketch = CountMin(65536)
    >>> round(sketch.error, 7), round(sketch.confidence, 3)
    (4.15e-05, 0.632)
    >>> CountMin.for_error(0.001, confidence=0.99)
    CountMin(dimensions=2719, depth=5)
    """

    depth: int = 1

    @classmethod
    def for_error(cls, error: float, confidence: float = SKETCH) -> Self:
        """Return the smallest sketch: m = ⌈e/ε⌉ and L = ⌈ln(1/δ)⌉."""
        check("CountMin", "confidence", confidence, *LIMITS["confidence"])
        rows = math.ceil(-math.log(1.0 - confidence) * (1.0 - SMALLEST))
        return cls(1, max(1, rows))._fewest("error", error)

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
        check("CountMin", "total", total, 0.0)
        return self.error * total

    def mean_overcount(self, total: float, frequency: float = 0.0) -> float:
        """Bound the mean of f̂ − f over hash functions: (‖f‖ − f)/m, as the proof of Theorem 2 does.

        >>> CountMin(1000).mean_overcount(50_000)
        50.0
        """
        check("CountMin", "total", total, 0.0)
        check("CountMin", "frequency", frequency, 0.0)
        return max(0.0, total - frequency) / self.dimensions


@dataclass(frozen=True)
class Idf(Bound):
    """Lemma 1 (Eq. 22 to 24): the IDF of a sketch is never too high, and rarely much too low.

    With IDF* that of the sketch, Theorem 2 gives IDF − ln(1 + ε‖f‖/f) ≤ IDF* ≤ IDF (Eq. 22): that
    is ``error``. The lemma as stated drops the word's own frequency f and the logarithm, which
    gives ε‖f‖: that is ``stated``. It is true for every f ≥ 1 (the proof assumes f > 1 without
    need), but ‖f‖ grows with the stream, so it soon exceeds ln n, the largest possible IDF, and
    says nothing. ``error`` depends on ‖f‖/f only and does not grow with the stream.

    Examples
    --------
    A word in 1 of 100 documents of 80 words:

    >>> bound = Idf(65536, total=80, frequency=0.01)
    >>> round(bound.error, 2), round(bound.expected, 2), round(bound.confidence, 2)
    (0.29, 0.12, 0.63)
    >>> Idf.for_error(0.1, total=80, frequency=0.01).dimensions
    206771
    """

    total: float
    frequency: float = 1.0
    depth: int = 1

    @classmethod
    def for_error(cls, error: float, total: float, frequency: float = 1.0, depth: int = 1) -> Self:
        """Return the fewest dimensions for an error of ln(1 + ε‖f‖/f)."""
        return cls(1, total, frequency, depth)._fewest("error", error, 700.0)

    @property
    def error(self) -> float:
        """ln(1 + ε‖f‖/f)."""
        return math.log1p(self.stated / self.frequency)

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


@dataclass(frozen=True)
class Decision(Bound):
    """Lemma 2 (Eq. 18): a document with margin η̄ or more falls into the same region when hashed.

    The margin is relative, η̄ = η(x) / max_j ‖p̄_j − x‖² ≤ 1, with Euclidean regions as in Eq. 12.
    It needs m ≥ 48 η̄⁻² ln(3n_t/δ̄), where n_t is the number of labels, and holds with probability
    1 − δ̄ > 0.7. The lemma assumes ‖x‖∞ ≤ 1/√c; its proof needs Eq. 6 for each difference p̄_j − x,
    scaled to unit length: ``largest_weight`` is that 1/√c. (The proof ends with δ = δ̄/n_t, but the
    lemma and the sum over events before it have δ̄/(3n_t).) ``by_second_moments`` needs no such
    condition: Chebyshev's inequality for each of the n_t distances gives √(8 n_t/(m δ̄)).

    Examples
    --------
    >>> round(Decision(65536, labels=2000, confidence=0.95).margin, 3)
    0.093
    >>> Decision.for_margin(0.1, labels=2000, confidence=0.95).dimensions
    56138
    """

    labels: int
    confidence: float = 0.95
    _limits: ClassVar = {"confidence": (1.0 - MOST_DOUBT, 1.0)}

    @classmethod
    def for_margin(cls, margin: float, labels: int, confidence: float = 0.95) -> Self:
        """Return the fewest dimensions."""
        return cls(1, labels, confidence)._fewest("margin", margin, 1.0)

    @property
    def delta(self) -> float:
        """δ of Theorem 1: δ̄ / (3 n_t)."""
        return (1.0 - self.confidence) / (3.0 * self.labels)

    @property
    def margin(self) -> float | None:
        """η̄, the least safe margin; None if that is not below 1."""
        return below(math.sqrt(48.0 * math.log(1.0 / self.delta) / self.dimensions))

    @property
    def by_second_moments(self) -> float | None:
        """The least safe margin for documents of any kind; None if that is not below 1."""
        return below(math.sqrt(8.0 * self.labels / (self.dimensions * (1.0 - self.confidence))))

    @property
    def largest_weight(self) -> float | None:
        """1/√c with c = 32 η̄⁻¹ ln(3n_t/δ̄) ln²(3mn_t/δ̄); None without a guarantee."""
        if self.margin is None:
            return None
        return largest_weight(self.margin / 2.0, self.delta, self.dimensions)


@dataclass(frozen=True)
class TestError(Bound):
    """Proposition 2 (Eq. 19, 20): how much error hashing can add on a test set.

    Pr(Err) ≤ Pr(Err*) + (1 − δ_η)δ̄ + δ_η with δ̄ ≤ 3 n_t exp(−m η²/(48 D⁴)), where Err* is the
    error without hashing. The proposition calls n_t the number of test documents too, but the
    exponential is Lemma 2 solved for δ̄, so here it is the number of *labels*; nothing in the proof
    depends on the size of the test set. D is the diameter of a ball that holds the test documents
    and, because the proof bounds ‖p̄_j − x‖ by it, the prototypes. Lemma 2's condition on single
    words applies too.

    Parameters
    ----------
    dimensions, labels
        m, and n_t of Lemma 2.
    margin
        η, the margin of Eq. 18, not relative.
    diameter
        D; √2 for documents of unit length without negative weights, and their means.
    below, original
        δ_η, the fraction of test documents with a smaller margin, and Pr(Err*).

    Examples
    --------
    >>> bound = TestError(2**20, labels=100, margin=0.1, below=0.02, original=0.1)
    >>> round(bound.change, 16), round(bound.bound, 3)
    (0.0, 0.12)
    >>> TestError.for_change(0.01, labels=100, margin=0.1).dimensions
    197932
    """

    __test__ = False  # not a test of pytest

    labels: int
    margin: float
    diameter: float = math.sqrt(2.0)
    below: float = 0.0
    original: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check("TestError", "margin", self.margin, 0.0, self.diameter**2)

    @classmethod
    def for_change(
        cls, change: float, labels: int, margin: float, diameter: float = math.sqrt(2.0)
    ) -> Self:
        """Return the fewest dimensions with at most this fraction of changed decisions."""
        return cls(1, labels, margin, diameter)._fewest("change", change, MOST_DOUBT)

    @property
    def relative_margin(self) -> float:
        """η̄ = η/D²."""
        return self.margin / self.diameter**2

    @property
    def change(self) -> float | None:
        """δ̄ of Eq. 20; None if that is not below 0.3."""
        exponent = -self.dimensions * self.relative_margin**2 / 48.0
        return below(3.0 * self.labels * math.exp(exponent), MOST_DOUBT)

    @property
    def bound(self) -> float | None:
        """Eq. 19: the error in the hashed space, at most 1; None without a guarantee."""
        if self.change is None:
            return None
        return min(1.0, self.original + (1.0 - self.below) * self.change + self.below)
