"""The margin rule (Mode 3) in plain Python, on top of the paper's in ``reference``."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tests.reference import (
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
    floor: float = 0.1
    floor_per_bucket: bool = False  # whether the buckets of a document share the floor
    cut: float = 0.15
    bias_step: float = 0.07
    bias_floor: float = 0.1
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

    The first place of a histogram counts all below the lowest edge, the last all above the highest.
    """

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self.value = tuning.threshold_start
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
        """2TP / (2TP + FP + FN) if the labels above edge e had been predicted."""
        tp = sum(self.true[e + 1 :])
        fp = sum(self.false[e + 1 :])
        fn = sum(self.true[: e + 1])
        return 2 * tp / (2 * tp + fp + fn) if tp else 0.0

    def choose(self) -> None:
        """Take the best edge, the lowest on ties, unless no edge finds any true label."""
        best = max(range(self.bins + 1), key=self.micro_f1)
        if self.micro_f1(best) > 0:
            self.value = self.edge(best)
        self.true = [count * self.tuning.fade for count in self.true]
        self.false = [count * self.tuning.fade for count in self.false]


def ratio(cosine: float, best: float) -> float:
    """r_j = c_j / c_i*, kept within ±1; 0 where the winner's cosine is not positive."""
    return max(-1.0, min(1.0, cosine / best)) if best > 0 else 0.0


class MarginClasher(LinearClasher):
    """z_j = b_j + ⟨w_j, x⟩ + a1·c_j + a2·r_j + a3·F_j, learnt by AdaGrad.

    ``threshold`` is a probability, or None to learn it; ``tuning`` takes the names of ``Tuning``,
    the other settings those of ``Reference``.
    """

    def __init__(
        self,
        *,
        threshold: float | None = None,
        weighting: str = "tfidf",
        similarity: str = "cosine",
        tf: str = "log",
        norm: str = "l2",
        at_least_one: bool = True,
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
        self.G: dict[str, Vector] = {}
        self.Gb: dict[str, float] = {}
        self.a = list(self.tuning.shared_start)
        self.Ga = [0.0, 0.0, 0.0]

    def add_label(self, name: str) -> None:
        super().add_label(name)
        self.G[name] = {}
        self.Gb[name] = 0.0

    def forget(self, keep: float, labels: Collection[str] | None) -> None:
        """The weights stay, and move as easily as if they had moved less so far."""
        super().forget(keep, labels)
        for j in self.labels if labels is None else labels:
            for k in self.G[j]:
                self.G[j][k] *= keep

    @property
    def cut(self) -> float:
        return self.learnt.value if self.fixed is None else self.fixed

    def clash(self, x: Vector) -> dict[str, tuple[float, float, float]]:
        """(c_j, r_j, F_j) for each label j; zeros where there is no region.

        c_j is a cosine whichever similarity the mapper uses.
        """
        winner = self.regions.map(x)
        if winner is None:
            return dict.fromkeys(self.labels, (0.0, 0.0, 0.0))
        c = {j: cosine(x, self.regions.p[j]) for j in self.labels}
        best = c[winner]
        return {j: (c[j], ratio(c[j], best), float(self.regions.F[winner, j])) for j in self.labels}

    def terms(self, x: Vector) -> dict[str, list[float]]:
        """The linear terms, then a1·c_j, a2·r_j, a3·F_j."""
        clash = self.clash(x)
        return {
            j: [*linear, *(a * term for a, term in zip(self.a, clash[j], strict=True))]
            for j, linear in super().terms(x).items()
        }

    def teach(self, x: Vector, truth: Truth) -> None:
        """The linear model from the state that predicted, then Algorithm 5, then the threshold."""
        z = self.evidence(x)
        if not is_zero(x):
            self.note_margins(z, truth)
        self.learn_weights(x, z, truth)
        for i in truth.yes:
            self.regions.feed(i, x, truth)
        if self.labelled % self.tuning.period == 0:
            self.learnt.choose()

    def note_margins(self, z: dict[str, float], truth: Truth) -> None:
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
        floor = self.tuning.floor
        if self.tuning.floor_per_bucket:
            floor /= max(len(x), 1)
        for k, value in x.items():
            G[k] = G.get(k, 0.0) + (g * value) ** 2
            root = math.sqrt(floor + G[k])
            w[k] = w.get(k, 0.0) - self.tuning.step * g * value / root

    def move_bias(self, j: str, g: float) -> None:
        self.Gb[j] += g**2
        self.b[j] -= self.tuning.bias_step * g / math.sqrt(self.tuning.bias_floor + self.Gb[j])

    def move_shared(self, gradient: list[float]) -> None:
        for i, d in enumerate(gradient):
            self.Ga[i] += d**2
            root = math.sqrt(self.tuning.shared_floor + self.Ga[i])
            self.a[i] -= self.tuning.shared_step * d / root


def reference(rule: str, **settings: Any) -> Reference:
    """The reference of any rule, by its name."""
    if rule == "margin":
        return MarginClasher(**settings)
    if rule == "perceptron":
        return PerceptronClasher(**settings)
    return PaperClasher(rule, **settings)
