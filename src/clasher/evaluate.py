"""Test, then train, in one pass over a stream (sections 2.2 and 6.5), also with few labels (6.6).

Each document is classified before the model learns its labels, so the figures are those of a model
that has never seen the document. A background thread reads, parses labels and hashes ahead; the
caller's thread learns and counts in the order of the stream.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from clasher import frames
from clasher.errors import StreamError, is_integer, is_number, require, require_positive
from clasher.io.read_ahead import HeldInterrupt, read_ahead
from clasher.labels import UNLABELLED, LabelSets
from clasher.learning.drift import Alarm
from clasher.metrics import RANKS, Figures, LabelRow, Metrics, RankedFigures, RankedMetrics, Window
from clasher.model import Clasher
from clasher.text.hashing import Hashed
from clasher.version import __version__

MAX_POINTS = 2000  # of a curve; even, so that halving keeps the last point
PIECE = 1000  # documents learnt between two looks at progress and Ctrl-C
STATM = Path("/proc/self/statm")

Batch: TypeAlias = tuple[Hashed, LabelSets]


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Counts, time and memory of an evaluation so far."""

    documents: int
    judged: int
    labels: int
    seconds: float
    documents_per_second: float
    state_bytes: int
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Progress(Totals):
    """The state of a progress bar; ``documents_per_second`` is that of the whole run."""

    macro_f1: float
    micro_f1: float
    alarms: int = 0


@dataclass(frozen=True, kw_only=True)
class Point(Totals):
    """A point of the curve; ``documents_per_second`` is that since the previous point."""

    cumulative: Figures
    window: Figures


@dataclass(frozen=True, kw_only=True)
class Evaluation(Figures, Totals):
    """The figures of a whole stream, as in ``clasher.metrics``, and its curve.

    Macro averages are over all labels of the stream, as in the paper. At a point of the curve they
    are over the labels seen until then (or in its window); ``macro_f1_over_all`` converts them to
    averages over all labels.

    ``documents`` counts all documents, ``judged`` those with labels, ``labels`` the labels seen in
    the truth. ``seconds`` is the wall time from the call of ``evaluate`` to the last document,
    including waits for the source and, on a first run, the compilation of the kernels.
    ``memory_bytes`` is the memory of the whole process at the end, ``state_bytes`` the model's.
    ``taught`` counts the documents whose labels the model learnt: all that were judged, unless
    ``label_probability`` is below 1. ``alarms`` are the latest changes found by the model's
    detector, if it has one. ``ranked`` is None unless it was asked for.
    """

    interrupted: bool
    taught: int
    label_probability: float
    every: int
    window: int
    clasher: str
    settings: dict[str, Any]
    curve: list[Point]
    per_label: list[LabelRow]
    alarms: list[Alarm] = field(default_factory=list)
    ranked: RankedFigures | None = None

    def macro_f1_over_all(self) -> list[float]:
        """Return macro F1 at each point of the curve, with 0 for labels still to come.

        The paper draws this curve.
        """
        return [
            point.cumulative.macro_f1 * point.labels / self.labels if self.labels else 0.0
            for point in self.curve
        ]

    def _repr_html_(self) -> str:
        heads = ["documents", "labels", "macro F1", "micro F1", "documents/s"]
        figures = (f"{self.macro_f1:.3f}", f"{self.micro_f1:.3f}")
        line = (self.documents, self.labels, *figures, f"{self.documents_per_second:,.0f}")
        frequent = sorted(self.per_label, key=lambda row: -row.support)[:10]
        labels = [(row.label, row.support, f"{row.f1:.3f}") for row in frequent]
        return frames.card(
            "Test, then train",
            frames.rows(heads, [line]),
            frames.curve("micro F1 along the stream", [p.window.micro_f1 for p in self.curve]),
            frames.rows(["label", "documents", "F1"], labels),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, the main figures first."""
        main = ("documents", "labels", "macro_f1", "micro_f1", "documents_per_second")
        result = {name: getattr(self, name) for name in (*main, "state_bytes")} | asdict(self)
        for point, macro_f1 in zip(result["curve"], self.macro_f1_over_all(), strict=True):
            point["macro_f1_over_all"] = macro_f1
        result["per_label"] = [row._asdict() for row in self.per_label]
        result["alarms"] = [alarm.to_dict() for alarm in self.alarms]
        return result


def evaluate(
    model: Clasher,
    batches: Iterable[tuple[Any, Any]],
    *,
    every: int = 1000,
    window: int = 10,
    limit: int | None = None,
    label_probability: float = 1.0,
    seed: int = 0,
    ranked: bool = False,
    on_progress: Callable[[Progress], object] | None = None,
    ahead: int = 2,
) -> Evaluation:
    """Test, then train ``model`` on a stream.

    Documents without labels are observed and not judged. Ctrl-C ends the evaluation after the
    current documents and returns the figures so far, marked ``interrupted``; a second Ctrl-C raises
    KeyboardInterrupt at once. The stream may be endless: memory stays bounded.

    Parameters
    ----------
    model
        The model to test and train.
    batches
        Pairs (texts, labels) of columns, as for ``Clasher.step_many``. How the stream is cut into
        batches changes no figure.
    every
        Documents between two points of the curve. At 2,000 points the curve drops every second one
        and becomes twice as coarse; the end of the stream is always a point.
    window
        The sliding window is the last ``window`` × ``every`` documents.
    limit
        Stop after this many documents.
    label_probability
        The probability that the model sees a document's labels (section 6.6). Every document is
        still predicted and judged, and its words are counted.
    seed
        Decides, with the position of a document in the stream, whether its labels are shown.
    ranked
        Measure the order of the best labels too: precision at 1, 3 and 5, plain and
        propensity-scored (``clasher.metrics.RankedMetrics``).
    on_progress
        Called after every batch (at most 1,000 documents) and every point of the curve.
    ahead
        Batches to read and hash ahead.

    Examples
    --------
    >>> from clasher import Clasher
    >>> texts = ["wheat and corn", "crude oil prices"] * 50
    >>> labels = [{"grain"}, {"oil", "energy"}] * 50
    >>> result = evaluate(Clasher(dimensions=1024), [(texts, labels)], every=50, window=1)
    >>> result.documents, result.labels, [point.documents for point in result.curve]
    (100, 3, [50, 100])
    >>> result.subset_accuracy, result.curve[-1].window.subset_accuracy
    (0.98, 1.0)
    """
    for name, value in {"every": every, "window": window, "limit": limit, "ahead": ahead}.items():
        if name != "limit" or value is not None:
            require_positive("evaluate", name, value)
    is_share = is_number(label_probability, 0.0, 1.0)
    require(is_share, "label_probability", "a number from 0 to 1", label_probability, "evaluate")
    require(is_integer(seed, 0), "seed", "an integer from 0 on", seed, "evaluate")
    require(isinstance(ranked, bool), "ranked", "True or False", ranked, "evaluate")
    run = _Run(model, every, window, float(label_probability), seed, ranked)
    source = read_ahead(_hashed(model, batches, limit), ahead)
    with HeldInterrupt() as ctrl_c, closing(source):
        for hashed, sets in ctrl_c.between(_pieces(source, every)):
            run.step(hashed, sets)
            if on_progress is not None:
                on_progress(run.progress())
    if not run.documents and not ctrl_c.asked:
        remedy = "check its source, and whether its records were skipped"
        raise StreamError(f"the stream holds no document; {remedy}")
    return run.finish(interrupted=ctrl_c.asked)


class _Run:
    def __init__(
        self, model: Clasher, every: int, window: int, probability: float, seed: int, ranked: bool
    ) -> None:
        self.model = model
        self.probability = probability
        self.random = np.random.default_rng(seed)
        self.taught = 0
        self.metrics = Metrics()
        self.ranked = RankedMetrics() if ranked else None
        self.window = Window(self.metrics, window)
        self.panes = window
        self.every = self.stride = every
        self.curve: list[Point] = []
        self.documents = 0
        self.learnt_before = model.documents
        self.seconds = 0.0
        self._start = perf_counter()

    def step(self, hashed: Hashed, sets: LabelSets) -> None:
        shown = sets
        if self.probability < 1.0:  # by the position in the stream, however that is cut
            shown = sets.only(self.random.random(len(sets)) < self.probability)
        if self.ranked is None:
            predicted = self.model.step_many(hashed, shown)
        else:
            predicted, best = self.model.step_and_rank_many(hashed, shown, k=max(RANKS))
            self.ranked.update_many(sets, best)
        self.taught += int(np.count_nonzero(shown.known != UNLABELLED))
        self.metrics.update_many(sets, predicted)
        self.documents += len(sets)
        self.seconds = perf_counter() - self._start
        if self.documents % self.every == 0:
            if self.documents % self.stride == 0:
                self._add_point()
            self.window.close_pane()

    def progress(self) -> Progress:
        f1: dict[str, Any] = {"macro_f1": self.metrics.macro_f1, "micro_f1": self.metrics.micro_f1}
        return Progress(**self._totals(), **f1, alarms=len(self._alarms()))

    def finish(self, interrupted: bool) -> Evaluation:
        if self.documents and (not self.curve or self.curve[-1].documents < self.documents):
            self._add_point()
        before = [(0, 0.0), *((point.documents, point.seconds) for point in self.curve)]
        curve = [_since(point, *start) for point, start in zip(self.curve, before, strict=False)]
        return Evaluation(
            **asdict(self.metrics.figures()), **self._totals(), interrupted=interrupted,
            taught=self.taught, label_probability=self.probability, every=self.every,
            window=self.panes, clasher=__version__, settings=self.model.settings.to_dict(),
            curve=curve, per_label=self.metrics.per_label(), alarms=self._alarms(),
            ranked=None if self.ranked is None else self.ranked.figures(),
        )  # fmt: skip

    def _alarms(self) -> list[Alarm]:
        return [alarm for alarm in self.model.alarms if alarm.document > self.learnt_before]

    def _totals(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "judged": self.metrics.documents,
            "labels": len(self.metrics.labels),
            "seconds": self.seconds,
            "documents_per_second": self.documents / self.seconds if self.seconds else 0.0,
            "state_bytes": self.model.nbytes,
            "memory_bytes": process_memory(),
        }

    def _add_point(self) -> None:
        cumulative, window = self.metrics.figures(), self.window.measures().figures()
        self.curve.append(Point(**self._totals(), cumulative=cumulative, window=window))
        if len(self.curve) == MAX_POINTS:
            self.curve = self.curve[1::2]
            self.stride *= 2


def _since(point: Point, documents: int, seconds: float) -> Point:
    """Set the speed of a point to that since the point before, after these documents."""
    documents, seconds = point.documents - documents, point.seconds - seconds
    return replace(point, documents_per_second=documents / seconds if seconds > 0 else 0.0)


def _hashed(
    model: Clasher, batches: Iterable[tuple[Any, Any]], limit: int | None
) -> Generator[Batch]:
    for texts, labels in batches:
        hashed = model.hash_many(texts)
        sets = LabelSets.of(labels, hashed.documents)
        if limit is not None and limit <= len(sets):
            yield hashed.part(0, limit), sets[:limit]
            return
        limit = None if limit is None else limit - len(sets)
        yield hashed, sets


def _pieces(batches: Iterable[Batch], every: int) -> Iterator[Batch]:
    """Cut batches after every ``every`` documents, and into pieces of at most ``PIECE``."""
    documents = 0
    for hashed, sets in batches:
        start = 0
        while start < len(sets):
            stop = min(len(sets), start + PIECE, start + every - documents % every)
            yield hashed.part(start, stop), sets[start:stop]
            documents += stop - start
            start = stop


def process_memory() -> int:
    """Return the bytes of memory of this process, their peak if only that is known, else 0."""
    with suppress(ImportError):
        import psutil

        return int(psutil.Process().memory_info().rss)
    with suppress(OSError):
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0
