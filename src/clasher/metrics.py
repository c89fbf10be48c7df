"""Streaming multi-label measures: section 6.1 of the paper, one pass, bounded memory.

Per label j the stream keeps hits n++ (tp), false alarms n+- (fp) and misses n-+ (fn); every measure
is computed from these counts when it is asked for:

    precision_j = tp / (tp + fp)    recall_j = tp / (tp + fn)
    F1_j = 2 tp / (2 tp + fp + fn)                                       (Eq. 21)

A *macro* average is the mean of a measure over labels, a *micro* average is the measure of the
summed counts. A ratio with nothing below the line is 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelError, SettingError, require_positive
from clasher.kernels.labels import EXACT, FN, FP, JUDGED, STATED, TP, WHOLE, count
from clasher.labels import LabelSets

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

OTHER = "(other labels)"
"""The row that counts the labels past ``max_labels`` together."""


class LabelRow(NamedTuple):
    """The figures of one label; ``support`` and ``predicted`` are numbers of documents."""

    label: str
    support: int
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Every measure at one moment, as plain numbers."""

    macro_f1: float
    micro_f1: float
    macro_precision: float
    macro_recall: float
    micro_precision: float
    micro_recall: float
    accuracy: float
    hamming_loss: float
    subset_accuracy: float


class Measures:
    """The measures of given counts.

    Macro averages are over the labels seen so far in the truth, that is, true of a judged
    document. At the end of a stream they are therefore over all labels of the stream, as in the
    paper. A label that was predicted and never true counts in the micro averages only.

    Parameters
    ----------
    names
        The label of each column of ``counts``; the first is ``(other labels)``, see ``Metrics``.
    counts : int64 array [4, labels + 1]
        tp, fp, fn, and the number of partial documents that state the label.
    totals : int64 array [3]
        Documents judged, those with complete labels, those of them predicted without an error.
    """

    def __init__(self, names: Sequence[str], counts: IntArray, totals: IntArray) -> None:
        self.names = names
        self.counts = counts
        self.totals = totals

    @property
    def documents(self) -> int:
        """Documents judged: those with labels."""
        return int(self.totals[JUDGED])

    @property
    def labels(self) -> list[str]:
        """The labels seen in the truth, in order of appearance."""
        return [self.names[i + 1] for i in np.flatnonzero(self._seen()).tolist()]

    @property
    def micro_precision(self) -> float:
        """The share of predicted labels that are true."""
        tp, fp, _ = self._sums()
        return _quotient(tp, tp + fp)

    @property
    def micro_recall(self) -> float:
        """The share of true labels that were predicted."""
        tp, _, fn = self._sums()
        return _quotient(tp, tp + fn)

    @property
    def micro_f1(self) -> float:
        """F1 of the summed counts."""
        tp, fp, fn = self._sums()
        return _quotient(2 * tp, 2 * tp + fp + fn)

    @property
    def macro_precision(self) -> float:
        """The mean precision of the labels seen in the truth."""
        return _mean(_precision(self._named())[self._seen()])

    @property
    def macro_recall(self) -> float:
        """The mean recall of the labels seen in the truth."""
        return _mean(_recall(self._named())[self._seen()])

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels seen in the truth."""
        return _mean(_f1(self._named())[self._seen()])

    def macro_f1_over(self, labels: int) -> float:
        """The mean F1 over ``labels`` labels, of which those not seen in the truth count as 0.

        Early in a stream this is what the paper draws: its averages are over all labels of the
        corpus, also over those that are yet to appear.
        """
        f1 = _f1(self._named())[self._seen()]
        if labels < len(f1):
            wanted = f"at least the number of labels seen, {len(f1)}"
            raise SettingError.of("labels", wanted, labels, "macro_f1_over")
        return _quotient(float(f1.sum()), labels)

    @property
    def hamming_loss(self) -> float:
        """The share of wrong decisions, (fp + fn) / (documents × labels).

        The labels are all those met so far, in the truth or in a judged prediction; a label that
        appears late counts as rightly left out of the documents before it. Of a document with
        partial labels only the labels it states are decisions.
        """
        return _quotient(self._errors(), self._decisions())

    @property
    def accuracy(self) -> float:
        """The share of right decisions, 1 − Hamming loss."""
        return _quotient(self._decisions() - self._errors(), self._decisions())

    @property
    def subset_accuracy(self) -> float:
        """The share of documents predicted without any error, among those with complete labels."""
        return _quotient(self.totals[EXACT], self.totals[WHOLE])

    def figures(self) -> Figures:
        """All measures at once."""
        return Figures(**{f.name: getattr(self, f.name) for f in fields(Figures)})

    def summary(self) -> dict[str, float]:
        """All measures by name."""
        return asdict(self.figures())

    def per_label(self) -> list[LabelRow]:
        """A row for each label met, the most frequent first, equals by name."""
        counts = self.counts
        rows = zip(
            self.names,
            (counts[TP] + counts[FN]).tolist(),
            (counts[TP] + counts[FP]).tolist(),
            _precision(counts).tolist(),
            _recall(counts).tolist(),
            _f1(counts).tolist(),
            strict=False,  # the names go on growing with the stream
        )
        other, *named = (LabelRow(*row) for row in rows)
        shown = [other, *named] if other.support or other.predicted else named
        return sorted(shown, key=lambda row: (-row.support, row.label))

    def _named(self) -> IntArray:
        return self.counts[:, 1:]

    def _seen(self) -> npt.NDArray[np.bool_]:
        named = self._named()
        seen: npt.NDArray[np.bool_] = named[TP] + named[FN] > 0
        return seen

    def _sums(self) -> tuple[int, int, int]:
        tp, fp, fn, _ = self.counts.sum(axis=1).tolist()
        return tp, fp, fn

    def _errors(self) -> int:
        return int(self._named()[FP : FN + 1].sum())

    def _decisions(self) -> int:
        named = self._named()
        return int(self.totals[WHOLE] * named.shape[1] + named[STATED].sum())


class Metrics(Measures):
    """Measures that follow a stream, at a constant cost per document.

    Of a document with a set of labels every label is judged; of one with a mapping label → bool
    only the labels it names, so that a prediction of unknown truth is neither right nor wrong;
    unlabelled documents are passed over. The figures do not depend on how the stream was cut.

    Parameters
    ----------
    max_labels
        The labels counted one by one, the first to appear. Those past it are counted together as
        ``(other labels)``: still exact in micro averages and subset accuracy, left out of macro
        averages, Hamming loss and accuracy. This bounds the memory: 32 bytes and a name per label.

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
        """Judge predictions by the truth: two columns that ``LabelSets.of`` reads."""
        truth, predicted = LabelSets.of(truth), LabelSets.of(predicted)
        if len(truth) != len(predicted):
            raise LabelError(
                f"truth and prediction must have one entry per document each. "
                f"Got {len(truth)} and {len(predicted)} instead."
            )
        names: dict[str, int] = {}  # of this batch: a model may give a number to another label
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
        """The column of each name; judged ones that are new get the next, by document and text."""
        judged = sorted(
            (document, name)
            for document, name in zip(first, names, strict=True)
            if document >= 0 and name not in self._numbers
        )
        for _, name in judged[: self.max_labels - len(self._numbers)]:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        if len(self._names) > self.counts.shape[1]:
            self._widen(len(self._names))
        return [self._numbers.get(name, 0) for name in names]

    def _widen(self, columns: int) -> None:
        if columns > self._store.shape[1]:
            store = np.zeros((4, min(2 * columns, self.max_labels + 1)), np.int64)
            store[:, : self.counts.shape[1]] = self.counts
            self._store = store
        self.counts = self._store[:, :columns]


class Window:
    """The measures of the last part of a stream, in panes.

    The window is the last ``panes`` panes; ``close_pane`` ends one and begins the next. It keeps
    the counts at the end of each pane and subtracts: no cost per document, and 32 bytes of memory
    per label and pane.

    Examples
    --------
    >>> metrics = Metrics()
    >>> window = Window(metrics, panes=1)
    >>> metrics.update_many([{"oil"}], [{"gold"}])
    >>> window.close_pane()
    >>> metrics.update_many([{"oil"}], [{"oil"}])
    >>> metrics.micro_f1, window.measures().micro_f1
    (0.5, 1.0)
    """

    def __init__(self, metrics: Metrics, panes: int) -> None:
        require_positive("Window", "panes", panes)
        self.metrics = metrics
        self._ends: deque[tuple[IntArray, IntArray]] = deque(maxlen=panes)
        self.close_pane()

    def close_pane(self) -> None:
        """End the pane, dropping the oldest of a full window."""
        self._ends.append((self.metrics.counts.copy(), self.metrics.totals.copy()))

    def measures(self) -> Measures:
        """The measures from the beginning of the oldest pane until now.

        Macro averages are over the labels true of a document of the window; Hamming loss is over
        its documents × the labels met so far in the stream.
        """
        counts, totals = self._ends[0]
        since = self.metrics.counts.copy()
        since[:, : counts.shape[1]] -= counts
        return Measures(self.metrics.names, since, self.metrics.totals - totals)


def _renumber(sets: LabelSets, numbers: dict[str, int]) -> IntArray:
    """The ids of ``sets`` by the ``numbers`` of their names, looking at the names in use only."""
    used, places = np.unique(sets.ids, return_inverse=True)
    mine = [numbers.setdefault(sets.names[i], len(numbers)) for i in used.tolist()]
    return np.array(mine, np.int64)[places]


def _precision(counts: IntArray) -> FloatArray:
    return _quotients(counts[TP], counts[TP] + counts[FP])


def _recall(counts: IntArray) -> FloatArray:
    return _quotients(counts[TP], counts[TP] + counts[FN])


def _f1(counts: IntArray) -> FloatArray:
    return _quotients(2 * counts[TP], 2 * counts[TP] + counts[FP] + counts[FN])


def _quotients(above: IntArray, below: IntArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _quotient(above: float, below: float) -> float:
    return float(above / below) if below else 0.0


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0
