"""Which dimensions to take: what fits into memory, what is guaranteed there, what is measured."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from clasher import memory
from clasher.bounds import (
    LEAST_CONFIDENCE,
    CountMin,
    Decision,
    Idf,
    Norms,
    Products,
    TfIdf,
    TfIdfSpread,
    checks,
)
from clasher.distortion import Distortion, Errors, Sample, measure
from clasher.errors import SettingError
from clasher.settings import Settings

MOST_DIMENSIONS = 2**30
AROUND = 2  # sizes that are shown on either side of the proposed one
HALF = 0.5  # the confidence that Proposition 1 is asked with: it knows none above 0.632


@dataclass(frozen=True)
class Guarantee:
    """What one result says at one size, beside what was measured.

    Attributes
    ----------
    what : str
        What hashing keeps.
    by : str
        The result, in the paper or beside it.
    confidence : float
        With what probability.
    guaranteed : float or None
        The error is at most this; None where there is no guarantee at this size.
    measured : float or None
        The error that this part of the sample did not exceed; None without a sample.
    """

    what: str
    by: str
    confidence: float
    guaranteed: float | None
    measured: float | None


@dataclass(frozen=True)
class Need:
    """The size one result asks for; None where it can give no guarantee at any size."""

    what: str
    by: str
    confidence: float
    dimensions: int | None
    depth: int = 1


@dataclass(frozen=True)
class Size:
    """One row of a plan: so many dimensions, the model's bytes, and the distortion there."""

    dimensions: int
    nbytes: int
    guarantees: list[Guarantee]
    expected: dict[str, float]
    distortion: Distortion | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "dimensions": self.dimensions,
            "nbytes": self.nbytes,
            "guarantees": [asdict(guarantee) for guarantee in self.guarantees],
            "expected": self.expected,
            "measured": None if self.distortion is None else self.distortion.to_dict(),
        }


@dataclass(frozen=True)
class Planner:
    """Plans a model for so many labels.

    Parameters
    ----------
    settings
        The settings but for the dimensions; their ``max_labels`` are the labels planned for.
    confidence
        The probability asked of a guarantee, more than 0.7.
    sample
        Documents to measure on.

    Examples
    --------
    >>> planner = Planner(Settings(max_labels=2000))
    >>> planner.fitting(2 * 10**9)
    65536
    >>> [size.dimensions for size in planner.sizes(65536)]
    [16384, 32768, 65536, 131072, 262144]
    """

    settings: Settings
    confidence: float = 0.9
    sample: Sample | None = None

    def __post_init__(self) -> None:
        checks.number("a plan", "confidence", self.confidence, LEAST_CONFIDENCE, 1.0)

    def nbytes(self, dimensions: int) -> int:
        """Bytes of a model with so many dimensions and all its labels."""
        settings = replace(self.settings, dimensions=dimensions)
        return memory.nbytes(settings, settings.max_labels)

    def fitting(self, limit: int) -> int:
        """The largest power of two whose model takes at most ``limit`` bytes."""
        dimensions = MOST_DIMENSIONS
        while self.nbytes(dimensions) > limit:
            dimensions //= 2
            if dimensions < 2:
                labels = self.settings.max_labels
                raise SettingError(
                    f"{limit:,} bytes are too few for a model of {labels:,} labels: 2 dimensions "
                    f"take {self.nbytes(2):,}; allow more memory or fewer labels"
                )
        return dimensions

    def sizes(self, dimensions: int) -> list[Size]:
        """One size and its neighbours, twice and half as large."""
        around = (dimensions * 2.0**step for step in range(-AROUND, AROUND + 1))
        return [self.size(int(m)) for m in around if 2 <= m <= MOST_DIMENSIONS]

    def size(self, dimensions: int) -> Size:
        """All there is to say about one size."""
        found = None
        if self.sample is not None:
            found = measure(self.sample, dimensions, self.settings.seed)
        return Size(
            dimensions,
            self.nbytes(dimensions),
            self._guarantees(dimensions, found),
            self._expected(dimensions),
            found,
        )

    def needs(self, error: float) -> list[Need]:
        """The size that each result asks for."""
        p, weight = self.confidence, self._weight
        norms, products = (
            Norms.for_error(error, p, weight),
            Products.for_error(error, p, weight / 2),
        )
        sketch = CountMin.for_error(error, p)
        decision = self._sparse(Decision.for_margin(error, self.settings.max_labels, p))
        needs = [
            Need("lengths", "Theorem 1", p, None if norms is None else norms.dimensions),
            Need("products", "Eq. 8", p, None if products is None else products.dimensions),
            Need("lengths", "second moments", p, self._spread(error)),
            Need("counts", "Theorem 2", sketch.confidence, sketch.dimensions, sketch.depth),
            Need("decisions", "Lemma 2", p, None if decision is None else decision.dimensions),
        ]
        if self.sample is not None and self.sample.idf:
            total = self.sample.total
            idf = Idf.for_error(error, total, depth=sketch.depth)
            tfidf = TfIdf.for_error(error, total, HALF)
            needs += [
                Need("idf", "Eq. 22", idf.confidence, idf.dimensions, idf.depth),
                Need("lengths", "Proposition 1", HALF, tfidf.dimensions),
            ]
        return needs

    def sufficient(self, error: float) -> int:
        """The least power of two whose lengths are kept, by second moments."""
        wanted = self._spread(error)
        if wanted > MOST_DIMENSIONS:
            raise SettingError(
                f"an error of {error:g} asks for {wanted:.2g} dimensions, more than the "
                f"{MOST_DIMENSIONS:,} there can be; allow a larger error or less confidence"
            )
        return max(2, 1 << (wanted - 1).bit_length())

    def _spread(self, error: float) -> int:
        """The size that second moments ask for; those of TF-IDF where there is a sample of it."""
        checks.error("a plan", error)
        return TfIdfSpread.for_error(error, self._rarity, self.confidence).dimensions

    def _sparse(self, decision: Decision) -> Decision | None:
        """The decision where some document meets Lemma 2's condition on single words."""
        room = decision.largest_weight
        return decision if room is not None and self._weight <= room else None

    @property
    def _rarity(self) -> float:
        return 0.0 if self.sample is None else self.sample.rarity

    @property
    def _weight(self) -> float:
        """‖x‖∞ of the document that comes nearest to what Eq. 6 asks for.

        At least half of it is that of a sum of two documents, whose length is 2 at most.
        """
        if self.sample is None:
            return 0.0
        return float(self.sample.largest_weights.min(initial=1.0))

    def _guarantees(self, m: int, found: Distortion | None) -> list[Guarantee]:
        def line(what: str, by: str, confidence: float, error: float | None) -> Guarantee:
            errors: Errors | None = getattr(found, what, None)
            measured = None if errors is None else errors.quantile(confidence)
            return Guarantee(what, by, confidence, error, measured)

        p, weight, sketch = self.confidence, self._weight, CountMin(m)
        spread = TfIdfSpread(m, self._rarity, p)
        decision = Decision(m, self.settings.max_labels, p)
        lemma_2 = self._sparse(decision)
        lines = [
            line("lengths", "Theorem 1", p, Norms(m, p, weight).error),
            line("lengths", "second moments", p, below(spread.error)),
            line("products", "Eq. 8", p, Products(m, p, weight / 2).error),
            line("products", "second moments", p, below(spread.product_error)),
            line("counts", "Theorem 2", sketch.confidence, sketch.error),
            line("decisions", "Lemma 2", p, None if lemma_2 is None else lemma_2.margin),
            line("decisions", "second moments", p, decision.by_second_moments),
        ]
        if self.sample is not None and self.sample.idf:
            idf, highest = Idf(m, self.sample.total), math.log(self.sample.documents)
            proposition = TfIdf(m, self.sample.total, HALF)
            lines += [
                line("idf", "Lemma 1", idf.confidence, below(idf.stated, highest)),
                line("idf", "Eq. 22", idf.confidence, below(idf.error, highest)),
                line("lengths", "Proposition 1", HALF, proposition.error),
            ]
        return lines

    def _expected(self, m: int) -> dict[str, float]:
        """What the mean errors are at most, by the theory."""
        mean = TfIdfSpread(m, self._rarity).mean_error
        expected = {"lengths": mean, "products": mean, "counts": 1.0 / m}
        if self.sample is not None and self.sample.idf:
            words, total = self.sample.frequencies.tolist(), self.sample.total
            expected["idf"] = sum(Idf(m, total, f).expected for f in words) / max(1, len(words))
        return expected


def below(error: float | None, limit: float = 1.0) -> float | None:
    """An error that says something; None where anything at all would fulfil it."""
    return error if error is not None and error < limit else None
