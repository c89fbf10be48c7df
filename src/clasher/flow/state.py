"""The state of a flow as of one snapshot, and the figures that people and Prometheus read.

The state depends on the arrivals and their order alone, not on the time of day or on how a source
cuts arrivals into chunks. A backlog has one order, so a snapshot and the backlog after it give the
same model as a run without a crash, byte for byte. Streams or partitions that are read to their
ends are ordered as new arrivals come; a restart may read them in another order.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any, Final

from clasher.errors import FolderError
from clasher.flow.windows import JoinWindow, Seen
from clasher.io.protocol import Position
from clasher.model import Clasher
from clasher.runtime import quality
from clasher.runtime.judged import Judged

FORMAT: Final = 2  # of ``FlowState.to_plain``: 1 had no number, and no identities of streams
ROLES: Final = ("documents", "labels")
JUDGED: Final = 1000  # documents in a pane: figures are about the last eight panes
EVERY: Final = 0.5  # seconds between two readings
RATE: Final = 10.0  # seconds over which documents per second are counted


@dataclass
class Counts:
    """Counts since the folder was made; see ``Figures``."""

    documents: int = 0
    labelled: int = 0
    joined: int = 0
    poison: int = 0
    duplicates: int = 0
    unmatched: int = 0


class FlowState(Judged):
    """A model with the state that a flow keeps beside it; ``seq`` is 0 in a new folder."""

    kept = ("seq", "turn", "arrived", "positions", "sinks", "streams", "agreed")

    def __init__(self, model: Clasher, remember: int) -> None:
        super().__init__(model, JUDGED)
        self.turn = 0  # how many turns the sources have had
        # Arrivals of documents and of labels since the folder was made: a turn ends at each
        # multiple of its length, however a broker cuts its answers.
        self.arrived = [0, 0]
        self.positions: dict[str, Position] = {}  # of sources, by name
        self.sinks: dict[str, Position] = {}
        # the identity of each stream (``Source.identity``), by role and name
        self.streams: dict[str, dict[str, str | None]] = {role: {} for role in ROLES}
        self.agreed: dict[str, int] = {}  # the last snapshot that each party has agreed to
        self.counts = Counts()
        self.seen, self.seen_labels = Seen(remember), Seen(remember)
        self.window = JoinWindow(model.settings.pending)

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {
            "format": FORMAT, "counts": asdict(self.counts), "seen": self.seen.to_plain(),
            "seen_labels": self.seen_labels.to_plain(), "window": self.window.to_plain(),
        }  # fmt: skip

    @classmethod
    def of(cls, plain: dict[str, Any], model: Clasher, remember: int) -> FlowState:
        if (found := plain.get("format", 1)) > FORMAT:
            raise FolderError(
                f"a later version of clasher has written this folder (format {found}, and this one "
                f"reads {FORMAT}): install that version"
            )
        state = cls(model, remember)
        streams = {"documents": dict.fromkeys(plain["positions"]), "labels": {}}
        state.restore({"arrived": [0, 0], "streams": streams} | plain)  # older ones lack these
        state.counts = Counts(**plain["counts"])
        state.seen = Seen.of(plain["seen"], remember)
        state.seen_labels = Seen.of(plain["seen_labels"], remember)
        state.window = JoinWindow.of(plain["window"], model.settings.pending)
        return state


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The counts since the folder was made, and the current values of a flow.

    Attributes
    ----------
    documents, labelled, joined : int
        Documents learnt; with labels or after them; whose labels came later.
    poison, duplicates, unmatched : int
        Arrivals that went to the dead letters; that had come before; labels without a document.
    waiting, early : int
        Documents that wait for their labels, and labels that wait for their documents.
    labels : int
        Labels of the model.
    lag : int | None
        Arrivals that wait in the source of documents, None if unknown.
    documents_per_second : float
        Over the last ten seconds.
    judged, micro_f1, macro_f1 : int, float, float
        Judged documents among the last 8,000, and their F1.
    snapshot, snapshot_seconds : int, float
        The number of the last snapshot, and how long it took.
    refused, troubles : int
        In this run: commits that another party refused; how often a stream did not answer, or
        answered again.
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
    """Read the figures of a state now and then."""

    def __init__(self) -> None:
        self.refused = self.troubles = 0
        self.figures = Figures()
        self._points: deque[tuple[float, int]] = deque()

    def is_due(self) -> bool:
        return not self._points or time.monotonic() - self._points[-1][0] >= EVERY

    def read(self, state: FlowState, lag: int | None, took: float) -> None:
        measures = quality.figures(state.quality.recent())
        self.figures = Figures(
            **asdict(state.counts),
            waiting=state.model.pending,
            early=state.window.early,
            labels=len(state.labels.numbers),
            lag=lag,
            documents_per_second=self._rate(state.counts),
            judged=measures.documents,
            micro_f1=measures.micro_f1.value,
            macro_f1=measures.macro_f1.value,
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
