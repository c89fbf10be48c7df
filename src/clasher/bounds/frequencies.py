"""Document frequencies and IDF from a count-min sketch: Theorem 2 and Lemma 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clasher.bounds import checks


@dataclass(frozen=True)
class CountMin:
    """Theorem 2 (Eq. 9 to 11): f ≤ f̂ always, and f̂ ≤ f + ε‖f‖ with probability 1 − δ.

    ε = e/m and δ = exp(−L). Algorithm 3 counts a bucket once per document, even where several
    words of the document share it: that is less than Eq. 9 would count, so the bound holds, and
    still no less than f.

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
        """The smallest sketch: m = ⌈e/ε⌉ and L = ⌈ln(1/δ)⌉."""
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
        """The mean of f̂ − f over the draw of the hash is at most (‖f‖ − f)/m.

        It is what the proof of Theorem 2 puts into Markov's inequality.

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
    is ``error`` here. The lemma as it is stated drops the word's own frequency f and the
    logarithm, which gives ε‖f‖: ``stated`` here. It is true for every f ≥ 1 (the proof asks for
    f > 1 and does not need it), but as ‖f‖ grows with the stream it soon exceeds ln n, the largest
    IDF there is, and says nothing. ``error`` depends on ‖f‖/f only, the words of a mean document
    over the fraction of documents with the word, and so does not grow with the stream.

    Parameters
    ----------
    dimensions
        m.
    total
        ‖f‖, in documents.
    frequency
        f, the documents that hold the word.
    depth
        L; the lemma is about 1.

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
        """The fewest dimensions for an error of ln(1 + ε‖f‖/f)."""
        checks.error("Idf", error, 700.0)
        ratio = cls(1, total, frequency, depth).total / frequency
        return cls(max(1, checks.up(math.e * ratio / math.expm1(error))), total, frequency, depth)

    @property
    def error(self) -> float:
        """ln(1 + ε‖f‖/f)."""
        return math.log1p(CountMin(self.dimensions).overcount(self.total) / self.frequency)

    @property
    def stated(self) -> float:
        """ε‖f‖: Lemma 1 to the letter, for frequencies that are counts of documents."""
        return CountMin(self.dimensions).overcount(self.total)

    @property
    def expected(self) -> float:
        """The mean over the draw of the hash is at most this (Jensen's inequality)."""
        mean = CountMin(self.dimensions).mean_overcount(self.total, self.frequency)
        return math.log1p(mean / self.frequency)

    @property
    def confidence(self) -> float:
        """1 − exp(−L)."""
        return CountMin(self.dimensions, self.depth).confidence
