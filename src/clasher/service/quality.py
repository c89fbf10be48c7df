"""How good the predictions are: counts per label, over all that was judged and over the last of it.

A document is judged when its labels come after its prediction. The recent past are the last panes
of a fixed number of judged documents, so that the figures do not depend on how entries were cut
into batches, and a replay gives the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from clasher import metrics
from clasher.kernels.metrics import FN, FP, JUDGED, TP
from clasher.labels import LabelSets
from clasher.service.estimates import Counts, estimate_f1, estimate_macro, estimate_micro, ratio
from clasher.service.structs import Estimate
from clasher.service.structs import Quality as Figures

PANE = 250  # judged documents
PANES = 8  # of the recent past, the open one included
FREQUENT = 0.8  # of all true labels are those of the frequent ones

NONE: Counts = (0, 0, 0)


class Pane:
    """The judged documents of a stretch: hits, false alarms and misses of each label."""

    def __init__(self, documents: int = 0, counts: dict[int, Counts] | None = None) -> None:
        self.documents = documents
        self.counts = {} if counts is None else counts

    def add(self, label: int, counts: Counts, sign: int = 1) -> None:
        """Count for a label; ``sign`` −1 takes back, and never below nothing."""
        old, (tp, fp, fn) = self.counts.get(label, NONE), counts
        self.counts[label] = (
            max(0, old[0] + sign * tp), max(0, old[1] + sign * fp), max(0, old[2] + sign * fn),
        )  # fmt: skip

    def support(self, label: int) -> int:
        """How many of the documents have a label."""
        hits, _, misses = self.counts.get(label, NONE)
        return hits + misses

    def drop(self, label: int, into: int | None = None) -> None:
        """Forget a label, or count it as another one."""
        counts = self.counts.pop(label, None)
        if into is not None and counts is not None:
            self.add(into, counts)

    def to_plain(self) -> list[Any]:
        """Plain values, ready for JSON."""
        return [self.documents, [[label, *self.counts[label]] for label in sorted(self.counts)]]

    @classmethod
    def of(cls, plain: list[Any]) -> Pane:
        """A pane from plain values."""
        documents, rows = plain
        return cls(documents, {label: (tp, fp, fn) for label, tp, fp, fn in rows})


class Quality:
    """Judges predictions, by the numbers under which labels keep their identity.

    ``pane`` is the number of judged documents of a pane.

    Examples
    --------
    >>> quality = Quality()
    >>> quality.judge(LabelSets.of([{"oil"}]), LabelSets.of([{"oil", "gold"}]), len)
    >>> quality.all.documents, quality.all.counts[len("oil")], quality.all.counts[len("gold")]
    (1, (1, 0, 0), (0, 1, 0))
    """

    def __init__(self, pane: int = PANE) -> None:
        self.pane = pane
        self.all = Pane()
        self.panes = [Pane()]

    def judge(
        self, truth: LabelSets, predicted: LabelSets, number: Callable[[str], int], sign: int = 1
    ) -> None:
        """Count predictions; ``number`` tells the identity of a label."""
        start = 0
        while start < len(truth):
            room = self.pane - self.panes[-1].documents if sign > 0 else len(truth)
            stop = min(len(truth), start + _first_judged(truth, start, room))
            self._count(truth[start:stop], predicted[start:stop], number, sign)
            start = stop

    def _count(
        self, truth: LabelSets, predicted: LabelSets, number: Callable[[str], int], sign: int
    ) -> None:
        measured = metrics.Metrics()
        measured.update_many(truth, predicted)
        judged = sign * int(measured.totals[JUDGED])
        counts = measured.counts[[TP, FP, FN]]
        concerned = np.flatnonzero(counts.any(axis=0))
        labels = [number(measured.names[at]) for at in concerned.tolist()]
        rows = counts[:, concerned].T.tolist()
        for pane in (self.all, self.panes[-1]):
            pane.documents = max(0, pane.documents + judged)
            for label, row in zip(labels, rows, strict=True):
                pane.add(label, row, sign)
        if self.panes[-1].documents >= self.pane:
            self.panes = [*self.panes, Pane()][-PANES:]

    def drop(self, label: int, into: int | None = None) -> None:
        """Forget a label, or count it as another one from now on."""
        for pane in (self.all, *self.panes):
            pane.drop(label, into)

    def recent(self) -> Pane:
        """The recent past as one."""
        sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for pane in self.panes:
            for label, counts in pane.counts.items():
                for at, count in enumerate(counts):
                    sums[label][at] += count
        rows = {label: (tp, fp, fn) for label, (tp, fp, fn) in sums.items()}
        return Pane(sum(pane.documents for pane in self.panes), rows)

    def label(self, number: int) -> tuple[Estimate, Estimate, Estimate]:
        """Precision, recall and F1 of a label."""
        tp, fp, fn = self.all.counts.get(number, NONE)
        return ratio(tp, tp + fp), ratio(tp, tp + fn), estimate_f1((tp, fp, fn))

    def history(self, number: int) -> list[float | None]:
        """The F1 of a label pane by pane, None where it did not come up."""
        rows = (pane.counts.get(number, NONE) for pane in self.panes)
        return [estimate_f1(row).value if any(row) else None for row in rows]

    def to_plain(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"all": self.all.to_plain(), "panes": [pane.to_plain() for pane in self.panes]}

    @classmethod
    def of(cls, plain: dict[str, Any], pane: int = PANE) -> Quality:
        """What ``to_plain`` gave."""
        quality = cls(pane)
        quality.all = Pane.of(plain["all"])
        quality.panes = [Pane.of(pane) for pane in plain["panes"]]
        return quality


def figures(pane: Pane) -> Figures:
    """All measures of a stretch; the frequent labels make up most of what is true."""
    counts = {label: row for label, row in pane.counts.items() if row[0] + row[2]}
    by_support = sorted(counts, key=lambda label: -(counts[label][0] + counts[label][2]))
    support = np.array([counts[label][0] + counts[label][2] for label in by_support], np.int64)
    before = np.cumsum(support) - support
    frequent = int(np.sum(before < FREQUENT * support.sum()))
    rows = [counts[label] for label in by_support]
    return Figures(
        documents=pane.documents,
        macro_f1=estimate_macro(rows),
        micro_f1=estimate_micro(list(pane.counts.values()), pane.documents),
        frequent_f1=estimate_macro(rows[:frequent]),
        rare_f1=estimate_macro(rows[frequent:]),
        frequent_labels=frequent,
        rare_labels=len(rows) - frequent,
    )


def _first_judged(truth: LabelSets, start: int, wanted: int) -> int:
    """How many documents from ``start`` on have ``wanted`` judged ones among them, or all."""
    judged = np.cumsum(truth.known[start:] != 0)
    return int(np.searchsorted(judged, wanted)) + 1
