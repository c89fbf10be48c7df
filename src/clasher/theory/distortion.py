"""Measure how much hashing distorts a sample of text.

The exact side counts the words of the sample. The hashed side is what a model has after the same
documents: the signed counts of Algorithm 2, the frequencies and IDF of Algorithm 3. Both weigh
documents as the model does: a pair of words counts ½, and the margin rule weighs first words more.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import StreamError, require
from clasher.kernels.sketch import LEAD
from clasher.settings import Settings
from clasher.text.analyzer import Analyzer
from clasher.text.hashing import Hasher

PAIRS = 5  # pairs per document whose inner products are compared
MOST_PAIRS = 5_000

Floats = npt.NDArray[np.float64]


class Vectors(NamedTuple):
    """Sparse rows; entries are in the order in which the words of a document first appear."""

    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: Floats

    def totals(self, values: Floats) -> Floats:
        """Add up ``values``, one per entry, over each row."""
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return np.bincount(rows, values, len(self.indptr) - 1).astype(np.float64)

    def squared_lengths(self) -> Floats:
        """Return ‖x‖² of each row."""
        return self.totals(self.values**2)

    def products(self, pairs: npt.NDArray[np.int64]) -> Floats:
        """Return ⟨x, y⟩ of pairs of rows."""
        rows = [slice(*bounds) for bounds in pairwise(self.indptr)]
        dense = np.zeros(int(self.columns.max(initial=-1)) + 1)
        found = np.empty(len(pairs))
        for at, (left, right) in enumerate(pairs):
            dense[self.columns[rows[left]]] = self.values[rows[left]]
            found[at] = dense[self.columns[rows[right]]] @ self.values[rows[right]]
            dense[self.columns[rows[left]]] = 0.0
        return found

    def weighed(self, idf: Floats | None, log_tf: bool, lead: bool = False) -> Self:
        """Weigh signed counts as a model does; ``idf`` has a value per column."""
        weights = self.values
        if log_tf:
            size = np.abs(weights)
            logs = np.sign(weights) * (1.0 + np.log(np.maximum(size, 1.0)))
            weights = np.where(size > 1.0, logs, weights)
        if idf is not None:
            weights = weights * idf[self.columns]
        if lead:
            places = np.arange(len(weights)) - np.repeat(self.indptr[:-1], np.diff(self.indptr))
            first = places < len(LEAD)
            weights = np.where(first, weights * LEAD[np.where(first, places, 0)], weights)
        return self._replace(values=weights)


class Sample:
    """Documents with exact counts of words.

    Parameters
    ----------
    texts, analyzer
        The documents, at least two, and how to cut them into words.
    idf
        Whether to weigh documents by TF-IDF, or by TF.
    log_tf
        Whether a count above 1 weighs 1 + ln(count). The theorems are about plain counts.
    lead
        Whether first words weigh more, as with the margin rule.
    seed
        Seed of the choice of pairs of documents.

    Examples
    --------
    >>> sample = Sample(["wheat and corn", "corn and oil", "oil"])
    >>> len(sample.frequencies), sample.total
    (4, 7)
    """

    def __init__(
        self, texts: Iterable[str], analyzer: Analyzer | None = None, *, idf: bool = True,
        log_tf: bool = False, lead: bool = False, seed: int = 0,
    ) -> None:  # fmt: skip
        self.texts = list(texts)
        self.analyzer = Analyzer() if analyzer is None else analyzer
        self.idf, self.log_tf, self.lead = idf, log_tf, lead
        if len(self.texts) < 2:
            raise StreamError("a sample to measure on needs at least two documents")
        hasher = Hasher(2, analyzer=self.analyzer)
        numbers: dict[int, int] = {}
        found = [hasher.words(text) for text in self.texts]
        every = [word for words in found for word in words]
        self.words = np.array([numbers.setdefault(word.key, len(numbers)) for word in every], int)
        self.keys = list(numbers)  # the hash of each word, with seed 0
        rows = np.repeat(np.arange(len(found)), [len(words) for words in found])
        _, first, entries = np.unique(
            rows * max(1, len(numbers)) + self.words, return_index=True, return_inverse=True
        )
        counts = np.bincount(entries, [abs(word.sign) for word in every], len(first))
        order = np.argsort(first)  # of appearance
        columns = self.words[first[order]]
        indptr = np.searchsorted(rows[first[order]], np.arange(len(found) + 1))
        self.counts = Vectors(indptr, columns, counts[order].astype(np.float64))
        self.frequencies = np.bincount(columns, minlength=len(numbers))
        random = np.random.default_rng(seed)
        pairs = min(PAIRS * self.documents, MOST_PAIRS)
        first = random.integers(0, self.documents, pairs)
        other = (first + random.integers(1, self.documents, pairs)) % self.documents
        self.pairs = np.stack([first, other], axis=1)

    @classmethod
    def of(cls, texts: Iterable[str], settings: Settings) -> Self:
        """Make a sample that weighs documents as a model with these settings.

        A weighting that uses labels is measured as TF-IDF if it has an IDF, else as TF.
        """
        how = settings.for_kernels()
        return cls(texts, settings.analyzer, idf=how.idf, log_tf=how.log_tf, lead=how.lead)

    def is_of(self, settings: Settings) -> bool:
        """Tell whether a model with these settings cuts and weighs documents like this sample."""
        how = settings.for_kernels()
        weighed = (self.idf, self.log_tf, self.lead) == (how.idf, how.log_tf, how.lead)
        return weighed and self.analyzer == settings.analyzer

    @property
    def documents(self) -> int:
        """n, the number of documents."""
        return len(self.texts)

    @property
    def total(self) -> int:
        """‖f‖, the sum of all document frequencies."""
        return int(self.frequencies.sum())

    @cached_property
    def exact(self) -> Vectors:
        """The documents as exact TF or TF-IDF vectors (Eq. 1 to 3), before any scaling."""
        return self.weigh(self.counts, self.frequencies)

    @cached_property
    def rarity(self) -> float:
        """Mean ρ of `clasher.theory.TfIdfSpread` over the documents; 0 for TF.

        With the mean, the bound is about a random document of the sample.
        """
        if not self.idf:
            return 0.0
        counts = self.counts.weighed(None, self.log_tf, self.lead)
        parts = counts.values**2 * (self.total / self.frequencies - 1.0)[counts.columns]
        length = self.exact.squared_lengths()
        return float((counts.totals(parts)[length > 0] / length[length > 0]).mean())

    @property
    def largest_weights(self) -> Floats:
        """‖x‖∞ of each document with a length, scaled to unit length (Eq. 6)."""
        return self._largest[self.exact.squared_lengths() > 0]

    @cached_property
    def pair_weights(self) -> Floats:
        """Upper bounds of ‖x ± y‖∞ at unit length (Eq. 8), for pairs with lengths."""
        lengths = np.sqrt(self.exact.squared_lengths())
        pairs = self.pairs[(lengths[self.pairs] > 0).all(axis=1)]
        cosines = self.exact.products(pairs) / lengths[pairs].prod(axis=1)
        apart = np.sqrt(np.maximum(2.0 - 2.0 * np.abs(cosines), np.finfo(np.float64).tiny))
        return np.asarray(self._largest[pairs].sum(axis=1) / apart)

    @cached_property
    def _largest(self) -> Floats:
        length = np.sqrt(self.exact.squared_lengths())
        rows = zip(pairwise(self.exact.indptr), length, strict=True)
        values = np.abs(self.exact.values)
        return np.array([values[a:b].max() / norm if norm > 0 else 0.0 for (a, b), norm in rows])

    def to_dict(self) -> dict[str, Any]:
        """Describe the sample, ready for JSON."""
        return {
            "documents": self.documents,
            "words": len(self.frequencies),
            "total_frequency": self.total,
            "rarity": self.rarity,
            "least_largest_weight": float(self.largest_weights.min(initial=1.0)),
        }

    def weigh(self, counts: Vectors, frequencies: npt.NDArray[np.int64]) -> Vectors:
        """Weigh signed counts, with the IDF log(n/f) of these frequencies."""
        idf = np.log(self.documents / np.maximum(frequencies, 1)) if self.idf else None
        return counts.weighed(idf, self.log_tf, self.lead)

    def hashed(self, dimensions: int, seed: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
        """Hash and weigh the documents; return them and the frequencies of buckets."""
        found = Hasher(dimensions, seed, self.analyzer).hash_many(self.texts)
        frequencies = np.bincount(found.buckets, minlength=dimensions)
        counts = found.counts.astype(np.float64)
        signed = Vectors(found.indptr, found.buckets.astype(np.int64), counts)
        return self.weigh(signed, frequencies), frequencies


class Errors:
    """Measured errors: ``values`` in ascending order, ``each`` as they were measured."""

    def __init__(self, each: Floats) -> None:
        self.each, self.values = each, np.sort(each)

    @property
    def mean(self) -> float:
        """The mean, 0 for no errors."""
        return float(self.values.mean()) if len(self.values) else 0.0

    def quantile(self, part: float) -> float:
        """Return the least error that this part of the errors does not exceed.

        >>> errors = Errors(np.array([0.3, 0.1, 0.2, 0.4]))
        >>> errors.quantile(0.5), errors.quantile(0.51), errors.quantile(1.0)
        (0.2, 0.3, 0.4)
        """
        if not len(self.values):
            return 0.0
        return float(self.values[max(1, math.ceil(part * len(self.values))) - 1])

    def to_dict(self) -> dict[str, float]:
        """Return the mean and some quantiles."""
        parts = {"median": 0.5, "q90": 0.9, "q99": 0.99, "max": 1.0}
        return {"mean": self.mean} | {name: self.quantile(at) for name, at in parts.items()}


@dataclass(frozen=True, eq=False)
class Distortion:
    """The errors of hashing a sample.

    Attributes
    ----------
    dimensions : int
        m.
    lengths : Errors
        | ‖φ(d)‖² / ‖x‖² − 1 |, for each document with a length.
    products : Errors
        | ⟨φ(x), φ(y)⟩ − ⟨x, y⟩ | / (‖x‖ ‖y‖), for pairs of such documents.
    cosines : Errors
        The same with each side divided by its own lengths, as a model with unit length does.
    counts : Errors
        (C_k − f) / ‖f‖ for each word, the overestimate of its frequency.
    idf : Errors
        IDF − IDF* for each word, the underestimate of its IDF.
    """

    dimensions: int
    lengths: Errors
    products: Errors
    cosines: Errors
    counts: Errors
    idf: Errors

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found = vars(self).items()
        return {name: errors.to_dict() for name, errors in found if isinstance(errors, Errors)}


def measure(sample: Sample, dimensions: int, seed: int = 0) -> Distortion:
    """Hash a sample and compare it with the exact counts; ``seed`` is that of the hash functions.

    Examples
    --------
    >>> sample = Sample(["wheat and corn", "corn and oil", "oil and gas", "gas and wheat"])
    >>> found = measure(sample, 4096)
    >>> found.counts.quantile(1.0), found.lengths.quantile(1.0) < 1e-6
    (0.0, True)
    """
    require(dimensions >= 2, "dimensions", "an integer of at least 2", dimensions, "measure")
    hashed, frequencies = sample.hashed(dimensions, seed)
    exact, found = sample.exact.squared_lengths(), hashed.squared_lengths()
    pairs = sample.pairs[(exact[sample.pairs] > 0).all(axis=1)]
    products, hashed_products = sample.exact.products(pairs), hashed.products(pairs)
    scale = np.sqrt(exact[pairs].prod(axis=1))
    hashed_scale = np.maximum(np.sqrt(found[pairs].prod(axis=1)), np.finfo(np.float64).tiny)
    hasher = Hasher(dimensions, seed, sample.analyzer)
    buckets = np.zeros(len(sample.frequencies), np.int64)  # of each word
    words = (word.bucket for text in sample.texts for word in hasher.words(text))
    buckets[sample.words] = np.fromiter(words, np.int64, len(sample.words))
    estimates = frequencies[buckets]
    return Distortion(
        dimensions,
        lengths=length_errors(sample, hashed),
        products=Errors(np.abs(hashed_products - products) / scale),
        cosines=Errors(np.abs(hashed_products / hashed_scale - products / scale)),
        counts=Errors((estimates - sample.frequencies) / max(1, sample.total)),
        idf=Errors(np.log(estimates / sample.frequencies)),
    )


def length_errors(sample: Sample, hashed: Vectors) -> Errors:
    """Measure the lengths of hashed documents alone, which is quick."""
    exact = sample.exact.squared_lengths()
    some = exact > 0
    return Errors(np.abs(hashed.squared_lengths()[some] / exact[some] - 1.0))
