"""Section 3.6 in plain Python: weightings that use labels, from exact counts and online.

Everything follows from the paper's four counts by textbook formulas:

    A  documents with the word and the label        B  with the label, without the word
    C  with the word, without the label             D  with neither
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

WITH_IDF = ("tfidf", "icf", "icsdf")
"""Weightings that scale TF-IDF instead of TF."""

SHRINK = 5  # a label with this many documents counts half


class Table(NamedTuple):
    """The four counts of one word and one label."""

    A: float
    B: float
    C: float
    D: float

    @property
    def N(self) -> float:  # noqa: N802 - the paper's letter
        return self.A + self.B + self.C + self.D


def chi_squared(t: Table) -> float:
    """N·(AD − BC)² / ((A+C)(B+D)(A+B)(C+D))."""
    margins = (t.A + t.C) * (t.B + t.D) * (t.A + t.B) * (t.C + t.D)
    return t.N * (t.A * t.D - t.B * t.C) ** 2 / margins if margins else 0.0


def entropy(*counts: float) -> float:
    """Return the entropy of a distribution given by counts, in nats."""
    total = sum(counts)
    return -math.fsum(c / total * math.log(c / total) for c in counts if c > 0)


def impurity(*counts: float) -> float:
    """Return Gini's impurity: the probability that two draws differ."""
    total = sum(counts)
    return 1 - math.fsum((c / total) ** 2 for c in counts)


def decrease(disorder: Callable[..., float], t: Table) -> float:
    """Return by how much knowing the word lowers the disorder of the label."""
    after = math.fsum(
        sum(side) / t.N * disorder(*side) for side in ((t.A, t.C), (t.B, t.D)) if sum(side)
    )
    return disorder(t.A + t.B, t.C + t.D) - after


def evidence_of_information(t: Table) -> float:
    """2N times the information gain: the G statistic."""
    return 2 * t.N * decrease(entropy, t)


def evidence_of_gini(t: Table) -> float:
    """N times the decrease of Gini's impurity."""
    return t.N * decrease(impurity, t)


def log_odds_ratio(t: Table) -> float:
    """ln(AD / BC) with a half added to every count; 0 if the word speaks against the label."""
    return max(0.0, math.log((t.A + 0.5) * (t.D + 0.5) / ((t.B + 0.5) * (t.C + 0.5))))


Combination = Callable[[list[float]], float]

STATISTICS: dict[str, tuple[Callable[[Table], float], Combination, bool]] = {
    "chi2": (chi_squared, max, True),
    "ig": (evidence_of_information, math.fsum, True),
    "or": (log_odds_ratio, max, False),
    "gini": (evidence_of_gini, math.fsum, True),
}
"""By weighting: a statistic, how to combine it over labels, whether to take ln(1 + result)."""


class Classes:
    """Exact counts of labelled documents, by word and by label."""

    def __init__(self) -> None:
        self.documents = 0
        self.with_label: Counter[str] = Counter()
        self.with_word: Counter[Hashable] = Counter()
        self.with_both: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)

    def count(self, words: Iterable[Hashable], yes: Iterable[str]) -> None:
        """Count a labelled document; absent and unknown labels add nothing."""
        words, yes = set(words), set(yes)
        self.documents += 1
        self.with_label.update(yes)
        self.with_word.update(words)
        for word in words:
            self.with_both[word].update(yes)

    def table(self, word: Hashable, label: str) -> Table:
        both = self.with_both[word][label]
        label_only, word_only = self.with_label[label] - both, self.with_word[word] - both
        return Table(both, label_only, word_only, self.documents - both - label_only - word_only)

    def class_frequency(self, word: Hashable) -> int:
        """c(t): the number of labels that the word came with."""
        return sum(n > 0 for n in self.with_both[word].values())

    def density(self, word: Hashable) -> float:
        """CS_δ(t) = Σ_k n_k(t) / N_k."""
        both = self.with_both[word].items()
        return math.fsum(n / self.with_label[k] for k, n in both if n > 0)

    def statistics(self, word: Hashable, of: Callable[[Table], float]) -> list[float]:
        """Return a statistic for each label that the word came with, shrunk for rare labels."""
        return [
            of(self.table(word, k)) * self.with_label[k] / (self.with_label[k] + SHRINK)
            for k, n in self.with_both[word].items()
            if n > 0
        ]


def batch_factor(weighting: str, classes: Classes, labels: int, word: Hashable) -> float:
    """Return the factor of a word's weight, from exact counts of ``labels`` labels."""
    if weighting == "icf":
        return 1 + math.log(labels / max(classes.class_frequency(word), 1)) if labels else 1.0
    if weighting == "icsdf":
        least = 1 / classes.documents if classes.documents else 1.0
        return 1 + math.log(labels / max(classes.density(word), least)) if labels else 1.0
    of, combine, takes_log = STATISTICS[weighting]
    found = combine(classes.statistics(word, of) or [0.0])
    return 1 + (math.log(1 + found) if takes_log else found)


class OnlineClasses(Classes):
    """The same with buckets as words, whose factors are updated from time to time only."""

    def __init__(self, weighting: str) -> None:
        super().__init__()
        self.weighting = weighting
        self.kept: dict[Hashable, float] = {}

    def count_and_look(self, words: Iterable[Hashable], yes: Iterable[str]) -> None:
        words = set(words)
        self.count(words, yes)
        for word in words:
            if self.weighting == "icf" or is_due(self.with_word[word]):
                self.kept[word] = self.look(word)

    def look(self, word: Hashable) -> float:
        """Return the part that does not depend on later labels and documents."""
        if self.weighting == "icf":
            return float(self.class_frequency(word))
        if self.weighting == "icsdf":
            return self.density(word) * self.documents
        return batch_factor(self.weighting, self, len(self.with_label), word)

    def factor(self, word: Hashable, labels: int) -> float:
        if self.weighting not in ("icf", "icsdf"):
            return self.kept.get(word, 1.0)
        most = labels if self.weighting == "icf" else labels * self.documents
        return 1 + math.log(most / max(self.kept.get(word, 1.0), 1.0)) if most else 1.0


def is_due(documents: int) -> bool:
    """Every document up to the 8th, then every 2nd, 4th, … of the next 8, 16, …."""
    return documents % 2 ** max(documents.bit_length() - 3, 0) == 0
