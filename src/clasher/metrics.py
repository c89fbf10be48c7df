"""Multi-label measures of a stream (section 6.1), in one pass and bounded memory.

For each label j, three counts are kept: hits n++ (tp), false alarms n+- (fp) and misses n-+ (fn).
All measures follow from them:

    precision_j = tp / (tp + fp)    recall_j = tp / (tp + fn)
    F1_j = 2 tp / (2 tp + fp + fn)                                       (Eq. 21)

A *macro* average is the mean of a measure over labels, a *micro* average is the measure of the
summed counts. A ratio with a zero denominator is 0.

``RankedMetrics`` measures the order of the best labels: precision at 1, 3 and 5, plain and
propensity-scored.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelError, is_number, require, require_positive
from clasher.kernels.labels import EXACT, FN, FP, JUDGED, STATED, TP, WHOLE, count
from clasher.labels import COMPLETE, LabelSets, Rankings

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
        self._table = _Table(4, max_labels)
        super().__init__(self._table.names, self._table.counts, np.zeros(3, np.int64))

    def update_many(self, truth: Any, predicted: Any) -> None:
        """Compare predictions with the truth; both are columns for ``LabelSets.of``."""
        truth, predicted = LabelSets.of(truth), LabelSets.of(predicted)
        _require_pairs(truth, predicted)
        names: dict[str, int] = {}  # of this batch: eviction may change the numbers of a model
        truth_ids, predicted_ids = _renumber(truth, names), _renumber(predicted, names)
        counts = np.zeros((4, len(names)), np.int64)
        first = np.full(len(names), -1, np.int64)
        count(
            truth_ids, truth.indptr, truth.yes, truth.known,
            predicted_ids, predicted.indptr, predicted.yes,
            np.zeros(len(names), np.uint8), first, counts, self.totals,
        )  # fmt: skip
        columns = np.array(self._table.columns(list(names), first.tolist()), np.int64)
        self.counts, own = self._table.counts, columns > 0
        self.counts[:, columns[own]] += counts[:, own]
        self.counts[:, 0] += counts[:, ~own].sum(axis=1)  # labels past max_labels share a column


class _Table:
    """Counts with a column for each of the first ``max_labels`` labels, the first for all others.

    The room for columns doubles as labels appear.
    """

    def __init__(self, rows: int, max_labels: int) -> None:
        self.max_labels = max_labels
        self.names = [OTHER]
        self.counts: IntArray = np.zeros((rows, 1), np.int64)
        self._numbers: dict[str, int] = {}
        self._store = self.counts

    def columns(self, names: list[str], first: list[int]) -> list[int]:
        """Return the column of each name; add new judged names by document, then text.

        ``first`` is the first document that judges each name, negative if none does.
        """
        judged = sorted(
            (document, name)
            for document, name in zip(first, names, strict=True)
            if document >= 0 and name not in self._numbers
        )
        for _, name in judged[: self.max_labels - len(self._numbers)]:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        columns = len(self.names)
        if columns > self._store.shape[1]:
            rows = len(self._store)
            self._store = np.zeros((rows, min(2 * columns, self.max_labels + 1)), np.int64)
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


RANKS = (1, 3, 5)
"""The numbers of best labels that ``RankedMetrics`` judges."""

SUPPORT, HITS, IDEAL = 0, 1, 1 + len(RANKS)
"""Rows of the counts of ``RankedMetrics``; hits and ideal have one for each of ``RANKS``."""


@dataclass(frozen=True, kw_only=True)
class RankedFigures:
    """Precision at 1, 3 and 5, plain and propensity-scored (``psp``)."""

    precision_at_1: float
    precision_at_3: float
    precision_at_5: float
    psp_at_1: float
    psp_at_3: float
    psp_at_5: float


def propensities(support: Any, documents: int, a: float = 0.55, b: float = 1.5) -> FloatArray:
    """Return the propensity of labels that ``support`` of the labelled documents carry.

    It models the probability that a label that applies is among the labels of a document (Jain et
    al. 2016). Rare labels are missed most:

        1 / (1 + C·exp(-A·log(support + B)))    C = (log documents - 1)·(B + 1)^A

    Of one or two documents C would be negative; it is 0 then, and all propensities are 1.

    >>> propensities([1, 10, 100], documents=1000).round(3)
    array([0.145, 0.282, 0.565])
    """
    c = max(np.log(max(documents, 1)) - 1, 0.0) * (b + 1) ** a
    return np.asarray(1 / (1 + c * (np.asarray(support) + b) ** -a), np.float64)


class RankedMetrics:
    """Precision of the best 1, 3 and 5 labels of each document, at constant cost per document.

    *Precision at k* is the share of true labels among the best k, averaged over documents. A
    ranking of fewer than k labels counts as if wrong ones followed. *Propensity-scored precision
    at k* (Jain, Prabhu, Varma: Extreme Multi-label Loss Functions, KDD 2016) counts a true label as
    1 / propensity, and divides by the same sum for ideal rankings, the k rarest true labels of each
    document. Hits on rare labels therefore count more.

    Only documents with complete labels, at least one, are judged.

    Both sums use the propensities at the end, from the judged documents so far: hits are counted
    per label. Documents are not kept, so which of more than k true labels are the rarest is decided
    when a document comes, by the documents before it. If another label is the rarest at the end,
    the ideal sum is too low, and the measure a little too high. If ``propensities`` are given, by
    label, the measure is exactly the published one. Labels that they do not name get the lowest.

    The first ``max_labels`` labels are counted separately, to bound memory to 56 bytes and a name
    per label. Later ones count in precision at k and are left out of the propensity-scored one. The
    figures do not depend on how the stream is cut.

    Examples
    --------
    >>> metrics = RankedMetrics()
    >>> metrics.update_many([{"oil"}, {"oil", "gold"}], [["oil", "corn"], ["corn", "gold"]])
    >>> metrics.precision(1), metrics.precision(3)
    (0.5, 0.3333333333333333)
    >>> metrics = RankedMetrics(propensities={"oil": 0.5, "gold": 0.25})
    >>> metrics.update_many([{"oil", "gold"}], [["oil", "gold"]])
    >>> metrics.propensity_scored_precision(1), metrics.propensity_scored_precision(3)
    (0.5, 1.0)
    """

    def __init__(
        self, max_labels: int = 100_000, propensities: Mapping[str, float] | None = None
    ) -> None:
        require_positive("RankedMetrics", "max_labels", max_labels)
        if propensities is not None:
            values = propensities.values()
            is_good = bool(values) and all(is_number(p, 0, 1) and p > 0 for p in values)
            wanted = "a mapping from labels to numbers above 0, at most 1"
            require(is_good, "propensities", wanted, propensities, "RankedMetrics")
        self.max_labels = max_labels
        self.documents = 0
        self._given = None if propensities is None else dict(propensities)
        self._table = _Table(1 + 2 * len(RANKS), max_labels)

    def update_many(self, truth: Any, ranked: Any) -> None:
        """Compare rankings with the truth: columns for ``LabelSets.of`` and ``Rankings.of``."""
        truth, ranked = LabelSets.of(truth), Rankings.of(ranked).sets
        _require_pairs(truth, ranked)
        names: dict[str, int] = {}  # of this batch
        truth_ids, ranked_ids = _renumber(truth, names), _renumber(ranked, names)
        is_true = truth.yes & (truth.known == COMPLETE)[truth.documents]
        size = max(len(names), 1)
        true = np.unique((truth.documents * size + truth_ids)[is_true])  # each label once
        documents, labels = np.divmod(true, size)
        first = np.full(len(names), -1, np.int64)
        first[labels[::-1]] = documents[::-1]  # the first document is written last
        columns = np.array(self._table.columns(list(names), first.tolist()), np.int64)

        entries = ranked.documents * size + ranked_ids
        once = np.unique(entries, return_index=True)[1]  # a label ranked twice hits once
        hits = once[np.isin(entries[once], true)]
        places = hits - ranked.indptr[ranked.documents[hits]]
        self._add(HITS, columns[ranked_ids[hits]], places)
        self._add(IDEAL, *self._ideal(documents, columns[labels]))
        self._add_to(SUPPORT, columns[labels])
        self.documents += len(np.unique(documents))

    def precision(self, k: int) -> float:
        """Return the mean share of true labels among the best ``k``: 1, 3 or 5."""
        hits = self._table.counts[HITS + self._rank(k)].sum()
        return _quotient(hits, k * self.documents)

    def propensity_scored_precision(self, k: int) -> float:
        """Return the same for hits that count 1 / propensity, as a share of the best possible."""
        hits, ideal = (
            self._table.counts[row + self._rank(k), 1:] / self._propensities()
            for row in (HITS, IDEAL)
        )
        return _quotient(hits.sum(), ideal.sum())

    def figures(self) -> RankedFigures:
        """Return all measures."""
        plain = {f"precision_at_{k}": self.precision(k) for k in RANKS}
        scored = {f"psp_at_{k}": self.propensity_scored_precision(k) for k in RANKS}
        return RankedFigures(**plain, **scored)

    @staticmethod
    def _rank(k: int) -> int:
        require(k in RANKS, "k", "1, 3 or 5", k, "RankedMetrics")
        return RANKS.index(k)

    def _propensities(self) -> FloatArray:
        """Return the propensities of the named labels now."""
        if self._given is None:
            return propensities(self._table.counts[SUPPORT, 1:], self.documents)
        least = min(self._given.values())
        return np.array([self._given.get(name, least) for name in self._table.names[1:]])

    def _ideal(self, documents: IntArray, columns: IntArray) -> tuple[IntArray, IntArray]:
        """Return the columns of true labels, and their places in an ideal ranking: rarest first.

        Of equally rare labels the one that appeared first is taken.
        """
        documents, columns = documents[columns > 0], columns[columns > 0]
        if self._given is None:
            rarity: Any = self._table.counts[SUPPORT, columns] + _earlier(columns)
        else:
            rarity = self._propensities()[columns - 1]
        order = np.lexsort((columns, rarity, documents))
        return columns[order], _earlier(documents)  # documents stay in order

    def _add(self, row: int, columns: IntArray, places: IntArray) -> None:
        """Count labels at these places of rankings, in the row of each k."""
        for at, k in enumerate(RANKS):
            self._add_to(row + at, columns[places < k])

    def _add_to(self, row: int, columns: IntArray) -> None:
        counts = self._table.counts
        counts[row] += np.bincount(columns, minlength=counts.shape[1])


def _earlier(values: IntArray) -> IntArray:
    """Return how often each value occurs before its place.

    >>> _earlier(np.array([7, 5, 7, 7, 5])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    before = np.empty(len(values), np.int64)
    before[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return before


def _require_pairs(truth: LabelSets, predicted: LabelSets) -> None:
    if len(truth) != len(predicted):
        raise LabelError(
            f"truth and prediction must have one entry per document each. "
            f"Got {len(truth)} and {len(predicted)} instead."
        )


def _renumber(sets: LabelSets, numbers: dict[str, int]) -> IntArray:
    """Renumber the ids of ``sets`` by name; add names in use to ``numbers``."""
    return sets.renumbered(lambda name: numbers.setdefault(name, len(numbers)))[sets.ids]


def _quotient(above: float, below: float) -> float:
    return float(above / below) if below else 0.0
