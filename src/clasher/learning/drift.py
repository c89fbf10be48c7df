"""Drift: where errors rise, what was learnt before is given up, and an alarm says what changed.

The kernels count, for each label and for all together, how often it was true or predicted
(trials) and how often it was not both (errors), before the document was learnt. Every ``EVERY``
labelled documents, wherever the stream is cut, a detector compares stretches of that record.

What is told of a change.

Change detectors: whether the errors of the later part of a record exceed the earlier part's.

A record is a row of blocks, the oldest first, each with its trials and its errors; blocks that are
not filled yet have no trials. Records are detected many at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import MissingExtraError
from clasher.kernels.drift import OPEN, TRIALS
from clasher.kernels.fading import LIMIT, rescale, shrink_sketch
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, NOW, State
from clasher.labels import UNLABELLED


@dataclass(frozen=True)
class Alarm:
    """The errors of a label, or of all, have risen: its past was given up.

    Attributes
    ----------
    document : int
        How many documents the model had been shown when the alarm rang.
    label : str | None
        The label; None where the alarm is about all of them.
    error_before, error_after : float
        The fraction of the label's documents, true or predicted, that were predicted wrongly,
        before the change and since.
    gained, lost : tuple of str
        The words that are written more, or less, than before.

    Examples
    --------
    >>> print(Alarm(5120, "oil", 0.25, 0.5, ("fracking",), ("tanker", "barrel")))
    document 5,120: oil, errors 25 % → 50 %; more fracking; less tanker, barrel
    """

    document: int
    label: str | None
    error_before: float
    error_after: float
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = "all labels" if self.label is None else self.label
        told = f"document {self.document:,}: {name}, "
        told += f"errors {self.error_before:.0%} → {self.error_after:.0%}".replace("%", " %")
        for how, words in (("more", self.gained), ("less", self.lost)):
            told += f"; {how} {', '.join(words)}" if words else ""
        return told

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"gained": list(self.gained), "lost": list(self.lost)}

    @classmethod
    def of(cls, given: dict[str, Any]) -> Alarm:
        """An alarm from plain values."""
        words = {name: tuple(given[name]) for name in ("gained", "lost")}
        return cls(**(given | words))


CONFIDENCE = 1e-4  # how often a look at a stream without drift may ring, at most
SMALLEST = 48  # trials on either side of a change


class Rise(NamedTuple):
    """The error of a record has risen."""

    row: int
    before: float
    after: float


class Detector(ABC):
    """Looks at records each time a block is added to them, and cuts off what lies before a rise."""

    @abstractmethod
    def update(
        self, kind: str, rows: npt.NDArray[np.int64], records: npt.NDArray[np.float32]
    ) -> list[Rise]:
        """The rises in ``records``, which belong to ``rows`` and have just got their last block."""

    def clear(self) -> None:  # noqa: B027
        """Rows are not what they were: keep nothing but their records."""


class Window(Detector):
    """A bounded kin of ADWIN: every cut of the record into an earlier and a later part is tested.

    The test is that of ADWIN (Bifet and Gavaldà, 2007), by Bernstein's bound: the difference of the
    two means must exceed √(2 σ² ln(2/δ) / m) + 2 ln(2/δ) / 3m, with m the harmonic mean of the
    trials on both sides, halved, and δ shared by all cuts.

    Examples
    --------
    >>> record = np.array([[[100, 20]] * 10 + [[100, 60]] * 2], np.float32)
    >>> Window().update("label", np.array([7]), record)
    [Rise(row=7, before=0.2, after=0.6)]
    >>> record[0, :, 0].tolist()[-3:]
    [0.0, 100.0, 100.0]
    """

    def update(
        self, kind: str, rows: npt.NDArray[np.int64], records: npt.NDArray[np.float32]
    ) -> list[Rise]:
        """Test every cut of every record."""
        sums = records.astype(np.float64).cumsum(axis=1)
        total = sums[:, -1:]
        early, late = sums[:, :-1], total - sums[:, :-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            before, after = early[..., 1] / early[..., 0], late[..., 1] / late[..., 0]
            mean = total[..., 1] / total[..., 0]
            one_over_m = 1.0 / early[..., 0] + 1.0 / late[..., 0]
            share = np.log(2.0 * records.shape[1] / CONFIDENCE)
            bound = np.sqrt(2.0 * one_over_m * mean * (1.0 - mean) * share)
            excess = after - before - bound - 2.0 / 3.0 * one_over_m * share
        able = (early[..., 0] >= SMALLEST) & (late[..., 0] >= SMALLEST)
        excess = np.where(able, excess, -np.inf)
        cuts = excess.argmax(axis=1)
        rises = []
        for at in np.flatnonzero(excess.max(axis=1) > 0.0).tolist():
            cut = int(cuts[at])
            rises.append(Rise(int(rows[at]), float(before[at, cut]), float(after[at, cut])))
            records[at, : cut + 1] = 0.0
        return rises


class Adwin(Detector):
    """River's ADWIN, one for each record.

    A block's errors are shown to it spread evenly over its trials. Its own memory is not kept in a
    model file: it is rebuilt from the blocks that are.
    """

    def __init__(self) -> None:
        try:
            from river.drift import ADWIN
        except ImportError as error:
            raise MissingExtraError.of("The detector 'adwin'", "drift") from error
        self._new: Any = ADWIN
        self._known: dict[tuple[str, int], Any] = {}

    def update(
        self, kind: str, rows: npt.NDArray[np.int64], records: npt.NDArray[np.float32]
    ) -> list[Rise]:
        """Show each ADWIN the latest block of its record."""
        rises = []
        for at, row in enumerate(rows.tolist()):
            blocks = records[at]
            if (kind, row) not in self._known:
                self._known[kind, row] = self._new(delta=CONFIDENCE)
                for block in blocks[:-1]:
                    self._show(kind, row, block)
            rise = self._show(kind, row, blocks[-1])
            if rise is not None:
                rises.append(rise)
                blocks[:-1] = 0.0
        return rises

    def clear(self) -> None:
        """Rebuild every ADWIN from its record when it is next asked."""
        self._known.clear()

    def _show(self, kind: str, row: int, block: npt.NDArray[np.float32]) -> Rise | None:
        trials, errors = map(int, block)
        adwin = self._known[kind, row]
        rise = None
        for trial in range(trials):
            wrong = (trial + 1) * errors // trials - trial * errors // trials
            width, total = adwin.width + 1, adwin.total + wrong
            adwin.update(wrong)
            if adwin.drift_detected and width > adwin.width:
                before = (total - adwin.total) / (width - adwin.width)  # of what it dropped
                if adwin.estimation > before:
                    rise = Rise(row, before, adwin.estimation)
        return rise


def detector_of(name: str) -> Detector:
    """The detector of this name."""
    return Adwin() if name == "adwin" else Window()


EVERY = 256  # labelled documents between two looks at the errors
BLOCK = 24  # trials of a label that make a stretch of its record
KEEP = 0.1  # of what was learnt before an alarm
MOST_ALARMS = 100  # that are remembered
MOST_WORDS = 8  # that an alarm names, gained and lost
FEWEST = 4  # documents with a label that can tell what changed


WordOf: TypeAlias = Callable[[int], str | None]
"""The word behind a bucket, where one is known."""


class Stretch(NamedTuple):
    """Documents of a batch that are learnt together, and whether the errors are due after them."""

    start: int
    stop: int
    is_due: bool


class Watch:
    """Looks at the errors of one model, and remembers the alarms that rang."""

    def __init__(self, detector: str, alarms: Collection[Alarm] = ()) -> None:
        self.alarms = list(alarms)
        self.detector = detector_of(detector)

    @staticmethod
    def stretches(known: npt.NDArray[np.uint8], labelled: int) -> Iterator[Stretch]:
        """Cut a batch after each document that makes a multiple of ``EVERY`` labelled ones.

        >>> known = np.ones(300, np.uint8)
        >>> [tuple(stretch) for stretch in Watch.stretches(known, labelled=250)]
        [(0, 6, True), (6, 262, True), (262, 300, False)]
        """
        so_far = labelled + np.cumsum(known != UNLABELLED)
        due = np.flatnonzero((known != UNLABELLED) & (so_far % EVERY == 0)) + 1
        start = 0
        for stop in due.tolist():
            yield Stretch(start, stop, True)
            start = stop
        if start < len(known) or not len(known):
            yield Stretch(start, len(known), False)

    def look(self, state: State, names: list[str], word_of: WordOf) -> list[Alarm]:
        """Close the stretches that are long enough; where errors rose, give up the past."""
        labels = int(state.totals[LABELS])
        everywhere = self._rises(state.all_blocks, 1, "all")
        rises = self._rises(state.blocks, labels, "label")
        rung = [
            self._alarm(state, None if of_all else names[rise.row], rise, of_all, word_of)
            for of_all, rose in ((True, everywhere), (False, rises))
            for rise in rose
        ]
        if everywhere:
            forget(state, KEEP)
        elif rises:
            forget(state, KEEP, [rise.row for rise in rises])
        self.alarms = [*self.alarms, *rung][-MOST_ALARMS:]
        return rung

    def renumber(self) -> None:
        """The number of a label was given to another label."""
        self.detector.clear()

    def _rises(self, blocks: npt.NDArray[np.float32], rows: int, kind: str) -> list[Rise]:
        closed = np.flatnonzero(blocks[:rows, OPEN, TRIALS] >= BLOCK)
        record = blocks[closed]
        record[:, 1:-1] = record[:, 2:]
        record[:, -1] = record[:, OPEN]
        record[:, OPEN] = 0.0
        rises = self.detector.update(kind, closed, record[:, 1:])
        blocks[closed] = record
        return rises

    def _alarm(
        self, state: State, label: str | None, rise: Rise, of_all: bool, word_of: WordOf
    ) -> Alarm:
        change = all_changed(state) if of_all else label_changed(state, rise.row)
        words = [_most(way, word_of) for way in (change, -change)]
        document, before, after = int(state.totals[DOCUMENTS]), rise.before, rise.after
        return Alarm(document, label, round(before, 4), round(after, 4), *words)


def _most(change: npt.NDArray[np.float64], word_of: WordOf) -> tuple[str, ...]:
    """The words of the buckets that changed most."""
    buckets = np.argsort(-change, kind="stable")[:MOST_WORDS]
    words = (word_of(int(bucket)) for bucket in buckets if change[bucket] > 0)
    return tuple(word for word in words if word is not None)


def forget(state: State, keep: float, numbers: Collection[int] | None = None) -> None:
    """Let what was learnt so far weigh ``keep`` of what it did, for some labels or for all.

    Nothing that is kept per bucket and label is touched: what comes counts for more. The sketch has
    no labels, so it only fades with all of them.
    """
    chosen = list(range(state.totals[LABELS]) if numbers is None else numbers)
    state.gains[chosen] /= keep
    if numbers is None:
        shrink_sketch(state, keep)
    if state.gains.max() * state.clock[NOW] > LIMIT:
        rescale(state)


def label_changed(state: State, number: int) -> npt.NDArray[np.float64]:
    """How much more weight each bucket has in the latest documents of a label than in its mean.

    Nowhere any, where too few documents are kept or, with the perceptron, no mean is.
    """
    m = state.rows.shape[0]
    own = np.flatnonzero((state.recent_labels == number).any(axis=1))
    if len(own) < FEWEST or not state.together.size:
        return np.zeros(m)
    buckets, x = state.recent_buckets[own], state.recent_x[own]
    recent = np.bincount(buckets[buckets >= 0], x[buckets >= 0], minlength=m)
    mean = state.rows[:, 0, number] / state.counts[number]
    changed: npt.NDArray[np.float64] = np.abs(recent / len(own)) - np.abs(mean)
    return changed


def all_changed(state: State) -> npt.NDArray[np.float64]:
    """How much more of all that is written falls into each bucket now than before, times its IDF.

    Common words would come first otherwise.
    """
    kept = state.recent_buckets[state.recent_buckets >= 0]
    recent = np.bincount(kept, minlength=state.rows.shape[0])
    frequencies = state.frequencies[0]
    changed: npt.NDArray[np.float64] = recent / max(1, recent.sum())
    changed -= frequencies / max(frequencies.sum(), 1e-300)
    one = state.clock[NOW]
    changed *= np.log((state.clock[FADED] + one) / (frequencies + one))
    return changed
