"""The quality of predictions: counts per label, over all judged documents and over the last ones.

A document is judged when its labels come after its prediction. The recent past is the last panes of
a fixed number of judged documents each, so a replay gives the same figures however it batches.

Proportions have Wilson intervals, means of F1 intervals by the delta method. F1 grows with the
share J = tp / (tp + fp + fn), F1 = 2J / (1 + J), so the bounds of J give those of F1. The labels of
one document are not independent: the micro average has at most as many observations as documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from clasher import metrics
from clasher.kernels.labels import FN, FP, JUDGED, TP
from clasher.labels import LabelSets

PANE = 250  # judged documents
PANES = 8  # in the recent past, the open one included
FREQUENT = 0.8  # share of all true labels that the frequent labels make up
Z = 1.959964  # 95 %
ENOUGH = 20  # observations of a proportion
ENOUGH_DOCUMENTS = 100  # for an average over labels

Counts: TypeAlias = tuple[int, int, int]  # true positives, false positives, false negatives
NONE: Counts = (0, 0, 0)


class Estimate(Struct, frozen=True, kw_only=True):
    """A measure with its 95 % interval, and whether it has enough observations."""

    value: float
    low: float
    high: float
    observations: int
    is_enough: bool


class Measures(Struct, frozen=True, kw_only=True):
    """The quality of predictions over some judged documents."""

    documents: int
    macro_f1: Estimate
    micro_f1: Estimate
    frequent_f1: Estimate
    rare_f1: Estimate
    frequent_labels: int
    rare_labels: int


def ratio(
    hits: int, trials: int, documents: int | None = None, scale: Callable[[float], float] = float
) -> Estimate:
    """Estimate a proportion with Wilson's interval, and ``scale`` it.

    An average over labels has no more observations than ``documents``.

    >>> estimate = ratio(8, 10)
    >>> round(estimate.low, 2), estimate.value, round(estimate.high, 2), estimate.is_enough
    (0.49, 0.8, 0.94, False)
    """
    share, low, high = (hits / trials if trials else 0.0), 0.0, 1.0
    is_enough = trials >= ENOUGH
    if documents is not None:
        trials, is_enough = min(trials, documents), documents >= ENOUGH_DOCUMENTS
    if trials:
        centre = share + Z * Z / (2 * trials)
        reach = Z * sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
        below = 1 + Z * Z / trials
        low = max(0.0, min((centre - reach) / below, share))  # despite rounding
        high = min(1.0, max((centre + reach) / below, share))
    return Estimate(
        value=scale(share), low=scale(low), high=scale(high), observations=trials,
        is_enough=is_enough,
    )  # fmt: skip


def estimate_f1(counts: Sequence[int], documents: int | None = None) -> Estimate:
    """Estimate the F1 of one label, or of the counts of all labels in some ``documents``."""
    return ratio(counts[0], sum(counts), documents, _f1)


def estimate_macro(rows: Sequence[Counts]) -> Estimate:
    """Estimate the mean F1 of labels; the variance shrinks shares of few observations to 1/2."""
    if not rows:
        return Estimate(value=0.0, low=0.0, high=1.0, observations=0, is_enough=False)
    value = sum(_f1(row[0] / sum(row)) for row in rows) / len(rows)
    variance = 0.0
    for row in rows:
        trials = sum(row) + 4.0
        share = (row[0] + 2.0) / trials
        variance += share * (1.0 - share) / trials * (2.0 / (1.0 + share) ** 2) ** 2
    reach = Z * sqrt(variance) / len(rows)
    observations = sum(row[0] + row[2] for row in rows)
    return Estimate(
        value=value, low=max(0.0, value - reach), high=min(1.0, value + reach),
        observations=observations, is_enough=observations >= ENOUGH_DOCUMENTS,
    )  # fmt: skip


def _f1(share: float) -> float:
    return 2.0 * share / (1.0 + share)


@dataclass
class Pane:
    """Counts of each label over a number of judged documents."""

    documents: int = 0
    counts: dict[int, Counts] = field(default_factory=dict)

    def add(self, label: int, counts: Counts, sign: int = 1) -> None:
        """Count for a label; ``sign`` −1 takes counts back, never below 0."""
        old, (tp, fp, fn) = self.counts.get(label, NONE), counts
        self.counts[label] = (
            max(0, old[0] + sign * tp), max(0, old[1] + sign * fp), max(0, old[2] + sign * fn),
        )  # fmt: skip

    def support(self, label: int) -> int:
        tp, _, fn = self.counts.get(label, NONE)
        return tp + fn

    def drop(self, label: int, into: int | None = None) -> None:
        counts = self.counts.pop(label, None)
        if into is not None and counts is not None:
            self.add(into, counts)

    def to_plain(self) -> list[Any]:
        return [self.documents, [[label, *self.counts[label]] for label in sorted(self.counts)]]

    @classmethod
    def of(cls, plain: list[Any]) -> Pane:
        documents, rows = plain
        return cls(documents, {label: (tp, fp, fn) for label, tp, fp, fn in rows})


class Quality:
    """Judge predictions; labels are counted by number, so that they can be renamed."""

    def __init__(self, pane: int = PANE) -> None:
        self.pane = pane
        self.all = Pane()
        self.panes = [Pane()]

    def judge(
        self, truth: LabelSets, predicted: LabelSets, numbers: dict[str, int], sign: int = 1
    ) -> None:
        """Count predictions, by the numbers of their labels."""
        start = 0
        while start < len(truth):
            room = self.pane - self.panes[-1].documents if sign > 0 else len(truth)
            judged = np.cumsum(truth.known[start:] != 0)  # stop after the one that fills the pane
            stop = min(len(truth), start + int(np.searchsorted(judged, room)) + 1)
            self._count(truth[start:stop], predicted[start:stop], numbers, sign)
            start = stop

    def _count(
        self, truth: LabelSets, predicted: LabelSets, numbers: dict[str, int], sign: int
    ) -> None:
        measured = metrics.Metrics()
        measured.update_many(truth, predicted)
        judged = sign * int(measured.totals[JUDGED])
        counts = measured.counts[[TP, FP, FN]]
        touched = np.flatnonzero(counts.any(axis=0))
        labels = [numbers[measured.names[at]] for at in touched.tolist()]
        rows = counts[:, touched].T.tolist()
        for pane in (self.all, self.panes[-1]):
            pane.documents = max(0, pane.documents + judged)
            for label, row in zip(labels, rows, strict=True):
                pane.add(label, row, sign)
        if self.panes[-1].documents >= self.pane:
            self.panes = [*self.panes, Pane()][-PANES:]

    def drop(self, label: int, into: int | None = None) -> None:
        for pane in (self.all, *self.panes):
            pane.drop(label, into)

    def recent(self) -> Pane:
        sums = Pane(sum(pane.documents for pane in self.panes))
        for pane in self.panes:
            for label, counts in pane.counts.items():
                sums.add(label, counts)
        return sums

    def label(self, number: int) -> tuple[Estimate, Estimate, Estimate]:
        tp, fp, fn = self.all.counts.get(number, NONE)
        return ratio(tp, tp + fp), ratio(tp, tp + fn), estimate_f1((tp, fp, fn))

    def history(self, number: int) -> list[float | None]:
        rows = (pane.counts.get(number, NONE) for pane in self.panes)
        return [estimate_f1(row).value if any(row) else None for row in rows]

    def to_plain(self) -> dict[str, Any]:
        return {"all": self.all.to_plain(), "panes": [pane.to_plain() for pane in self.panes]}

    @classmethod
    def of(cls, plain: dict[str, Any], pane: int = PANE) -> Quality:
        quality = cls(pane)
        quality.all = Pane.of(plain["all"])
        quality.panes = [Pane.of(pane) for pane in plain["panes"]]
        return quality


def figures(pane: Pane) -> Measures:
    """Compute all measures of a pane; frequent labels make up 80 % of all true labels."""
    rows = [row for row in pane.counts.values() if row[0] + row[2]]
    rows.sort(key=lambda row: -(row[0] + row[2]))
    support = np.array([row[0] + row[2] for row in rows], np.int64)
    before = np.cumsum(support) - support
    frequent = int(np.sum(before < FREQUENT * support.sum()))
    sums = [sum(column) for column in zip(NONE, *pane.counts.values(), strict=True)]
    return Measures(
        documents=pane.documents,
        macro_f1=estimate_macro(rows),
        micro_f1=estimate_f1(sums, pane.documents),
        frequent_f1=estimate_macro(rows[:frequent]),
        rare_f1=estimate_macro(rows[frequent:]),
        frequent_labels=frequent,
        rare_labels=len(rows) - frequent,
    )
