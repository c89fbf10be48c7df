"""Multi-label measures of a stream (section 6.1), in one pass and bounded memory.

For each label j, three counts are kept: hits n++ (tp), false alarms n+- (fp) and misses n-+ (fn).
All measures follow from them:

    precision_j = tp / (tp + fp)    recall_j = tp / (tp + fn)
    F1_j = 2 tp / (2 tp + fp + fn)                                       (Eq. 21)

A *macro* average is the mean of a measure over labels, a *micro* average is the measure of the
summed counts. A ratio with a zero denominator is 0.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelError, require_positive
from clasher.kernels.labels import EXACT, FN, FP, JUDGED, STATED, TP, WHOLE, count
from clasher.labels import LabelSets

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

OTHER = "(other labels)"  # the row for all labels beyond ``max_labels``


class LabelRow(NamedTuple):
    """The figures of one label; ``support`` and ``predicted`` count documents."""

    label: str
    support: int
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All measures at one moment."""

    macro_f1: float
    micro_f1: float
    macro_precision: float
    macro_recall: float
    micro_precision: float
    micro_recall: float
    accuracy: float
    hamming_loss: float
    subset_accuracy: float


PRECISION, RECALL, F1 = (1, 1, 0), (1, 0, 1), (2, 1, 1)
"""Weights of tp, fp and fn in each denominator; the numerator weights tp alike."""


def _ratios(measure: tuple[int, int, int], counts: IntArray) -> FloatArray:
    above = measure[0] * counts[TP]
    below = above + measure[1] * counts[FP] + measure[2] * counts[FN]
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))


def _micro(measure: tuple[int, int, int], measures: Any) -> float:
    return float(_ratios(measure, measures.counts.sum(axis=1, keepdims=True))[0])


def _macro(measure: tuple[int, int, int], measures: Any) -> float:
    values = _ratios(measure, measures._named)[measures._seen()]
    return float(values.mean()) if len(values) else 0.0


class Measures:
    """Measures computed from counts.

    Macro averages are over the labels seen in the truth so far: at the end of a stream over all its
    labels, as in the paper. A label that was predicted but never true counts in the micro averages
    only. ``names`` belong to the columns of ``counts`` (tp, fp, fn, and the partially labelled
    documents that name the label), ``(other labels)`` first. ``totals`` are the documents judged,
    those with complete labels, and those of them without an error.
    """

    def __init__(self, names: Sequence[str], counts: IntArray, totals: IntArray) -> None:
        self.names = names
        self.counts = counts
        self.totals = totals

    @property
    def documents(self) -> int:
        """The number of documents judged: those with labels."""
        return int(self.totals[JUDGED])

    @property
    def labels(self) -> list[str]:
        """The labels seen in the truth, in order of appearance."""
        return [self.names[i + 1] for i in np.flatnonzero(self._seen()).tolist()]

    micro_precision = property(partial(_micro, PRECISION))
    micro_recall = property(partial(_micro, RECALL))
    micro_f1 = property(partial(_micro, F1))
    macro_precision = property(partial(_macro, PRECISION))
    macro_recall = property(partial(_macro, RECALL))
    macro_f1 = property(partial(_macro, F1))

    @property
    def hamming_loss(self) -> float:
        """The share of wrong decisions, (fp + fn) / (documents × labels).

        The labels are all those seen so far, true or predicted; a label that appears late counts
        as correctly not predicted before. In a partially labelled document only the labels it
        names are decisions.
        """
        return _quotient(self._wrong(), self._decisions())

    @property
    def accuracy(self) -> float:
        return _quotient(self._decisions() - self._wrong(), self._decisions())

    @property
    def subset_accuracy(self) -> float:
        """The share of completely labelled documents predicted without any error."""
        return _quotient(self.totals[EXACT], self.totals[WHOLE])

    def figures(self) -> Figures:
        return Figures(**{f.name: getattr(self, f.name) for f in fields(Figures)})

    def summary(self) -> dict[str, float]:
        return asdict(self.figures())

    def per_label(self) -> list[LabelRow]:
        counts = self.counts
        support, predicted = counts[TP] + counts[FN], counts[TP] + counts[FP]
        ratios = (_ratios(measure, counts) for measure in (PRECISION, RECALL, F1))
        # not strict: the list of names grows with the stream
        columns = (column.tolist() for column in (support, predicted, *ratios))
        rows = zip(self.names, *columns, strict=False)
        other, *named = (LabelRow(*row) for row in rows)
        shown = [other, *named] if other.support or other.predicted else named
        return sorted(shown, key=lambda row: (-row.support, row.label))

    @property
    def _named(self) -> IntArray:
        return self.counts[:, 1:]

    def _seen(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self._named[TP] + self._named[FN] > 0)

    def _wrong(self) -> int:
        return int(self._named[FP : FN + 1].sum())

    def _decisions(self) -> int:
        return int(self.totals[WHOLE] * self._named.shape[1] + self._named[STATED].sum())


class Metrics(Measures):
    """Measures of a growing stream, at constant cost per document.

    A document with a set of labels is judged on every label; one with a mapping label → bool only
    on the labels it names, since the truth of others is unknown; an unlabelled one not at all. The
    figures do not depend on how the stream is cut.

    The first ``max_labels`` labels are counted separately, to bound memory to 32 bytes and a name
    per label. Later ones are counted together as ``(other labels)``: exact in micro averages and
    subset accuracy, left out of macro averages, Hamming loss and accuracy.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.update_many([{"grain", "wheat"}, {"oil"}], [{"wheat"}, {"oil", "gold"}])
    >>> metrics.micro_f1, metrics.macro_f1
    (0.6666666666666666, 0.6666666666666666)
    >>> metrics.update_many([{"oil": False}, None], [{"oil", "wheat"}, {"oil"}])
    >>> metrics.documents, metrics.micro_f1
    (3, 0.5714285714285714)
    >>> metrics.per_label()[1]
    LabelRow(label='oil', support=1, predicted=2, precision=0.5, recall=1.0, f1=0.6666666666666666)
    """

    def __init__(self, max_labels: int = 100_000) -> None:
        require_positive("Metrics", "max_labels", max_labels)
        self.max_labels = max_labels
        self._numbers: dict[str, int] = {}
        self._names = [OTHER]
        self._store = np.zeros((4, 1), np.int64)
        super().__init__(self._names, self._store, np.zeros(3, np.int64))

    def update_many(self, truth: Any, predicted: Any) -> None:
        """Compare predictions with the truth; both are columns for ``LabelSets.of``."""
        truth, predicted = LabelSets.of(truth), LabelSets.of(predicted)
        if len(truth) != len(predicted):
            raise LabelError(
                f"truth and prediction must have one entry per document each. "
                f"Got {len(truth)} and {len(predicted)} instead."
            )
        names: dict[str, int] = {}  # of this batch: eviction may change the numbers of a model
        truth_ids, predicted_ids = _renumber(truth, names), _renumber(predicted, names)
        counts = np.zeros((4, len(names)), np.int64)
        first = np.full(len(names), -1, np.int64)
        count(
            truth_ids, truth.indptr, truth.yes, truth.known,
            predicted_ids, predicted.indptr, predicted.yes,
            np.zeros(len(names), np.uint8), first, counts, self.totals,
        )  # fmt: skip
        columns = self._columns(list(names), first.tolist())
        np.add.at(self.counts.T, columns, counts.T)  # labels past max_labels share a column

    def _columns(self, names: list[str], first: list[int]) -> list[int]:
        """Return the column of each name; add new judged names by document, then text."""
        judged = sorted(
            (document, name)
            for document, name in zip(first, names, strict=True)
            if document >= 0 and name not in self._numbers
        )
        for _, name in judged[: self.max_labels - len(self._numbers)]:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        columns = len(self._names)
        if columns > self._store.shape[1]:
            self._store = np.zeros((4, min(2 * columns, self.max_labels + 1)), np.int64)
            self._store[:, : self.counts.shape[1]] = self.counts
        self.counts = self._store[:, :columns]
        return [self._numbers.get(name, 0) for name in names]


class Window:
    """The measures of the last ``panes`` parts of a stream.

    ``close_pane`` ends a part and starts the next. The window keeps the counts at the end of each
    and subtracts them: no cost per document, 32 bytes per label and pane.
    """

    def __init__(self, metrics: Metrics, panes: int) -> None:
        require_positive("Window", "panes", panes)
        self.metrics = metrics
        self._ends: deque[tuple[IntArray, IntArray]] = deque(maxlen=panes)
        self.close_pane()

    def close_pane(self) -> None:
        self._ends.append((self.metrics.counts.copy(), self.metrics.totals.copy()))

    def measures(self) -> Measures:
        """Return the measures since the start of the oldest pane.

        Macro averages are over the labels that are true in the window; Hamming loss is over its
        documents × all labels seen in the stream.
        """
        counts, totals = self._ends[0]
        since = self.metrics.counts.copy()
        since[:, : counts.shape[1]] -= counts
        return Measures(self.metrics.names, since, self.metrics.totals - totals)


def _renumber(sets: LabelSets, numbers: dict[str, int]) -> IntArray:
    """Renumber the ids of ``sets`` by name; add names in use to ``numbers``."""
    used, places = np.unique(sets.ids, return_inverse=True)
    mine = [numbers.setdefault(sets.names[i], len(numbers)) for i in used.tolist()]
    return np.array(mine, np.int64)[places]


def _quotient(above: float, below: float) -> float:
    return float(above / below) if below else 0.0
