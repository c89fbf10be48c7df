"""Drift: detect where errors rise, forget what was learnt before, and raise an alarm.

The kernels count, for each label and for all together, how often it was true or predicted
(trials) and how often only one of the two (errors), before the document was learnt. These counts
form a record: a row of blocks, oldest first; blocks that are not filled yet have no trials. Every
``EVERY`` labelled documents, however the stream is cut, a detector compares parts of each record.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import MissingExtraError
from clasher.kernels.decay import LIMIT, rescale, shrink_sketch
from clasher.kernels.drift import OPEN, TRIALS
from clasher.kernels.margin import add_up_spent
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, NOW, State
from clasher.labels import UNLABELLED
from clasher.learning import memory
from clasher.learning.explain import word_of

EVERY = 256  # labelled documents between two looks at the errors
BLOCK = 24  # trials of a label that fill a block
KEEP = 0.1  # share of the past that an alarm keeps
MOST_ALARMS = 100
MOST_WORDS = 8  # words an alarm names, gained and lost each
FEWEST = 4  # documents of a label needed to name its words
CONFIDENCE = 1e-4  # false alarms per look, at most
SMALLEST = 48  # trials on either side of a change

Records = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Alarm:
    """The errors of a label, or of all labels, have risen: the model forgot most of its past.

    Attributes
    ----------
    document : int
        Documents the model had been shown at the alarm.
    label : str | None
        The label; None for all labels together.
    error_before, error_after : float
        Of the label's documents, true or predicted, the fraction predicted wrongly, before the
        change and since.
    gained, lost : tuple of str
        Words that appear more, or less, than before.

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
        errors = f"errors {self.error_before:.0%} → {self.error_after:.0%}".replace("%", " %")
        text = f"document {self.document:,}: {name}, {errors}"
        for how, words in (("more", self.gained), ("less", self.lost)):
            text += f"; {how} {', '.join(words)}" if words else ""
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"gained": list(self.gained), "lost": list(self.lost)}

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read what ``to_dict`` returned."""
        words = {name: tuple(values[name]) for name in ("gained", "lost")}
        return cls(**(values | words))


class Rise(NamedTuple):
    """The error of a record has risen."""

    row: int
    before: float
    after: float


class WindowDetector:
    """A bounded relative of ADWIN: test every cut of a record into an earlier and a later part.

    The test is ADWIN's (Bifet and Gavaldà, 2007), by Bernstein's bound: the difference of the two
    means must exceed √(2 σ² ln(2/δ) / m) + 2 ln(2/δ) / 3m, with m half the harmonic mean of the
    trials on both sides, and δ shared by all cuts.
    """

    def update(self, kind: str, rows: npt.NDArray[np.int64], records: Records) -> list[Rise]:
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

    def clear(self) -> None:
        """Do nothing: it keeps no state."""


class AdwinDetector:
    """River's ADWIN, one for each record.

    A block's errors are spread evenly over its trials. A model file holds the blocks only: each
    ADWIN is rebuilt from them.
    """

    def __init__(self) -> None:
        try:
            from river.drift import ADWIN
        except ImportError as error:
            raise MissingExtraError.of("The detector 'adwin'", "drift") from error
        self._new: Any = ADWIN
        self._known: dict[tuple[str, int], Any] = {}

    def update(self, kind: str, rows: npt.NDArray[np.int64], records: Records) -> list[Rise]:
        """Feed the latest block of each record to its ADWIN; clear the blocks before a rise."""
        rises = []
        for blocks, row in zip(records, rows.tolist(), strict=True):
            if (kind, row) not in self._known:
                self._known[kind, row] = self._new(delta=CONFIDENCE)
                for block in blocks[:-1]:
                    self._feed(kind, row, block)
            rise = self._feed(kind, row, blocks[-1])
            if rise is not None:
                rises.append(rise)
                blocks[:-1] = 0.0
        return rises

    def clear(self) -> None:
        self._known.clear()

    def _feed(self, kind: str, row: int, block: npt.NDArray[np.float32]) -> Rise | None:
        trials, errors = map(int, block)
        adwin = self._known[kind, row]
        rise = None
        for trial in range(trials):
            wrong = (trial + 1) * errors // trials - trial * errors // trials
            width, total = adwin.width + 1, adwin.total + wrong
            adwin.update(wrong)
            if adwin.drift_detected and width > adwin.width:
                before = (total - adwin.total) / (width - adwin.width)  # of the part it dropped
                if adwin.estimation > before:
                    rise = Rise(row, before, adwin.estimation)
        return rise


class Watch:
    """Looks at the errors of one model, and keeps its alarms."""

    def __init__(self, detector: str, alarms: Collection[Alarm] = ()) -> None:
        self.alarms = list(alarms)
        self.detector = AdwinDetector() if detector == "adwin" else WindowDetector()

    @staticmethod
    def stretches(known: npt.NDArray[np.uint8], labelled: int) -> Iterator[tuple[int, int, bool]]:
        """Cut a batch after each multiple of ``EVERY`` labelled documents: it is time to look."""
        so_far = labelled + np.cumsum(known != UNLABELLED)
        due = np.flatnonzero((known != UNLABELLED) & (so_far % EVERY == 0)) + 1
        start = 0
        for stop in due.tolist():
            yield start, stop, True
            start = stop
        if start < len(known) or not len(known):
            yield start, len(known), False

    def look(self, state: State, names: list[str]) -> None:
        """Close the blocks that are full; where errors rose, forget the past and raise alarms."""
        of_all = self._rises(state.all_blocks, 1, "all")
        of_labels = self._rises(state.blocks, int(state.totals[LABELS]), "label")
        raised = [_alarm(state, None, rise, all_changed(state)) for rise in of_all]
        for rise in of_labels:
            raised.append(_alarm(state, names[rise.row], rise, label_changed(state, rise.row)))
        if of_all:
            forget(state, KEEP)
        elif of_labels:
            forget(state, KEEP, [rise.row for rise in of_labels])
        self.alarms = [*self.alarms, *raised][-MOST_ALARMS:]

    def _rises(self, blocks: Records, rows: int, kind: str) -> list[Rise]:
        closed = np.flatnonzero(blocks[:rows, OPEN, TRIALS] >= BLOCK)
        record = blocks[closed]
        record[:, 1:-1] = record[:, 2:]
        record[:, -1] = record[:, OPEN]
        record[:, OPEN] = 0.0
        rises = self.detector.update(kind, closed, record[:, 1:])
        blocks[closed] = record
        return rises


def _alarm(state: State, label: str | None, rise: Rise, change: npt.NDArray[np.float64]) -> Alarm:
    words: list[tuple[str, ...]] = [(), ()]  # none if the model keeps no words
    for at, way in enumerate((change, -change) if len(state.word_keys) else ()):
        buckets = np.argsort(-way, kind="stable")[:MOST_WORDS]
        found = (word_of(state, int(bucket)) for bucket in buckets if way[bucket] > 0)
        words[at] = tuple(word for word in found if word is not None)
    document, before, after = int(state.totals[DOCUMENTS]), rise.before, rise.after
    return Alarm(document, label, round(before, 4), round(after, 4), *words)


def label_changed(state: State, number: int) -> npt.NDArray[np.float64]:
    """Return how much more each bucket weighs in a label's latest documents than in its mean."""
    m = state.frequencies.shape[1]
    own = np.flatnonzero((state.recent_labels == number).any(axis=1))
    if len(own) < FEWEST or not state.together.size:
        return np.zeros(m)  # too few documents, or the perceptron, which keeps no mean
    buckets, x = state.recent_buckets[own], state.recent_x[own]
    recent = np.bincount(buckets[buckets >= 0], x[buckets >= 0], minlength=m)
    mean = memory.column(state, "rows", number)[0] / state.counts[number]
    return np.asarray(np.abs(recent / len(own)) - np.abs(mean))


def all_changed(state: State) -> npt.NDArray[np.float64]:
    """Return how much the share of each bucket in all text has grown, times its IDF."""
    kept = state.recent_buckets[state.recent_buckets >= 0]
    recent = np.bincount(kept, minlength=state.frequencies.shape[1])
    frequencies = state.frequencies[0]
    changed: npt.NDArray[np.float64] = recent / max(1, recent.sum())
    changed -= frequencies / max(frequencies.sum(), 1e-300)
    one = state.clock[NOW]
    changed *= np.log((state.clock[FADED] + one) / (frequencies + one))
    return changed


def forget(state: State, keep: float, numbers: Collection[int] | None = None) -> None:
    """Scale down the past of some labels, or of all, to ``keep``.

    Only the gains change: new documents count for more. The sketch has no labels, so it fades only
    with all of them.
    """
    chosen = list(range(state.totals[LABELS]) if numbers is None else numbers)
    state.gains[chosen] /= keep
    add_up_spent(state)
    if numbers is None:
        shrink_sketch(state, keep)
    if state.gains.max() * state.clock[NOW] > LIMIT:
        rescale(state)
