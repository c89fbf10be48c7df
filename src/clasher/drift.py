"""Drift: where errors rise, what was learnt before is given up, and an alarm says what changed.

The kernels count, for each label and for all together, how often it was true or predicted
(trials) and how often it was not both (errors), before the document was learnt. Every ``EVERY``
labelled documents, wherever the stream is cut, a detector compares stretches of that record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.alarms import Alarm
from clasher.detectors import Rise, detector_of
from clasher.kernels.drift import OPEN, TRIALS
from clasher.kernels.fading import LIMIT, rescale, shrink_sketch
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, NOW, State
from clasher.label_columns import UNLABELLED

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
