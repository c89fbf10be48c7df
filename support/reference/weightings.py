"""Section 3.6 in plain Python: what labels tell of words, from exact counts and online.

Everything is computed from the four counts of the paper, by their textbook formulas:

    A  documents with the word and the label        B  with the label, without the word
    C  with the word, without the label             D  with neither
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

SHRINK = 5  # documents of a label at which its statistic counts half


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
    """Of a distribution given by counts, in nats."""
    total = sum(counts)
    return -math.fsum(c / total * math.log(c / total) for c in counts if c > 0)


def impurity(*counts: float) -> float:
    """Gini's: the probability that two draws differ."""
    total = sum(counts)
    return 1 - math.fsum((c / total) ** 2 for c in counts)


def decrease(disorder: Callable[..., float], t: Table) -> float:
    """By how much knowing of the word lowers the disorder of the label."""
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
    """ln(AD / BC) with a half added to every count, where the word speaks for the label."""
    return max(0.0, math.log((t.A + 0.5) * (t.D + 0.5) / ((t.B + 0.5) * (t.C + 0.5))))


class Classes:
    """Exact counts of labelled documents, by word and by label."""

    def __init__(self) -> None:
        self.documents = 0
        self.with_label: Counter[str] = Counter()
        self.with_word: Counter[Hashable] = Counter()
        self.with_both: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)

    def count(self, words: Iterable[Hashable], yes: Iterable[str]) -> None:
        """A labelled document; labels that are denied or unknown add nothing."""
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
        """c(t): the labels the word was seen with."""
        return sum(n > 0 for n in self.with_both[word].values())

    def density(self, word: Hashable) -> float:
        """CS_δ(t) = Σ_k n_k(t) / N_k."""
        both = self.with_both[word].items()
        return math.fsum(n / self.with_label[k] for k, n in both if n > 0)

    def statistics(self, word: Hashable, of: Callable[[Table], float]) -> list[float]:
        """One for each label the word was seen with, shrunk where the label is rare."""
        return [
            of(self.table(word, k)) * self.with_label[k] / (self.with_label[k] + SHRINK)
            for k, n in self.with_both[word].items()
            if n > 0
        ]


def batch_factor(weighting: str, classes: Classes, labels: int, word: Hashable) -> float:
    """What the weight of a word is multiplied by, from exact counts of ``labels`` labels."""
    if weighting == "icf":
        return 1 + math.log(labels / max(classes.class_frequency(word), 1)) if labels else 1.0
    if weighting == "icsdf":
        least = 1 / classes.documents if classes.documents else 1.0
        return 1 + math.log(labels / max(classes.density(word), least)) if labels else 1.0
    if weighting == "or":
        return 1 + max(classes.statistics(word, log_odds_ratio), default=0.0)
    if weighting == "chi2":
        return 1 + math.log(1 + max(classes.statistics(word, chi_squared), default=0.0))
    of = {"ig": evidence_of_information, "gini": evidence_of_gini}[weighting]
    return 1 + math.log(1 + math.fsum(classes.statistics(word, of)))


class OnlineClasses(Classes):
    """The same, looked at again only now and then: words are buckets here."""

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
        """What does not hang on how many labels and documents will have come when it is used."""
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
