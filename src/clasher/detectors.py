"""Change detectors: whether the errors of the later part of a record exceed the earlier part's.

A record is a row of blocks, the oldest first, each with its trials and its errors; blocks that are
not filled yet have no trials. Records are detected many at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import MissingExtraError

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
