"""The margin rule (Mode 3) in plain Python, on top of ``paper.py``."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from support.reference.paper import (
    Document,
    LearntFloor,
    LinearClasher,
    PaperClasher,
    PerceptronClasher,
    Reference,
    Truth,
    Vector,
    cosine,
    is_zero,
    log_odds,
    sigmoid,
)


@dataclass(frozen=True)
class Tuning:
    """Every constant of the margin rule."""

    step: float = 0.7
    floor: float = 8.0
    cut: float = 0.14
    rare: float = 4.0
    bias_step: float = 0.5
    bias_floor: float = 0.1
    bias_start: float = -4.0
    shared_step: float = 0.07
    shared_floor: float = 10.0
    shared_start: tuple[float, float, float, float] = (4.0, 2.5, 1.0, 0.0)
    regions: int = 3
    lead: float = 0.6
    lead_words: float = 16.0
    lead_end: int = 128
    threshold_start: float = 0.0
    lowest: float = -3.0
    highest: float = 3.0
    bin_width: float = 0.1
    period: int = 1000
    early: int = 100
    fade: float = 0.9
    odds_start: tuple[float, float] = (0.0, 2.0)
    odds_trust: float = 20.0
    odds_steps: int = 30
    least_slope: float = 0.1


class LearntThreshold:
    """Fading histograms of z, the bin edge with the best micro F1, and log-odds α + β·z.

    The first bin of a histogram is below the lowest edge, the last above the highest.
    """

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self.value = tuning.threshold_start
        self.odds = tuning.odds_start
        self.bins = round((tuning.highest - tuning.lowest) / tuning.bin_width)
        self.true = [0.0] * (self.bins + 2)
        self.false = [0.0] * (self.bins + 2)

    def edge(self, e: int) -> float:
        return self.tuning.lowest + e * self.tuning.bin_width

    def count(self, z: float, is_true: bool) -> None:
        place = math.floor((z - self.tuning.lowest) / self.tuning.bin_width) + 1
        histogram = self.true if is_true else self.false
        histogram[min(max(place, 0), self.bins + 1)] += 1

    def micro_f1(self, e: int) -> float:
        """2TP / (2TP + FP + FN) if labels above edge e were predicted."""
        tp = sum(self.true[e + 1 :])
        fp = sum(self.false[e + 1 :])
        fn = sum(self.true[: e + 1])
        return 2 * tp / (2 * tp + fp + fn) if tp else 0.0

    def look(self, labelled: int) -> None:
        """Update every ``period`` documents, more often before the first; then fade."""
        tuning = self.tuning
        if labelled % (tuning.early if labelled < tuning.period else tuning.period) == 0:
            self.choose()
            self.calibrate()
        if labelled % tuning.period == 0:
            self.true = [count * tuning.fade for count in self.true]
            self.false = [count * tuning.fade for count in self.false]

    def choose(self) -> None:
        """Take the best edge, the lowest on ties, if one finds a true label."""
        best = max(range(self.bins + 1), key=self.micro_f1)
        if self.micro_f1(best) > 0:
            self.value = self.edge(best)

    def calibrate(self) -> None:
        """Minimise the log loss of all bins above the lowest edge, with a pull to the start."""
        tuning, (alpha, beta) = self.tuning, self.odds
        middles = [(self.edge(e) + self.edge(e + 1)) / 2 for e in range(self.bins + 1)]
        bins = list(zip(middles, self.true[1:], self.false[1:], strict=True))
        H = np.eye(2) * tuning.odds_trust / 4
        for z, true, false in bins:
            H += (true + false) / 4 * np.outer([1, z], [1, z])
        for _ in range(tuning.odds_steps):
            g = tuning.odds_trust / 4 * (np.array([alpha, beta]) - tuning.odds_start)
            for z, true, false in bins:
                p = sigmoid(alpha + beta * z)
                g += (false * p - true * (1 - p)) * np.array([1, z])
            alpha, beta = np.array([alpha, beta]) - np.linalg.solve(H, g)
            beta = max(beta, tuning.least_slope)
        self.odds = (float(alpha), float(beta))

    def log_odds(self, z: float) -> float:
        alpha, beta = self.odds
        return alpha + beta * z


def ratio(cosine: float, best: float) -> float:
    """r_j = c_j / c_i*, within ±1; 0 if the winner's cosine is not positive."""
    return max(-1.0, min(1.0, cosine / best)) if best > 0 else 0.0


class View(NamedTuple):
    """What the clash says of a label: c_j, r_j, F_j and l_j."""

    cosine: float
    ratio: float
    fraction: float
    look: float


NOTHING = View(0.0, 0.0, 0.0, 0.0)


class MarginClasher(LinearClasher):
    """z_j = b_j + ⟨w_j, x⟩ + a1·c_j + a2·r_j + a3·F_j + a4·l_j, learnt by AdaGrad.

    ``threshold`` is a probability, or None to learn it; ``tuning`` has the fields of ``Tuning``.
    """

    def __init__(
        self,
        *,
        threshold: float | None = None,
        weighting: str = "tfidf",
        similarity: str = "cosine",
        tf: str = "log",
        norm: str = "l2",
        at_least_one: bool | None = None,
        depth: int = 1,
        conservative: bool = False,
        half_life: float | None = None,
        **tuning: Any,
    ) -> None:
        super().__init__(
            weighting=weighting, similarity=similarity, tf=tf, norm=norm,
            at_least_one=at_least_one, depth=depth, conservative=conservative, half_life=half_life,
        )  # fmt: skip
        self.tuning = Tuning(**tuning)
        self.bias_start = self.tuning.bias_start
        self.fixed = None if threshold is None else log_odds(threshold)
        self.learnt = LearntThreshold(self.tuning)
        names = ("bin_width", "period", "early", "fade")
        self.best = LearntFloor(**{name: getattr(self.tuning, name) for name in names})
        self.G: Vector = {}
        self.Gb: dict[str, float] = {}
        self.a = list(self.tuning.shared_start)
        self.Ga = [0.0] * len(self.a)
        self.views: dict[str, View] = {}
        self.documents = 0

    def add_label(self, name: str) -> None:
        super().add_label(name)
        self.Gb[name] = 0.0

    # ── words ────────────────────────────────────────────────────────────────────────────────

    def emphasise(self, phi: Vector) -> Vector:
        """Let first words weigh more; buckets are in the order of words."""
        return {k: v * self.lead(at) for at, (k, v) in enumerate(phi.items())}

    def lead(self, at: int) -> float:
        if at >= self.tuning.lead_end:
            return 1.0
        return 1 + self.tuning.lead * math.exp(-at / self.tuning.lead_words)

    # ── forgetting ───────────────────────────────────────────────────────────────────────────

    def forget(self, keep: float, labels: Collection[str] | None) -> None:
        """Keep the weights, but let them move as easily as if they had moved less."""
        super().forget(keep, labels)
        for j in self.labels if labels is None else labels:
            self.Gb[j] *= keep

    # ── touching ─────────────────────────────────────────────────────────────────────────────

    def able(self, x: Vector) -> list[str]:
        """Only labels that a word or a nearby region of the document has met can be predicted."""
        able = super().able(x)
        winner = self.regions.map(x)
        if winner is None or self.regions.similarity == "euclidean":
            return able  # any label may be the nearest
        c = {j: cosine(x, self.regions.p[j]) for j in self.labels}
        F = self.fractions(c, winner)
        return [j for j in able if c[j] or F[j] or any(super(MarginClasher, self).terms(x)[j][1:])]

    # ── predicting ───────────────────────────────────────────────────────────────────────────

    @property
    def cut(self) -> float:
        if self.fixed is None:
            return self.learnt.value
        alpha, beta = self.learnt.odds
        return (self.fixed - alpha) / beta

    def probabilities(self, document: Document) -> dict[str, float]:
        z = self.evidence(self.doc_hash(document))
        return {j: sigmoid(self.learnt.log_odds(z[j])) for j in self.labels}

    def clash(self, x: Vector) -> dict[str, View]:
        """Return the view of each label, zeros without a region; c_j is always a cosine."""
        winner = self.regions.map(x)
        if winner is None:
            return dict.fromkeys(self.labels, NOTHING)
        c = {j: cosine(x, self.regions.p[j]) for j in self.labels}
        F = self.fractions(c, winner)
        views = {j: View(c[j], ratio(c[j], c[winner]), F[j], 0.0) for j in self.labels}
        looks = self.looks(self.sums(x, views), self.able(x))
        return {j: view._replace(look=looks[j]) for j, view in views.items()}

    def near(self, c: dict[str, float]) -> list[str]:
        """Return the regions with the highest cosines, the lowest numbers on ties."""
        able = [i for i in self.regions.inhabited if c[i] > 0]
        return sorted(able, key=lambda i: -c[i])[: self.tuning.regions]

    def fractions(self, c: dict[str, float], winner: str) -> dict[str, float]:
        """F_j: the mean of F̂_ij over the nearest regions i, by their squared cosines."""
        weights = {i: c[i] ** 2 for i in self.near(c)} or {winner: 1.0}
        total = math.fsum(weights.values())
        return {
            j: math.fsum(v * float(self.regions.F[i, j]) for i, v in weights.items()) / total
            for j in self.labels
        }

    def best_two(self, z: dict[str, float], able: list[str]) -> list[str]:
        """Return the able labels with the highest z, the lowest numbers on ties."""
        return sorted(able, key=lambda j: -z[j])[:2]

    def looks(self, z: dict[str, float], able: list[str]) -> dict[str, float]:
        """l_j: how label j goes with the best other label, times the probability of that label."""
        looks = dict.fromkeys(self.labels, 0.0)
        best = self.best_two(z, able)
        if len(best) == 2:
            for j in able:
                if z[j] > self.tuning.lowest:
                    other = best[1] if j == best[0] else best[0]
                    looks[j] = sigmoid(z[other]) * self.association(other, j)
        return looks

    def association(self, i: str, j: str) -> float:
        """(n_ij − e) / (n_ij + e + 1), where e is the n_ij of independent labels."""
        n_i, n_j = float(self.regions.n[i]), float(self.regions.n[j])
        both = n_i * float(self.regions.F[i, j])
        labelled = self.sketch.n * self.labelled / max(self.documents, 1)
        expected = n_i * n_j / (labelled + 1)
        return (both - expected) / (both + expected + 1)

    def terms(self, x: Vector) -> dict[str, list[float]]:
        """The linear terms, then a1·c_j, a2·r_j, a3·F_j, a4·l_j."""
        return self.with_views(x, self.clash(x))

    def sums(self, x: Vector, views: dict[str, View]) -> dict[str, float]:
        return {j: math.fsum(terms) for j, terms in self.with_views(x, views).items()}

    def with_views(self, x: Vector, views: dict[str, View]) -> dict[str, list[float]]:
        return {
            j: [*linear, *(a * term for a, term in zip(self.a, views[j], strict=True))]
            for j, linear in super().terms(x).items()
        }

    # ── learning ─────────────────────────────────────────────────────────────────────────────

    def look_at(self, x: Vector) -> None:
        """Keep the views that predicted the document, to learn from them."""
        super().look_at(x)
        self.views = self.clash(x)
        self.documents += 1

    def teach(self, x: Vector, truth: Truth) -> None:
        """Learn threshold, floor and weights from the state that predicted, then Algorithm 5."""
        z = {j: self.z.get(j, self.b[j]) for j in self.labels}
        if not is_zero(x):
            self.note_margins(z, truth)
        self.learnt.look(self.labelled)
        self.note_best(x, truth)
        self.learn_weights(x, z, truth)
        for i in truth.yes:
            self.regions.feed(i, x, truth)

    def note_margins(self, z: dict[str, float], truth: Truth) -> None:
        """Count the z of touched and true labels, except labels that are new in this document."""
        for j in self.regions.inhabited:
            if j in truth.known and (j in self.touched or j in truth.yes):
                self.learnt.count(z[j], j in truth.yes)

    def learn_weights(self, x: Vector, z: dict[str, float], truth: Truth) -> None:
        """Take a step for each touched or true label with |g_j| > cut, where g_j = σ(z_j) − y_j.

        A true label with few documents takes larger steps.
        """
        shared = [0.0] * len(self.a)
        total = math.fsum(self.Gb.values())
        moved = 0.0
        for j in self.labels:
            g = sigmoid(z[j]) - (j in truth.yes)
            met = j in self.touched or j in truth.yes
            if j in truth.known and met and abs(g) > self.tuning.cut:
                if j in truth.yes:
                    g *= 1 + self.tuning.rare / math.sqrt(1 + self.documents_of(j))
                self.move_weights(j, g, x, self.Gb[j] / total if total else 0.0)
                self.move_bias(j, g)
                moved += g**2
                view = self.views.get(j, NOTHING)
                shared = [d + g * term for d, term in zip(shared, view, strict=True)]
        for k, value in x.items():
            self.G[k] = self.G.get(k, 0.0) + moved * value**2
        self.move_shared(shared)

    def move_weights(self, j: str, g: float, x: Vector, part: float) -> None:
        """AdaGrad with a part of each bucket's sum; larger weights take larger steps."""
        w = self.w[j]
        for k, value in x.items():
            squared = self.tuning.floor / len(x) + part * self.G.get(k, 0.0) + (g * value) ** 2
            size = math.sqrt(1 + w.get(k, 0.0) ** 2)
            w[k] = w.get(k, 0.0) - self.tuning.step * g * value * size / math.sqrt(squared)

    def move_bias(self, j: str, g: float) -> None:
        self.Gb[j] += g**2
        self.b[j] -= self.tuning.bias_step * g / math.sqrt(self.tuning.bias_floor + self.Gb[j])

    def move_shared(self, gradient: list[float]) -> None:
        for i, d in enumerate(gradient):
            self.Ga[i] += d**2
            root = math.sqrt(self.tuning.shared_floor + self.Ga[i])
            self.a[i] -= self.tuning.shared_step * d / root


def reference(rule: str, **settings: Any) -> Reference:
    """Return the reference of a rule."""
    if rule == "margin":
        return MarginClasher(**settings)
    if rule == "perceptron":
        return PerceptronClasher(**settings)
    return PaperClasher(rule, **settings)
