"""The paper and the margin rule in plain Python: slow, obvious, and the oracle of the kernels.

Nothing here knows the package under test. Documents come already hashed, as a list of
``(bucket, sign)`` pairs, one per word occurrence; vectors are dictionaries; prototypes are the
means of the paper, not sums; the local statistics are exact fractions, so that ``F̂ > θ`` never
hangs on a rounding error here.

    documents ─▶ Sketch (Algorithms 2, 3) ─▶ Regions (Algorithms 4, 5) ─▶ a rule:
        PaperClasher       Eq. 13 with Algorithm 5 ("centroid") or 6 ("mistake")
        PerceptronClasher  one perceptron per label: binary relevance, the paper's baseline
        MarginClasher      a linear model per label that starts from what the clash knows

``reference(rule, ...)`` makes any of them. Letters follow the paper: ``n`` and ``C`` of
Algorithm 3, ``p_i``, ``n_i``, ``λ_i`` and ``F̂_ij`` of Algorithms 4 to 6.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

Document = Sequence[tuple[int, int]]
Labels = AbstractSet[str] | Sequence[str] | Mapping[str, bool] | None
Vector = dict[int, float]


# ── Vectors ──────────────────────────────────────────────────────────────────────────────────────


def inner(u: Vector, v: Vector) -> float:
    """⟨u, v⟩ (Eq. 5)."""
    return math.fsum(u[k] * v[k] for k in u if k in v)


def length(v: Vector) -> float:
    return math.sqrt(inner(v, v))


def cosine(u: Vector, v: Vector) -> float:
    """⟨u, v⟩ / (|u||v|), and 0 where one of them is 0."""
    lengths = length(u) * length(v)
    return inner(u, v) / lengths if lengths > 0 else 0.0


def squared_distance(u: Vector, v: Vector) -> float:
    """|u − v|² (Eq. 12)."""
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
    for bucket, sign in document:
        phi[bucket] = phi.get(bucket, 0.0) + sign
    return phi


def term_frequency(count: float, tf: str) -> float:
    """A signed count as it is, or sign(v)·(1 + ln|v|)."""
    if tf == "count" or count == 0:
        return count
    return math.copysign(1 + math.log(abs(count)), count)


class Sketch:
    """The counters of Algorithm 3: ``n`` documents, ``C[k]`` of them with a word in bucket k."""

    def __init__(self) -> None:
        self.n = 0
        self.C: dict[int, int] = {}

    def count(self, document: Document) -> None:
        """Lines 5 to 7: once per document and bucket."""
        for k in {bucket for bucket, _ in document}:
            self.C[k] = self.C.get(k, 0) + 1
        self.n += 1

    def idf(self, k: int) -> float:
        """Line 9 for a document with a word in bucket k, as if it had been counted already."""
        return math.log((self.n + 1) / (self.C.get(k, 0) + 1))


# ── Labels: yes, no, unknown ─────────────────────────────────────────────────────────────────────


class Truth(NamedTuple):
    """What is known of one document's labels; all others are unknown. ``yes`` is the paper's T_t."""

    yes: frozenset[str]
    no: frozenset[str]

    @classmethod
    def of(cls, labels: AbstractSet[str] | Sequence[str] | Mapping[str, bool], seen: Iterable[str]):
        """A set means "these and no others" of the labels seen so far; a mapping just what it says."""
        if isinstance(labels, Mapping):
            yes = frozenset(name for name, state in labels.items() if state)
            return cls(yes, frozenset(labels) - yes)
        return cls(frozenset(labels), frozenset(seen) - frozenset(labels))

    @property
    def known(self) -> frozenset[str]:
        return self.yes | self.no


# ── Sections 3.2 to 3.4: regions ─────────────────────────────────────────────────────────────────


class Regions:
    """One prototype per label (Eq. 14) and its local statistics (Eq. 15, 16).

    Labels are kept in the order of their numbers. ``fed`` keeps every vector a prototype was fed
    with; only ``near_ties`` reads it.
    """

    def __init__(self, similarity: str) -> None:
        self.similarity = similarity
        self.labels: list[str] = []
        self.n: dict[str, int] = {}
        self.p: dict[str, Vector] = {}
        self._F: dict[tuple[str, str], Fraction] = {}
        self.rounded: set[tuple[str, str]] = set()
        self.fed: dict[str, list[Vector]] = {}

    def add(self, label: str) -> None:
        """Initialization of Algorithm 5: p_i ← 0, F̂_ij ← 0."""
        self.labels.append(label)
        self.n[label] = 0
        self.p[label] = {}
        self.fed[label] = []

    @property
    def inhabited(self) -> list[str]:
        """The labels some document was fed to: only these have a region."""
        return [i for i in self.labels if self.n[i] > 0]

    def F(self, i: str, j: str) -> Fraction:
        """F̂_ij: how often documents of region i carry label j."""
        return self._F.get((i, j), Fraction(0))

    def s(self, x: Vector, i: str) -> float:
        """s(φ(d), p_i) of Algorithm 4, larger for closer."""
        if self.similarity == "cosine":
            return cosine(x, self.p[i])
        return -squared_distance(x, self.p[i])

    def map(self, x: Vector) -> str | None:
        """Algorithm 4: the nearest prototype, the lowest number on ties; None for a zero vector."""
        if is_zero(x) or not self.inhabited:
            return None
        return max(self.inhabited, key=lambda i: self.s(x, i))

    def feed(self, i: str, x: Vector, truth: Truth) -> None:
        """Algorithm 5, lines 2 to 6, for one label; what is unknown of label j leaves F̂_ij alone."""
        self.n[i] += 1
        lam = Fraction(1, self.n[i])
        p = self.p[i]
        for k in p.keys() | x.keys():
            p[k] = (1 - float(lam)) * p.get(k, 0.0) + float(lam) * x.get(k, 0.0)
        for j in self.labels:
            if j in truth.yes:
                self._F[i, j] = (1 - lam) * self.F(i, j) + lam
            elif j in truth.no:
                self._F[i, j] = (1 - lam) * self.F(i, j)
            elif self.F(i, j) > 0:
                self.rounded.add((i, j))
        self.fed[i].append(dict(x))

    # How close to a tie: arithmetic in single precision may decide those either way.

    def near_ties(self, x: Vector) -> Iterator[float]:
        """How much nearer the winner is than each other region, relative to the lengths involved."""
        winner = self.map(x)
        if winner is None:
            return
        if self.similarity == "cosine":
            yield from self.shaky_cosines(x)
        for i in self.inhabited:
            if i != winner and not self.surely_tied(x, winner, i):
                yield (self.s(x, winner) - self.s(x, i)) / self._scale(x, i)

    def shaky_cosines(self, x: Vector) -> Iterator[float]:
        """Nothing, or 0 where documents cancelled in a prototype until only rounding was left."""
        for i in self.inhabited:
            if length(self.p[i]) < 1e-3 * max(map(length, self.fed[i])):
                yield 0.0

    def surely_tied(self, x: Vector, i: str, j: str) -> bool:
        """Whether every arithmetic ties i and j: fed alike, or at cosine 0 for want of a bucket."""
        if self.fed[i] == self.fed[j]:
            return True
        return self.similarity == "cosine" and self.is_apart(x, i) and self.is_apart(x, j)

    def is_apart(self, x: Vector, i: str) -> bool:
        """Whether nothing in region i shares a bucket with x."""
        return not any(x[k] and v.get(k) for v in self.fed[i] for k in x)

    def _scale(self, x: Vector, i: str) -> float:
        if self.similarity == "cosine":
            return 1.0
        return max(inner(v, v) for v in [x, *self.p.values()])


# ── Algorithm 1 ──────────────────────────────────────────────────────────────────────────────────


class Reference(ABC):
    """Algorithm 1: hash, map, predict, and learn where labels are given."""

    def __init__(
        self,
        *,
        weighting: str = "tfidf",
        similarity: str = "cosine",
        tf: str = "log",
        norm: str = "l2",
    ) -> None:
        self.weighting = weighting
        self.tf = tf
        self.norm = norm
        self.sketch = Sketch()
        self.regions = Regions(similarity)
        self.labelled = 0

    def doc_hash(self, document: Document) -> Vector:
        """Algorithms 2 and 3 without the counting, which comes last: predicting changes nothing."""
        phi = {k: term_frequency(v, self.tf) for k, v in doc_hash_tf(document).items()}
        if self.weighting == "tfidf":
            phi = {k: v * self.sketch.idf(k) for k, v in phi.items()}
        if self.norm == "l2" and not is_zero(phi):
            phi = {k: v / length(phi) for k, v in phi.items()}
        return phi

    def predict(self, document: Document) -> set[str]:
        """T_*; a document without any weight is predicted nothing."""
        x = self.doc_hash(document)
        return set() if is_zero(x) else self.decide(x)

    def scores(self, document: Document) -> dict[str, float]:
        """What each label seen so far scores."""
        return self.score(self.doc_hash(document))

    def learn(self, document: Document, labels: Labels) -> None:
        """Teach the rule (labels known) and the sketch (always)."""
        if labels is not None:
            for name in sorted(labels):
                if name not in self.regions.labels:
                    self.add_label(name)
            self.labelled += 1
            self.teach(self.doc_hash(document), Truth.of(labels, self.labels))
        self.sketch.count(document)

    def step(self, document: Document, labels: Labels) -> set[str]:
        """One round of Algorithm 1: predict, then learn."""
        predicted = self.predict(document)
        self.learn(document, labels)
        return predicted

    def gap(self, document: Document) -> float:
        """How far the nearest decision on this document is from going the other way."""
        return min(self.near_ties(self.doc_hash(document)), default=math.inf)

    def add_label(self, name: str) -> None:
        self.regions.add(name)

    @abstractmethod
    def decide(self, x: Vector) -> set[str]:
        """The labels predicted for a vector that is not zero."""

    @abstractmethod
    def score(self, x: Vector) -> dict[str, float]:
        """The score of each label."""

    @abstractmethod
    def teach(self, x: Vector, truth: Truth) -> None:
        """The learning rule."""

    @abstractmethod
    def near_ties(self, x: Vector) -> Iterator[float]:
        """How far each decision on x, in predicting and in learning, is from going the other way."""

    # The state, as kernels are compared with it.

    @property
    def n(self) -> int:
        return self.sketch.n

    @property
    def C(self) -> dict[int, int]:
        return self.sketch.C

    @property
    def labels(self) -> list[str]:
        return self.regions.labels

    @property
    def counts(self) -> dict[str, int]:
        return self.regions.n

    @property
    def prototypes(self) -> dict[str, Vector]:
        return self.regions.p

    def F(self, i: str, j: str) -> float:
        return float(self.regions.F(i, j))


# ── Sections 3.3 and 3.4: the paper's rules ──────────────────────────────────────────────────────


class PaperClasher(Reference):
    """Eq. 13, learning by Algorithm 5 (rule "centroid") or Algorithm 6 (rule "mistake")."""

    def __init__(self, rule: str = "centroid", *, threshold: float = 0.5, **settings: Any) -> None:
        super().__init__(**settings)
        self.rule = rule
        self.threshold = threshold

    def score(self, x: Vector) -> dict[str, float]:
        """F̂_j*j for each label j, 0 where there is no region."""
        winner = self.regions.map(x)
        return {j: 0.0 if winner is None else self.F(winner, j) for j in self.labels}

    def decide(self, x: Vector) -> set[str]:
        """Eq. 13, with the indices of Eq. 15: the labels j with F̂_j*j > θ."""
        winner = self.regions.map(x)
        if winner is None:
            return set()
        return {j for j in self.labels if self.regions.F(winner, j) > self.threshold}

    def teach(self, x: Vector, truth: Truth) -> None:
        if self.rule == "centroid":
            self.learn_mode_1(x, truth)
        else:
            self.learn_mode_2(x, set() if is_zero(x) else self.decide(x), truth)

    def learn_mode_1(self, x: Vector, truth: Truth) -> None:
        """Algorithm 5."""
        for i in truth.yes:
            self.regions.feed(i, x, truth)

    def learn_mode_2(self, x: Vector, predicted: set[str], truth: Truth) -> None:
        """Algorithm 6: a false positive anywhere runs Mode 1 over all of T_t, after lines 3 to 8."""
        false_negatives = truth.yes - predicted
        false_positives = predicted & truth.no
        for i in false_negatives:
            self.regions.feed(i, x, truth)
        if false_positives:
            self.learn_mode_1(x, truth)

    def near_ties(self, x: Vector) -> Iterator[float]:
        yield from self.regions.near_ties(x)
        winner = self.regions.map(x)
        if winner is None:
            return
        for j in self.labels:
            F = self.regions.F(winner, j)
            # A fraction of counts compares exactly, one that skipped unknowns was rounded.
            if F != self.threshold or (winner, j) in self.regions.rounded:
                yield abs(float(F) - self.threshold)


# ── Linear rules ─────────────────────────────────────────────────────────────────────────────────


def relative_gap(z: float, cut: float, terms: Iterable[float]) -> float:
    """|z − cut|, relative to the size of what was added up to z."""
    return abs(z - cut) / max(1.0, math.fsum(map(abs, terms)))


class PerceptronClasher(Reference):
    """Binary relevance: z_j = b_j + ⟨w_j, x⟩, moved by ``step`` when z_j has the wrong sign."""

    def __init__(self, *, threshold: float = 0.5, step: float = 0.1, **settings: Any) -> None:
        super().__init__(**settings)
        self.threshold = threshold
        self.step_size = step
        self.documents_of: dict[str, int] = {}
        self.mistakes: dict[str, int] = {}
        self.w: dict[str, Vector] = {}
        self.b: dict[str, float] = {}

    def add_label(self, name: str) -> None:
        super().add_label(name)
        self.documents_of[name] = self.mistakes[name] = 0
        self.w[name] = {}
        self.b[name] = 0.0

    @property
    def counts(self) -> dict[str, int]:
        return self.documents_of

    def z(self, x: Vector) -> dict[str, float]:
        return {j: self.b[j] + inner(self.w[j], x) for j in self.labels}

    def score(self, x: Vector) -> dict[str, float]:
        return {j: sigmoid(z) for j, z in self.z(x).items()}

    def decide(self, x: Vector) -> set[str]:
        """A label without a document is never predicted."""
        cut = log_odds(self.threshold)
        return {j for j, z in self.z(x).items() if self.documents_of[j] > 0 and z > cut}

    def teach(self, x: Vector, truth: Truth) -> None:
        z = self.z(x)
        for j in truth.known:
            if (z[j] > 0) != (j in truth.yes):
                move = self.step_size if j in truth.yes else -self.step_size
                for k, value in x.items():
                    self.w[j][k] = self.w[j].get(k, 0.0) + move * value
                self.b[j] += move
                self.mistakes[j] += 1
        for j in truth.yes:
            self.documents_of[j] += 1

    def near_ties(self, x: Vector) -> Iterator[float]:
        for j, z in self.z(x).items():
            # Before the first mistake z is 0 in every arithmetic.
            if self.mistakes[j] > 0:
                terms = [self.b[j], *(w * x.get(k, 0.0) for k, w in self.w[j].items())]
                yield relative_gap(z, 0.0, terms)
                yield relative_gap(z, log_odds(self.threshold), terms)


@dataclass(frozen=True)
class Tuning:
    """Every constant of the margin rule."""

    step: float = 0.7
    floor: float = 0.1
    cut: float = 0.15
    bias_ratio: float = 0.1
    bias_start: float = -4.0
    shared_step: float = 0.1
    shared_floor: float = 1.0
    shared_start: tuple[float, float, float] = (4.0, 2.5, 1.0)
    threshold_start: float = 0.0
    lowest: float = -3.0
    highest: float = 1.0
    bin_width: float = 0.1
    period: int = 1000
    fade: float = 0.5


class LearntThreshold:
    """Fading histograms of z, and the bin edge with the best micro F1.

    ``true[0]`` counts true labels below the lowest edge, ``true[-1]`` those above the highest.
    """

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self.value = tuning.threshold_start
        self.bins = round((tuning.highest - tuning.lowest) / tuning.bin_width)
        self.true = [0.0] * (self.bins + 2)
        self.false = [0.0] * (self.bins + 2)

    def edge(self, e: int) -> float:
        return self.tuning.lowest + e * self.tuning.bin_width

    def slot(self, z: float) -> int:
        """0 below the lowest edge, then one number per bin, the last one for all above."""
        place = math.floor((z - self.tuning.lowest) / self.tuning.bin_width) + 1
        return min(max(place, 0), self.bins + 1)

    def count(self, z: float, is_true: bool) -> None:
        (self.true if is_true else self.false)[self.slot(z)] += 1

    def micro_f1(self, e: int) -> float:
        """2TP / (2TP + FP + FN) if labels above edge e had been predicted."""
        tp = sum(self.true[e + 1 :])
        fp = sum(self.false[e + 1 :])
        fn = sum(self.true[: e + 1])
        return 2 * tp / (2 * tp + fp + fn) if tp else 0.0

    def choose(self) -> None:
        """Take the best edge, the lowest on ties; keep the threshold while no edge finds anything."""
        best = max(range(self.bins + 1), key=self.micro_f1)
        if self.micro_f1(best) > 0:
            self.value = self.edge(best)
        self.true = [count * self.tuning.fade for count in self.true]
        self.false = [count * self.tuning.fade for count in self.false]


class MarginClasher(Reference):
    """Mode 3: z_j = b_j + ⟨w_j, x⟩ + a1·c_j + a2·r_j + a3·F_j, learnt by AdaGrad.

    ``tuning`` takes the names of ``Tuning``; ``threshold`` is a probability, learnt if None.
    """

    def __init__(
        self,
        *,
        threshold: float | None = None,
        at_least_one: bool = True,
        weighting: str = "tfidf",
        similarity: str = "cosine",
        tf: str = "log",
        norm: str = "l2",
        **tuning: Any,
    ) -> None:
        super().__init__(weighting=weighting, similarity=similarity, tf=tf, norm=norm)
        self.tuning = Tuning(**tuning)
        self.fixed = None if threshold is None else log_odds(threshold)
        self.at_least_one = at_least_one
        self.learnt = LearntThreshold(self.tuning)
        self.w: dict[str, Vector] = {}
        self.G: dict[str, Vector] = {}
        self.b: dict[str, float] = {}
        self.Gb: dict[str, float] = {}
        self.a = list(self.tuning.shared_start)
        self.Ga = [0.0, 0.0, 0.0]

    def add_label(self, name: str) -> None:
        super().add_label(name)
        self.w[name] = {}
        self.G[name] = {}
        self.b[name] = self.tuning.bias_start
        self.Gb[name] = 0.0

    @property
    def threshold(self) -> float:
        """What z must exceed."""
        return self.learnt.value if self.fixed is None else self.fixed

    def cosines(self, x: Vector) -> dict[str, float]:
        """c_j, whatever similarity the mapper uses."""
        return {j: cosine(x, self.regions.p[j]) for j in self.labels}

    def clash(self, x: Vector) -> dict[str, tuple[float, float, float]]:
        """(c_j, r_j, F_j): what the winning region i* says of each label, zeros without a region."""
        winner = self.regions.map(x)
        if winner is None:
            return dict.fromkeys(self.labels, (0.0, 0.0, 0.0))
        c = self.cosines(x)
        top = c[winner]
        return {j: (c[j], c[j] / top if top > 0 else 0.0, self.F(winner, j)) for j in self.labels}

    def z(self, x: Vector) -> dict[str, float]:
        return {
            j: self.b[j]
            + inner(self.w[j], x)
            + sum(a * term for a, term in zip(self.a, terms, strict=True))
            for j, terms in self.clash(x).items()
        }

    def score(self, x: Vector) -> dict[str, float]:
        return {j: sigmoid(z) for j, z in self.z(x).items()}

    def decide(self, x: Vector) -> set[str]:
        """Labels above the threshold, or the best one (the lowest number on ties)."""
        z = self.z(x)
        able = self.regions.inhabited
        predicted = {j for j in able if z[j] > self.threshold}
        if not predicted and able and self.at_least_one:
            predicted = {max(able, key=lambda j: z[j])}
        return predicted

    def teach(self, x: Vector, truth: Truth) -> None:
        """The linear model from the state that predicted, then Algorithm 5, then the threshold."""
        z = self.z(x)
        if not is_zero(x):
            self.count_for_threshold(z, truth)
        self.learn_weights(x, z, truth)
        for i in truth.yes:
            self.regions.feed(i, x, truth)
        if self.labelled % self.tuning.period == 0:
            self.learnt.choose()

    def count_for_threshold(self, z: dict[str, float], truth: Truth) -> None:
        """A label new in this document could not be predicted at any threshold: left out."""
        for j in self.regions.inhabited:
            if j in truth.known:
                self.learnt.count(z[j], j in truth.yes)

    def learn_weights(self, x: Vector, z: dict[str, float], truth: Truth) -> None:
        """g_j = σ(z_j) − y_j, and a step for each known label where |g_j| > cut."""
        clash = self.clash(x)
        shared = [0.0, 0.0, 0.0]
        for j in self.labels:
            g = sigmoid(z[j]) - (j in truth.yes)
            if j in truth.known and abs(g) > self.tuning.cut:
                self.move_weights(j, g, x)
                self.move_bias(j, g)
                shared = [d + g * term for d, term in zip(shared, clash[j], strict=True)]
        self.move_shared(shared)

    def move_weights(self, j: str, g: float, x: Vector) -> None:
        w, G = self.w[j], self.G[j]
        for k, value in x.items():
            G[k] = G.get(k, 0.0) + (g * value) ** 2
            root = math.sqrt(self.tuning.floor + G[k])
            w[k] = w.get(k, 0.0) - self.tuning.step * g * value / root

    def move_bias(self, j: str, g: float) -> None:
        step = self.tuning.step * self.tuning.bias_ratio
        self.Gb[j] += g**2
        self.b[j] -= step * g / math.sqrt(self.tuning.floor + self.Gb[j])

    def move_shared(self, gradient: list[float]) -> None:
        for i, d in enumerate(gradient):
            self.Ga[i] += d**2
            root = math.sqrt(self.tuning.shared_floor + self.Ga[i])
            self.a[i] -= self.tuning.shared_step * d / root

    def near_ties(self, x: Vector) -> Iterator[float]:
        yield from self.near_ties_of_regions(x)
        z = self.z(x)
        learning_cut = log_odds(1 - self.tuning.cut)
        for j, terms in self.clash(x).items():
            parts = [self.b[j], *(w * x.get(k, 0.0) for k, w in self.w[j].items())]
            parts += [a * term for a, term in zip(self.a, terms, strict=True)]
            cuts = [-learning_cut, learning_cut]
            if self.regions.n[j] > 0 and not is_zero(x):
                cuts.append(self.threshold)
            yield from (relative_gap(z[j], cut, parts) for cut in cuts)
        if not is_zero(x) and all(z[j] <= self.threshold for j in self.regions.inhabited):
            yield from self.near_ties_for_best(z)

    def near_ties_of_regions(self, x: Vector) -> Iterator[float]:
        """The winner, and whether its cosine is above 0 or just rounded to be."""
        winner = self.regions.map(x)
        if winner is None:
            return
        yield from self.regions.near_ties(x)
        yield from self.regions.shaky_cosines(x)
        if not self.regions.is_apart(x, winner):
            yield abs(cosine(x, self.regions.p[winner]))

    def near_ties_for_best(self, z: dict[str, float]) -> Iterator[float]:
        able = self.regions.inhabited
        best = max(able, key=lambda j: z[j], default=None)
        for j in able:
            alike = j != best and z[j] == z[best] and self.regions.fed[j] == self.regions.fed[best]
            if j != best and not alike:
                yield z[best] - z[j]


def reference(rule: str, **settings: Any) -> Reference:
    """The reference of a rule by its name."""
    if rule == "margin":
        return MarginClasher(**settings)
    if rule == "perceptron":
        return PerceptronClasher(**settings)
    return PaperClasher(rule, **settings)
