"""All that a flow is, as of one snapshot: the model, and where its streams are to be gone on with.

It depends on the arrivals and their order alone: not on the time of day, nor on how a source cuts
arrivals into chunks. A backlog has one order, so a snapshot and the backlog after it give the model
of a run without a crash, byte for byte. Between streams, or partitions, that are read to their ends
the order is that in which new arrivals come; a restart may read them in another.

How a flow is doing: figures that people and Prometheus read.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any, Final

from clasher.errors import FolderError
from clasher.flow.windows import Seen, Window
from clasher.io.protocol import Position
from clasher.model import Clasher
from clasher.runtime.judged import Identities, Judged
from clasher.runtime.quality import Quality
from clasher.runtime.quality import figures as measures

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


FORMAT: Final = 2
"""Of what ``State.to_plain`` gives: 1 had no number, and did not know streams by identity."""
ROLES: Final = ("documents", "labels")
JUDGED: Final = 1000  # documents of a pane: figures are of the last eight


@dataclass
class Counts:
    """What came, since the folder was made.

    Attributes
    ----------
    documents : int
        Documents that were predicted and learnt, or observed where they had no labels.
    labelled : int
        Those that came with labels, or whose labels came before them.
    joined : int
        Those whose labels came later.
    poison : int
        Arrivals that went to the dead letters.
    duplicates : int
        Arrivals that had come before.
    unmatched : int
        Labels that went to the dead letters, for no document of their id came in time.
    """

    documents: int = 0
    labelled: int = 0
    joined: int = 0
    poison: int = 0
    duplicates: int = 0
    unmatched: int = 0


class State(Judged):
    """A model, with all that a flow keeps beside it.

    Attributes
    ----------
    seq : int
        The number of the snapshot; 0 is that of a new folder.
    positions, sinks : dict
        Where streams are to be gone on with, by their names.
    turn : int
        Turns that the sources have had, one after the other.
    arrived : list of int
        Arrivals of the documents and of the labels since the folder was made: a turn ends at each
        multiple of its length, however a broker cuts its answers.
    streams : dict
        What each stream says of itself (``Source.identity``), by its role and name.
    agreed : dict
        The last snapshot that other parties agreed to, by their names.

    Examples
    --------
    >>> state = State(Clasher(1024), remember=10)
    >>> state.positions["news.jsonl"] = {"offset": 17}
    >>> State.of(state.to_plain(), state.model, remember=10).positions
    {'news.jsonl': {'offset': 17}}
    """

    def __init__(self, model: Clasher, remember: int) -> None:
        super().__init__(model, JUDGED)
        self.seq = self.turn = 0
        self.arrived = [0, 0]
        self.positions: dict[str, Position] = {}
        self.sinks: dict[str, Position] = {}
        self.streams: dict[str, dict[str, str | None]] = {role: {} for role in ROLES}
        self.agreed: dict[str, int] = {}
        self.counts = Counts()
        self.seen, self.seen_labels = Seen(remember), Seen(remember)
        self.window = Window(model.settings.pending)

    def to_plain(self) -> dict[str, Any]:
        """All but the model as plain values, ready for JSON."""
        return {
            "format": FORMAT, "seq": self.seq, "turn": self.turn, "arrived": self.arrived,
            "positions": self.positions, "sinks": self.sinks,
            "streams": self.streams, "agreed": self.agreed, "counts": asdict(self.counts),
            "labels": self.labels.to_plain(), "quality": self.quality.to_plain(),
            "seen": self.seen.to_plain(), "seen_labels": self.seen_labels.to_plain(),
            "window": self.window.to_plain(),
        }  # fmt: skip

    @classmethod
    def of(cls, plain: dict[str, Any], model: Clasher, remember: int) -> State:
        """Revive what ``to_plain`` gave, with its model; also what earlier versions gave.

        Raises
        ------
        FolderError
            A later version has written it.
        """
        if (found := plain.get("format", 1)) > FORMAT:
            raise FolderError(
                f"a later version of clasher has written this folder (format {found}, and this one "
                f"reads {FORMAT}): install that version"
            )
        state = cls(model, remember)
        state.seq, state.turn = plain["seq"], plain["turn"]
        state.arrived = plain.get("arrived", [0, 0])
        state.positions, state.sinks = plain["positions"], plain["sinks"]
        older = {"documents": dict.fromkeys(state.positions), "labels": {}}
        state.streams = plain.get("streams", older)
        state.agreed, state.counts = plain["agreed"], Counts(**plain["counts"])
        state.labels = Identities.of(plain["labels"])
        state.quality = Quality.of(plain["quality"], JUDGED)
        state.seen = Seen.of(plain["seen"], remember)
        state.seen_labels = Seen.of(plain["seen_labels"], remember)
        state.window = Window.of(plain["window"], model.settings.pending)
        return state
