"""Plan the dimensions of a model: by memory, by guarantees, by measurements.

A result is a guarantee only if its premises hold for the planned model. Otherwise the plan says
which premise fails.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError
from clasher.learning import memory
from clasher.settings import GIVEN, MEASURES, Settings
from clasher.theory import LEAST_CONFIDENCE, CountMin, Decision, Idf, Norms, Products, TfIdfSpread
from clasher.theory.bounds import SMALLEST, below, check
from clasher.theory.distortion import Distortion, Errors, Sample, length_errors, measure

MOST_DIMENSIONS = 2**30
AROUND = 2  # sizes shown on either side of the proposed one
HALF = 0.5  # the confidence for Proposition 1, which has none above 0.632
MEASURED_FROM = 2**16  # the first size to measure
MOST_MEASURED = 2**24  # and the largest

# Why a result guarantees nothing.
TOO_SMALL = "says nothing at so few dimensions"
NO_IDF = "there is no IDF"
NO_SAMPLE = "TF-IDF depends on how rare words are: give a STREAM"
PROPOSITION_1 = "its proof has gaps (docs/explanation/theorems.md)"


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of one result at one size, and the measured error.

    If the result covers a ``share`` of the sample only, that share was measured.
    """

    what: str  # hashing preserves
    by: str  # the result
    confidence: float
    guaranteed: float | None  # bound on the error; None if nothing is said about model or size
    measured: float | None  # error that a part ``confidence`` of the sample does not exceed
    share: float | None = None  # of documents or pairs that meet the result's premise
    why: str | None = None  # the premise that fails or is unknown, if nothing is guaranteed


@dataclass(frozen=True)
class Need:
    """The dimensions that one result needs; None, and ``why``, if it gives no guarantee."""

    what: str
    by: str
    confidence: float
    dimensions: int | None
    depth: int = 1
    why: str | None = None


@dataclass(frozen=True)
class Size:
    """One row of a plan: dimensions, bytes, guarantees and measured distortion."""

    dimensions: int
    nbytes: int
    guarantees: list[Guarantee]
    expected: dict[str, float]
    distortion: Distortion | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = vars(self) | {"guarantees": [asdict(each) for each in self.guarantees]}
        found = values.pop("distortion")
        return values | {"measured": None if found is None else found.to_dict()}


@dataclass(frozen=True)
class Premises:
    """Why results do not cover a model, or None if they do."""

    plain: str | None  # Theorem 1, Eq. 8: a document's vector is a linear map of its counts (TF)
    moments: str | None  # second moments: the same, or TF-IDF with a known rarity of words
    counts: str | None  # Theorem 2: words are counted in hashed buckets
    idf: str | None  # Lemma 1, Eq. 22: ‖f‖ is known, and no frequency fades below 1
    regions: str | None  # decisions: Euclidean regions, prototypes are means of linear vectors
    lemma_2: str  # needs Eq. 6 for prototypes, which are unknown before learning

    @classmethod
    def of(cls, settings: Settings, sample: Sample | None) -> Self:
        setting = settings.for_kernels()
        linear = given = None
        if settings.weighting == GIVEN:
            linear = given = "documents come with weights, no word is hashed"
        elif settings.weighting in MEASURES:
            linear = f"{settings.weighting} weighs words by their labels"
        elif setting.log_tf:
            linear = "tf=log takes logarithms, which are not linear"
        elif setting.lead:
            linear = "the margin rule weighs the first words more"
        plain = linear or ("it covers TF, not TF-IDF" if setting.idf else None)
        idf: str | None = given or NO_IDF
        if setting.idf:
            idf = NO_SAMPLE if sample is None else None
            if settings.forgets:
                idf = "half_life and detectors let frequencies fade"
        moments = linear or (idf if setting.idf else None)
        regions = plain
        if plain is None and settings.similarity != "euclidean":
            regions = "it covers Euclidean regions, not cosines"
        elif plain is None and settings.norm != "none":
            regions = "norm=l2 divides by lengths, which is not linear"
        elif plain is None and settings.rule != "centroid":
            regions = f"it covers means of documents, not the {settings.rule} rule"
        lemma_2 = regions or "Eq. 6 for prototypes: unknown before learning"
        return cls(plain, moments, given, idf, regions, lemma_2)


@dataclass(frozen=True)
class Planner:
    """Plan the size of a model.

    Parameters
    ----------
    settings
        The settings of the model, whose dimensions do not matter.
    confidence
        The probability of a guarantee, more than 0.7.
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
        check("a plan", "confidence", self.confidence, LEAST_CONFIDENCE, 1.0)
        if self.sample is not None and not self.sample.is_of(self.settings):
            raise SettingError(
                "the sample weighs documents differently from the planned model; make it with "
                "Sample.of(texts, settings)"
            )

    def nbytes(self, dimensions: int) -> int:
        """Return the bytes of a model of this size if every word has met every label."""
        settings = replace(self.settings, dimensions=dimensions)
        return memory.nbytes(settings, settings.max_labels)

    def fitting(self, limit: int) -> int:
        """Return the largest power of two whose model never takes more than ``limit`` bytes."""
        for power in range(MOST_DIMENSIONS.bit_length() - 1, 0, -1):
            if self.nbytes(1 << power) <= limit:
                return 1 << power
        raise SettingError(
            f"{limit:,} bytes are too few for a model of {self.settings.max_labels:,} labels: 2 "
            f"dimensions take {self.nbytes(2):,}; allow more memory or fewer labels"
        )

    def sizes(self, dimensions: int) -> list[Size]:
        """Return a size and its neighbours, each twice as large as the one before."""
        around = (dimensions * 2.0**step for step in range(-AROUND, AROUND + 1))
        return [self.size(int(m)) for m in around if 2 <= m <= MOST_DIMENSIONS]

    def size(self, dimensions: int) -> Size:
        """Return the bytes, guarantees and measurements of one size."""
        sample, seed = self.sample, self.settings.seed
        found = None if sample is None else measure(sample, dimensions, seed)
        guarantees, expected = self._guarantees(dimensions, found), self._expected(dimensions)
        return Size(dimensions, self.nbytes(dimensions), guarantees, expected, found)

    def needs(self, error: float) -> list[Need]:
        """Return the dimensions that each result needs for an error."""
        check("a plan", "error", error, SMALLEST, 1.0)
        p, premises = self.confidence, self._premises
        sketch = CountMin.for_error(error, p)
        depth, counts = sketch.depth, None if premises.counts else sketch.dimensions
        moments = None if premises.moments else self._spread(error)
        needs = [
            self._sparse_need("lengths", "Theorem 1", Norms.for_error(error, p)),
            self._sparse_need("products", "Eq. 8", Products.for_error(error, p)),
            Need("lengths", "second moments", p, moments, why=premises.moments),
            Need("counts", "Theorem 2", sketch.confidence, counts, depth, premises.counts),
            Need("decisions", "Lemma 2", p, None, why=premises.lemma_2),
        ]
        if premises.idf is not NO_IDF:
            found = Idf.for_error(error, self._total, depth=depth)
            idf = found.dimensions if premises.idf is None else None
            needs += [
                Need("idf", "Eq. 22", sketch.confidence, idf, depth, premises.idf),
                Need("lengths", "Proposition 1", HALF, None, why=PROPOSITION_1),
            ]
        return needs

    @property
    def guaranteed(self) -> bool:
        """Whether `sufficient` uses a proved bound, not the sample."""
        return self._premises.moments is None

    def sufficient(self, error: float) -> int:
        """Find the least power of two that keeps the lengths of documents within an error.

        By second moments if they are proved for the model. Otherwise by measuring the sample, of
        which a part ``confidence`` must stay within the error.
        """
        check("a plan", "error", error, SMALLEST, 1.0)
        if self.guaranteed:
            needed = self._spread(error)
            if needed > MOST_DIMENSIONS:
                raise SettingError(
                    f"an error of {error:g} needs {needed:.2g} dimensions, more than the possible "
                    f"{MOST_DIMENSIONS:,}; allow a larger error or less confidence"
                )
            return max(2, 1 << (needed - 1).bit_length())
        if self.sample is None:
            raise SettingError(
                f"no theorem bounds the error of this model ({self._premises.moments}); give a "
                f"STREAM to measure the error on, or plan for term frequencies: --rule centroid "
                f"--weighting tf --tf count"
            )
        sample, seed = self.sample, self.settings.seed

        def keeps(dimensions: int) -> bool:
            found = length_errors(sample, sample.hashed(dimensions, seed)[0])
            return found.quantile(self.confidence) <= error

        size = MEASURED_FROM
        while size <= MOST_MEASURED and not keeps(size):
            size *= 2
        if size > MOST_MEASURED:
            raise SettingError(
                f"the sample exceeds an error of {error:g} even with {MOST_MEASURED:,} dimensions; "
                f"allow a larger error or less confidence"
            )
        while size <= MEASURED_FROM and size > 2 and keeps(size // 2):
            size //= 2
        return size

    def _spread(self, error: float) -> int:
        return TfIdfSpread.for_error(error, self._rarity, self.confidence).dimensions

    @property
    def _premises(self) -> Premises:
        return Premises.of(self.settings, self.sample)

    @property
    def _rarity(self) -> float:
        return 0.0 if self.sample is None else self.sample.rarity

    @property
    def _total(self) -> int:
        return 0 if self.sample is None else self.sample.total

    def _sparse(self, bound: Norms | Products) -> tuple[npt.NDArray[np.bool_] | None, str | None]:
        """Tell which documents, or pairs of them, meet Eq. 6, or why the bound says nothing."""
        why, room = self._premises.plain, bound.largest_weight
        if why is not None:
            return None, why
        if room is None:
            return None, TOO_SMALL
        allowed = f"Eq. 6 allows no word more than {room:.2g} of a document's length"
        if self.sample is None:
            return None, f"{allowed}; give a STREAM to see whether yours do"
        of_pairs = isinstance(bound, Products)
        weights = self.sample.pair_weights if of_pairs else self.sample.largest_weights
        meets = weights <= room
        if meets.any():
            return meets, None
        return None, f"{allowed}; here one has {weights.min(initial=1.0):.2g} or more"

    def _sparse_need(self, what: str, by: str, bound: Norms | Products | None) -> Need:
        assert bound is not None  # without a weight, Eq. 6 is skipped
        meets, why = self._sparse(bound)
        if meets is not None and not meets.all():
            why = f"only {meets.mean():.0%} of the sample meet Eq. 6"
        return Need(what, by, self.confidence, None if why else bound.dimensions, why=why)

    def _guarantees(self, m: int, found: Distortion | None) -> list[Guarantee]:
        def line(
            what: str, by: str, confidence: float, why: str | None, error: float | None = None,
            meets: npt.NDArray[np.bool_] | None = None,
        ) -> Guarantee:  # fmt: skip
            errors: Errors | None = getattr(found, what, None)
            if errors is not None and meets is not None:
                errors = Errors(errors.each[meets])
            measured = None if errors is None else errors.quantile(confidence)
            if why is not None or error is None:
                why = why or TOO_SMALL
                return Guarantee(what, by, confidence, None, measured, why=why)
            covered = 1.0 if meets is None else float(meets.mean())
            share = None if found is None else covered
            return Guarantee(what, by, confidence, error, measured, share)

        def sparse(what: str, by: str, bound: Norms | Products) -> Guarantee:
            meets, why = self._sparse(bound)
            return line(what, by, p, why, bound.error, meets)

        p, premises, sketch = self.confidence, self._premises, CountMin(m)
        moments, spread = premises.moments, TfIdfSpread(m, self._rarity, p)
        margin = Decision(m, self.settings.max_labels, p).by_second_moments
        lines = [
            sparse("lengths", "Theorem 1", Norms(m, p)),
            line("lengths", "second moments", p, moments, below(spread.error)),
            sparse("products", "Eq. 8", Products(m, p)),
            line("products", "second moments", p, moments, below(spread.product_error)),
            line("cosines", "second moments", p, moments, spread.cosine_error),
            line("counts", "Theorem 2", sketch.confidence, premises.counts, sketch.error),
            line("decisions", "Lemma 2", p, premises.lemma_2),
            line("decisions", "second moments", p, premises.regions, margin),
        ]
        if premises.idf is not NO_IDF:
            idf, why = Idf(m, self._total), premises.idf
            highest = 0.0 if self.sample is None else math.log(self.sample.documents)
            lines += [
                line("idf", "Lemma 1", idf.confidence, why, below(idf.stated, highest)),
                line("idf", "Eq. 22", idf.confidence, why, below(idf.error, highest)),
                line("lengths", "Proposition 1", HALF, PROPOSITION_1),
            ]
        return lines

    def _expected(self, m: int) -> dict[str, float]:
        """Bound the mean errors that the theory covers."""
        premises = self._premises
        expected: dict[str, float] = {}
        if premises.moments is None:
            mean = TfIdfSpread(m, self._rarity).mean_error
            expected |= {"lengths": mean, "products": mean}
        if premises.counts is None:
            expected["counts"] = 1.0 / m
        if self.sample is not None and premises.idf is None:
            words, total = self.sample.frequencies.tolist(), self.sample.total
            expected["idf"] = sum(Idf(m, total, f).expected for f in words) / max(1, len(words))
        return expected
