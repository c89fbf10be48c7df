"""How a flow is doing: figures that people and Prometheus read."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Final

from clasher.flow.state import Counts, State
from clasher.service.quality import figures as measures

EVERY: Final = 0.5  # seconds between two readings
RATE: Final = 10.0  # seconds over which documents per second are counted


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The counts of ``clasher.flow.state.Counts``, and how it stands now.

    Attributes
    ----------
    waiting, early : int
        Documents that wait for their labels, and labels that wait for their documents.
    labels : int
        Labels of the model.
    lag : int | None
        Arrivals that wait in the source of documents, None where nobody knows.
    documents_per_second : float
        Over the last ten seconds.
    judged : int
        Documents whose labels came, among the last 8,000.
    micro_f1, macro_f1 : float
        Of these.
    snapshot : int
        The number of the last snapshot.
    snapshot_seconds : float
        How long it took.
    refused : int
        Commits of this run that another party refused.
    troubles : int
        How often a stream did not answer, or answered again, in this run.
    """

    documents: int = 0
    labelled: int = 0
    joined: int = 0
    poison: int = 0
    duplicates: int = 0
    unmatched: int = 0
    waiting: int = 0
    early: int = 0
    labels: int = 0
    lag: int | None = None
    documents_per_second: float = 0.0
    judged: int = 0
    micro_f1: float = 0.0
    macro_f1: float = 0.0
    snapshot: int = 0
    snapshot_seconds: float = 0.0
    refused: int = 0
    troubles: int = 0


class Meter:
    """Reads a state now and then.

    Examples
    --------
    >>> from clasher.model import Clasher
    >>> meter = Meter()
    >>> meter.read(State(Clasher(1024), remember=0), lag=3, took=0.5)
    >>> meter.figures.documents, meter.figures.lag
    (0, 3)
    """

    def __init__(self) -> None:
        self.refused = self.troubles = 0
        self.figures = Figures()
        self._points: deque[tuple[float, int]] = deque()

    def is_due(self) -> bool:
        """Whether the last reading is old."""
        return not self._points or time.monotonic() - self._points[-1][0] >= EVERY

    def read(self, state: State, lag: int | None, took: float) -> None:
        """Take the figures of now."""
        quality = measures(state.quality.recent())
        self.figures = Figures(
            **asdict(state.counts),
            waiting=state.model.pending,
            early=state.window.early,
            labels=len(state.labels.numbers),
            lag=lag,
            documents_per_second=self._rate(state.counts),
            judged=quality.documents,
            micro_f1=quality.micro_f1.value,
            macro_f1=quality.macro_f1.value,
            snapshot=state.seq,
            snapshot_seconds=took,
            refused=self.refused,
            troubles=self.troubles,
        )

    def _rate(self, counts: Counts) -> float:
        now = time.monotonic()
        if self._points and counts.documents < self._points[-1][1]:
            self._points.clear()  # the flow went back to a snapshot
        self._points.append((now, counts.documents))
        while self._points[0][0] < now - RATE:
            self._points.popleft()
        seconds = now - self._points[0][0]
        return (counts.documents - self._points[0][1]) / seconds if seconds else 0.0
