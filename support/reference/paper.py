"""The paper in plain Python: slow, obvious, and the oracle of the kernels.

It does not import the package under test. Documents come hashed, as a list of ``(bucket, sign)``
pairs, one per word occurrence, or of ``(bucket, sign, cell, …)`` with the word's cells in further
rows of the sketch. Vectors are dictionaries. Prototypes are the paper's means, not sums. Local
statistics are exact fractions, so ``F̂ > θ`` never depends on rounding.

    documents ─▶ Sketch (Algorithms 2, 3) ─▶ Regions (Algorithms 4, 5) ─▶ a rule (Eq. 13):
        PaperClasher       Algorithm 5 (rule "centroid") or Algorithm 6 (rule "mistake")
        PerceptronClasher  one perceptron per label: binary relevance, the paper's baseline
        MarginClasher      Mode 3, in ``margin.py``

Letters follow the paper: ``n`` and ``C`` of Algorithm 3, ``p_i``, ``n_i``, ``λ_i`` and ``F̂_ij``
of Algorithms 4 to 6. Labels are numbered by first appearance: by document, then by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from support.reference.weightings import WITH_IDF, OnlineClasses

Document = Sequence[tuple[int, ...]]
Labels = Collection[str] | Mapping[str, bool] | None
Vector = dict[int, float]


# ── Vectors ──────────────────────────────────────────────────────────────────────────────────────


def inner(u: Vector, v: Vector) -> float:
    """⟨u, v⟩."""
    return math.fsum(u[k] * v[k] for k in u if k in v)


def length(v: Vector) -> float:
    return math.sqrt(inner(v, v))


def cosine(u: Vector, v: Vector) -> float:
    """⟨u, v⟩ / (|u||v|), and 0 if one of them is 0."""
    lengths = length(u) * length(v)
    return inner(u, v) / lengths if lengths > 0 else 0.0


def squared_distance(u: Vector, v: Vector) -> float:
    """|u − v|²."""
    return math.fsum((u.get(k, 0.0) - v.get(k, 0.0)) ** 2 for k in u.keys() | v.keys())


def is_zero(v: Vector) -> bool:
    return not any(v.values())


def sigmoid(z: float) -> float:
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    return math.exp(z) / (1 + math.exp(z))


def log_odds(probability: float) -> float:
    """The z with σ(z) = probability."""
    return math.log(probability / (1 - probability))


# ── Section 3.1: document hashing ────────────────────────────────────────────────────────────────


def doc_hash_tf(document: Document) -> Vector:
    """Algorithm 2: φ(d)_k ← φ(d)_k + ξ(w). Buckets whose words cancel stay listed, at 0."""
    phi: Vector = {}
    for bucket, sign, *_ in document:
        phi[bucket] = phi.get(bucket, 0.0) + sign
    return phi


def term_frequency(count: float, tf: str) -> float:
    """Return a signed count v, or sign(v)·(1 + ln|v|) beyond ±1; a pair of words counts ½."""
    if tf == "count" or abs(count) <= 1:
        return count
    return math.copysign(1 + math.log(abs(count)), count)


class Sketch:
    """The counters of Algorithm 3: ``n`` documents, ``C[k]`` of them with a word in bucket k.

    A ``depth`` above 1 adds rows of counters with other cells for words (Eq. 9, 10); words with the
    same cells everywhere are one word here.
    """

    def __init__(self, depth: int = 1, conservative: bool = False) -> None:
        self.n = 0
        self.rows: list[Counter[int]] = [Counter() for _ in range(depth)]
        self.conservative = conservative

    @property
    def C(self) -> Counter[int]:  # noqa: N802 - the paper's letter
        return self.rows[0]

    def count(self, document: Document) -> None:
        """Lines 5 to 7: count each counter once per document.

        Conservative update: raise a counter to the largest new estimate of its words, at most.
        """
        words = {_cells(word) for word in document}
        known = {word: self.estimate(word) + 1 for word in words}
        for row, counters in enumerate(self.rows):
            if self.conservative:
                for word in words:
                    counters[word[row]] = max(counters[word[row]], known[word])
            else:
                counters.update({word[row] for word in words})
        self.n += 1

    def fade(self, keep: float) -> None:
        """Multiply the weight of all documents so far by ``keep``."""
        self.n *= keep
        for counters in self.rows:
            for k in counters:
                counters[k] *= keep

    def estimate(self, word: tuple[int, ...]) -> float:
        """Eq. 10."""
        return min(C[cell] for C, cell in zip(self.rows, word, strict=True))

    def idf(self, document: Document, k: int) -> float:
        """Line 9 for a document with words in bucket k, as if it had been counted."""
        words = [_cells(word) for word in document if word[0] == k]
        return math.log((self.n + 1) / (max(map(self.estimate, words)) + 1))


def _cells(word: tuple[int, ...]) -> tuple[int, ...]:
    """Return the counters of a word: its bucket, and its cells in further rows."""
    bucket, _, *others = word
    return bucket, *others


# ── Labels: yes, no, unknown ─────────────────────────────────────────────────────────────────────


class Truth(NamedTuple):
    """The known labels of one document: ``yes`` is the paper's T_t."""

    yes: frozenset[str]
    no: frozenset[str]
    complete: bool

    @classmethod
    def of(cls, labels: Collection[str] | Mapping[str, bool], seen: Iterable[str]) -> Truth:
        """Read a set ("these and no others" of those seen), or a mapping (the rest is unknown)."""
        if isinstance(labels, Mapping):
            yes = frozenset(name for name, state in labels.items() if state)
            return cls(yes, frozenset(labels) - yes, complete=False)
        return cls(frozenset(labels), frozenset(seen) - frozenset(labels), complete=True)

    @property
    def known(self) -> frozenset[str]:
        return self.yes | self.no


# ── Sections 3.2 to 3.4: regions ─────────────────────────────────────────────────────────────────


class Regions:
    """One prototype per label (Eq. 14) and its local statistics (Eq. 15, 16).

    ``history`` has the documents fed to each prototype; no algorithm reads it, only the detection
    of certain ties.
    """

    def __init__(self, similarity: str) -> None:
        self.similarity = similarity
        self.labels: list[str] = []
        self.n: dict[str, Fraction] = {}
        self.p: dict[str, Vector] = {}
        self.F: dict[tuple[str, str], Fraction] = {}
        self.history: dict[str, list[tuple[Vector, Truth]]] = {}

    def add(self, label: str) -> None:
        """Initialization of Algorithms 5 and 6: p_i ← 0, F̂_ij ← 0."""
        self.labels.append(label)
        self.n[label] = Fraction(0)
        self.p[label] = {}
        for other in self.labels:
            self.F[label, other] = self.F[other, label] = Fraction(0)
        self.history[label] = []

    @property
    def inhabited(self) -> list[str]:
        """The labels with a document: only these have a region."""
        return [i for i in self.labels if self.n[i] > 0]

    def s(self, x: Vector, i: str) -> float:
        """s(φ(d), p_i) of Algorithm 4: the cosine, or minus Eq. 12."""
        if self.similarity == "cosine":
            return cosine(x, self.p[i])
        return -squared_distance(x, self.p[i])

    def map(self, x: Vector) -> str | None:
        """Algorithm 4: return the nearest prototype, the lowest number on ties.

        A document without weight has no region.
        """
        if is_zero(x) or not self.inhabited:
            return None
        return max(self.inhabited, key=lambda i: self.s(x, i))

    def feed(self, i: str, x: Vector, truth: Truth) -> None:
        """Algorithm 5, lines 2 to 6, for one label; an unknown label j does not change F̂_ij."""
        self.n[i] += 1
        lam = 1 / self.n[i]
        p = self.p[i]
        for k in p.keys() | x.keys():
            p[k] = float(1 - lam) * p.get(k, 0.0) + float(lam) * x.get(k, 0.0)
        for j in self.labels:
            if j in truth.yes:
                self.F[i, j] = (1 - lam) * self.F[i, j] + lam
            elif j in truth.no:
                self.F[i, j] = (1 - lam) * self.F[i, j]
        self.history[i].append((dict(x), truth))

    def fade(self, keep: float, labels: Iterable[str]) -> None:
        """Multiply the weight of these labels' documents by ``keep``; means stay."""
        for i in labels:
            self.n[i] *= Fraction(keep)


# ── Algorithm 1 ──────────────────────────────────────────────────────────────────────────────────


class Reference(ABC):
    """Algorithm 1: hash, map, predict, and learn from labelled documents."""

    def __init__(
        self,
        *,
        weighting: str = "tfidf",
        similarity: str = "cosine",
        tf: str = "log",
        norm: str = "l2",
        at_least_one: bool | None = None,
        depth: int = 1,
        conservative: bool = False,
        half_life: float | None = None,
    ) -> None:
        self.decay = 1.0 if half_life is None else 0.5 ** (1 / half_life)
        self.weighting = weighting
        self.tf = tf
        self.norm = norm
        self.at_least_one = at_least_one
        self.sketch = Sketch(depth, conservative)
        self.regions = Regions(similarity)
        self.labelled = 0
        by_class = weighting not in ("tf", "tfidf")
        self.classes = OnlineClasses(weighting) if by_class else None

    @property
    def labels(self) -> list[str]:
        return self.regions.labels

    def predict(self, document: Document) -> set[str]:
        """Lines 3 to 5; changes nothing."""
        return self.decide(self.doc_hash(document))

    def learn(self, document: Document, labels: Labels) -> None:
        """Line 6: the rule learns from labels, the sketch from every document.

        With a half-life, all older documents weigh a little less from now on.
        """
        x = self.doc_hash(document)
        self.look_at(x)
        self.fade(self.decay, self.labels)
        if labels is not None:
            for name in sorted(labels):
                if name not in self.labels:
                    self.add_label(name)
            self.labelled += 1
            truth = Truth.of(labels, self.labels)
            if self.classes is not None:
                self.classes.count_and_look({word[0] for word in document}, truth.yes)
            self.teach(x, truth)
        self.sketch.count(document)
        self.sketch.fade(self.decay)

    def look_at(self, x: Vector) -> None:
        """Let a rule see the document before older ones fade."""
        return

    def emphasise(self, phi: Vector) -> Vector:
        """Let a rule change the weights."""
        return phi

    def fade(self, keep: float, labels: Iterable[str]) -> None:
        """Multiply the weight of what these labels have learnt by ``keep``."""
        self.regions.fade(keep, labels)

    def forget(self, keep: float, labels: Collection[str] | None) -> None:
        """Fade some labels, or all and the sketch with them."""
        self.fade(keep, self.labels if labels is None else labels)
        if labels is None:
            self.sketch.fade(keep)

    def step(self, document: Document, labels: Labels) -> set[str]:
        """One round: predict, then learn."""
        predicted = self.predict(document)
        self.learn(document, labels)
        return predicted

    def probabilities(self, document: Document) -> dict[str, float]:
        """Return the score of every label, as users see it."""
        return {j: float(value) for j, value in self.evidence(self.doc_hash(document)).items()}

    def doc_hash(self, document: Document) -> Vector:
        """Algorithms 2 and 3, with the factors of section 3.6; the document is counted later."""
        phi = {k: term_frequency(v, self.tf) for k, v in doc_hash_tf(document).items()}
        if self.weighting in WITH_IDF:
            phi = {k: v * self.sketch.idf(document, k) for k, v in phi.items()}
        if self.classes is not None:
            phi = {k: v * self.classes.factor(k, len(self.labels)) for k, v in phi.items()}
        phi = self.emphasise(phi)
        if self.norm == "l2" and not is_zero(phi):
            phi = {k: v / length(phi) for k, v in phi.items()}
        return phi

    def decide(self, x: Vector) -> set[str]:
        """Eq. 13: return the labels whose evidence exceeds θ, or the best above the floor.

        A document without weight gets no label, and a label without documents is never predicted.
        """
        if is_zero(x):
            return set()
        evidence = self.evidence(x)
        able = self.able(x)
        predicted = {j for j in able if evidence[j] > self.cut}
        if not predicted and able:
            best = max(able, key=lambda j: evidence[j])
            if evidence[best] > self.floor:
                predicted = {best}
        return predicted

    def able(self, x: Vector) -> list[str]:
        """Return the labels that can be predicted."""
        return [j for j in self.labels if self.documents_of(j) > 0]

    @property
    def floor(self) -> float:
        """Predict the best label above this evidence, even if it does not exceed θ."""
        if self.at_least_one is None:
            return self.learnt_floor
        return -math.inf if self.at_least_one else math.inf

    @property
    def learnt_floor(self) -> float:
        """The floor if ``at_least_one`` is None."""
        return -math.inf

    def documents_of(self, label: str) -> float:
        """n_i."""
        return float(self.regions.n[label])

    def add_label(self, name: str) -> None:
        self.regions.add(name)

    @property
    @abstractmethod
    def cut(self) -> float:
        """The θ of Eq. 13."""

    @abstractmethod
    def evidence(self, x: Vector) -> Mapping[str, float | Fraction]:
        """Return the evidence for each label."""

    @abstractmethod
    def teach(self, x: Vector, truth: Truth) -> None:
        """Apply the learning rule."""


# ── Sections 3.3 and 3.4: the paper's rules ──────────────────────────────────────────────────────


class PaperClasher(Reference):
    """Eq. 13 on local statistics, learnt by Algorithm 5 or Algorithm 6."""

    def __init__(self, rule: str = "centroid", *, threshold: float = 0.5, **settings: Any) -> None:
        super().__init__(**settings)
        self.rule = rule
        self.threshold = threshold

    @property
    def cut(self) -> float:
        return self.threshold

    def evidence(self, x: Vector) -> Mapping[str, Fraction]:
        """F̂_j*j for each label j: the indices of Eq. 13 as in Eq. 15."""
        winner = self.regions.map(x)
        if winner is None:
            return dict.fromkeys(self.labels, Fraction(0))
        return {j: self.regions.F[winner, j] for j in self.labels}

    def teach(self, x: Vector, truth: Truth) -> None:
        if self.rule == "centroid":
            self.learn_mode_1(x, truth)
        else:
            self.learn_mode_2(x, self.decide(x), truth)

    def learn_mode_1(self, x: Vector, truth: Truth) -> None:
        """Algorithm 5."""
        for i in truth.yes:
            self.regions.feed(i, x, truth)

    def learn_mode_2(self, x: Vector, predicted: set[str], truth: Truth) -> None:
        """Algorithm 6; only a label known to be absent is a false positive."""
        false_negatives = truth.yes - predicted
        false_positives = predicted & truth.no
        for i in false_negatives:
            self.regions.feed(i, x, truth)
        if false_positives:
            self.learn_mode_1(x, truth)


# ── Linear rules ─────────────────────────────────────────────────────────────────────────────────


class LearntFloor:
    """The lowest z at which the best label is still predicted.

    Two fading histograms of the best z: of documents whose best label is true, and of documents
    without labels. The floor is the edge above which the first outnumber the second the most, the
    highest on ties; −∞ while every document had a label. It is updated every ``early`` documents,
    and after each of the first ``early``.
    """

    def __init__(
        self, lowest: float = -3.05, highest: float = 2.95, bin_width: float = 0.1,
        period: int = 1000, early: int = 100, fade: float = 0.9,
    ) -> None:  # fmt: skip
        self.lowest, self.bin_width = lowest, bin_width
        self.period, self.early, self.fade = period, early, fade
        self.bins = round((highest - lowest) / bin_width) + 2
        self.value = -math.inf
        self.true = [0.0] * self.bins
        self.empty = [0.0] * self.bins

    def edge(self, place: int) -> float:
        """Return the lower edge of a bin: −∞ for the first, ∞ after the last."""
        if place == self.bins:
            return math.inf
        return self.lowest + (place - 1) * self.bin_width if place else -math.inf

    def count(self, z: float, is_true: bool) -> None:
        place = math.floor((z - self.lowest) / self.bin_width) + 1
        histogram = self.true if is_true else self.empty
        histogram[min(max(place, 0), self.bins - 1)] += 1

    def lead(self, place: int) -> float:
        return sum(self.true[place:]) - sum(self.empty[place:])

    def choose(self) -> None:
        best = max(reversed(range(self.bins + 1)), key=self.lead)
        self.value = self.edge(best) if any(self.empty) else -math.inf

    def look(self, labelled: int) -> None:
        if labelled < self.early or labelled % self.early == 0:
            self.choose()
        if labelled % self.period == 0:
            self.true = [count * self.fade for count in self.true]
            self.empty = [count * self.fade for count in self.empty]


class LinearClasher(Reference):
    """A weight per label and bucket and a bias per label; the evidence is a log-odds z_j."""

    bias_start = 0.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.w: dict[str, Vector] = {}
        self.b: dict[str, float] = {}
        self.best = LearntFloor()
        self.z: dict[str, float] = {}
        self.touched: list[str] = []

    def add_label(self, name: str) -> None:
        super().add_label(name)
        self.w[name] = {}
        self.b[name] = self.bias_start

    @property
    def learnt_floor(self) -> float:
        return self.best.value

    def look_at(self, x: Vector) -> None:
        """Keep the z that predicted the document, to learn from it."""
        self.z = self.evidence(x)
        self.touched = self.able(x)

    def note_best(self, x: Vector, truth: Truth) -> None:
        """Count the z of the best label if it is true, or if all labels are known to be absent."""
        able = self.touched
        if able and not is_zero(x):
            best = max(able, key=lambda j: self.z[j])
            if best in truth.yes or truth.no == set(self.labels):
                self.best.count(self.z[best], best in truth.yes)
        self.best.look(self.labelled)

    def terms(self, x: Vector) -> dict[str, list[float]]:
        """Return the terms of z_j: b_j, then w_jk·x_k for each bucket of the document."""
        return {
            j: [self.b[j], *(self.w[j].get(k, 0.0) * value for k, value in x.items())]
            for j in self.labels
        }

    def evidence(self, x: Vector) -> dict[str, float]:
        """z_j."""
        return {j: math.fsum(terms) for j, terms in self.terms(x).items()}

    def probabilities(self, document: Document) -> dict[str, float]:
        """σ(z_j)."""
        return {j: sigmoid(z) for j, z in super().probabilities(document).items()}


class PerceptronClasher(LinearClasher):
    """Binary relevance: w_j and b_j move by ``step`` if z_j has the wrong sign."""

    def __init__(self, *, threshold: float = 0.5, step: float = 0.1, **settings: Any) -> None:
        super().__init__(**settings)
        self.threshold = threshold
        self.step_size = step
        self.documents: dict[str, float] = {}
        self.mistakes: Counter[str] = Counter()

    @property
    def cut(self) -> float:
        return log_odds(self.threshold)

    def documents_of(self, label: str) -> float:
        return self.documents.get(label, 0)

    def fade(self, keep: float, labels: Iterable[str]) -> None:
        for j in labels:
            self.documents[j] = keep * self.documents_of(j)
            self.b[j] *= keep
            for k in self.w[j]:
                self.w[j][k] *= keep

    def teach(self, x: Vector, truth: Truth) -> None:
        self.note_best(x, truth)
        z = self.evidence(x)
        for j in truth.known:
            if (z[j] > 0) != (j in truth.yes):
                move = self.step_size if j in truth.yes else -self.step_size
                for k, value in x.items():
                    self.w[j][k] = self.w[j].get(k, 0.0) + move * value
                self.b[j] += move
                self.mistakes[j] += 1
        for j in truth.yes:
            self.documents[j] = self.documents_of(j) + 1
