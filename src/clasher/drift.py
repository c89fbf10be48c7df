"""Drift: where errors rise, what was learnt before is given up, and an alarm says what changed.

The kernels count, for each label and for all together, how often it was true or predicted
(trials) and how often it was not both (errors), before the document was learnt. Every ``EVERY``
labelled documents, wherever the stream is cut, a detector compares stretches of that record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.detectors import Detector, Rise, detector_of
from clasher.kernels.drift import OPEN, TRIALS
from clasher.kernels.fading import LIMIT, rescale
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, NOW, State
from clasher.label_columns import UNLABELLED
from clasher.settings import Settings

EVERY = 256  # labelled documents between two looks at the errors
BLOCK = 24  # trials of a label that make a stretch of its record
KEEP = 0.25  # of what was learnt before an alarm
MOST_ALARMS = 100  # that are remembered
MOST_WORDS = 8  # that an alarm names, gained and lost
FEWEST = 4  # documents with a label that can tell what changed


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


class Stretch(NamedTuple):
    """Documents of a batch that are learnt together, and whether the errors are due after them."""

    start: int
    stop: int
    is_due: bool


class Watch:
    """Looks at the errors of one model, and remembers the alarms that rang."""

    def __init__(self, settings: Settings, alarms: Collection[Alarm] = ()) -> None:
        self.alarms = list(alarms)
        self.detector: Detector = detector_of(settings.detector)

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

    def look(
        self, state: State, names: list[str], word_of: Callable[[int], str | None]
    ) -> list[Alarm]:
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

    def clear(self, number: int) -> None:
        """A label's number is given to another label."""
        self.detector.clear("label", number)

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
        self,
        state: State,
        label: str | None,
        rise: Rise,
        of_all: bool,
        word_of: Callable[[int], str | None],
    ) -> Alarm:
        change = all_changed(state) if of_all else label_changed(state, rise.row)
        order = np.argsort(change, kind="stable")
        gained = [int(b) for b in order[: -MOST_WORDS - 1 : -1] if change[b] > 0]
        lost = [int(b) for b in order[:MOST_WORDS] if change[b] < 0]
        return Alarm(
            int(state.totals[DOCUMENTS]),
            label,
            round(rise.before, 4),
            round(rise.after, 4),
            tuple(filter(None, map(word_of, gained))),
            tuple(filter(None, map(word_of, lost))),
        )


def forget(state: State, keep: float, numbers: Collection[int] | None = None) -> None:
    """Let what was learnt so far weigh ``keep`` of what it did, for some labels or for all.

    Label sums are not touched: what comes counts for more. The sketch is, as it is small; it has no
    labels, so it only fades with all of them.
    """
    if numbers is None:
        state.gains[: state.totals[LABELS]] /= keep
        state.clock[FADED] *= keep
        np.multiply(state.frequencies, keep, out=state.frequencies)
    else:
        state.gains[list(numbers)] /= keep
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
    recent = np.bincount(
        state.recent_buckets[own].ravel(), state.recent_x[own].ravel(), minlength=m
    )
    mean = state.rows[:, 0, number] / state.counts[number]
    changed: npt.NDArray[np.float64] = np.abs(recent / len(own)) - np.abs(mean)
    return changed


def all_changed(state: State) -> npt.NDArray[np.float64]:
    """How much more of all that is written falls into each bucket now than over the whole stream."""
    kept = state.recent_buckets[state.recent_x != 0]
    recent = np.bincount(kept, minlength=state.rows.shape[0])
    frequencies = state.frequencies[0]
    changed: npt.NDArray[np.float64] = recent / max(1, recent.sum())
    changed -= frequencies / max(frequencies.sum(), 1e-300)
    return changed
