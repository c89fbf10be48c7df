"""All that a flow is, as of one snapshot: the model, and where its streams are to be gone on with.

It depends on the arrivals and their order alone: not on the time of day, nor on how a source cuts
arrivals into chunks. A backlog has one order, so a snapshot and the backlog after it give the model
of a run without a crash, byte for byte. Between streams, or partitions, that are read to their ends
the order is that in which new arrivals come; a restart may read them in another.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from clasher.errors import FolderError
from clasher.flow.joining import Window
from clasher.flow.seen import Seen
from clasher.io.streams import Position
from clasher.model import Clasher
from clasher.service.identities import Identities
from clasher.service.judged import Judged
from clasher.service.quality import Quality

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
