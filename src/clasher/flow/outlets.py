"""Where outputs go: one sink for all, others for those that a rule picks, one for dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from clasher.flow.learning import Predicted
from clasher.flow.patience import Patience
from clasher.flow.routes import Route
from clasher.flow.state import State
from clasher.io.badrecords import letter
from clasher.io.records import Id
from clasher.io.streams import Caller, Output, Party, Poison, Sink

_encoder = msgspec.json.Encoder()

KEY: Final = 200  # characters of a place that a dead letter is keyed by


class Line(msgspec.Struct, omit_defaults=True, gc=False):
    """One output."""

    id: Id
    labels: list[str]
    text: str | msgspec.UnsetType = msgspec.UNSET


class Outlet(NamedTuple):
    """A sink, and which documents go there; None: all."""

    sink: Sink
    route: Route | None = None


class Outlets:
    """The sinks of a flow, each given what is for it, as often as it takes.

    Parameters
    ----------
    outlets
        Sinks of documents.
    letters
        The sink of dead letters.
    texts
        Whether outputs hold the text of the document too.
    """

    def __init__(
        self, outlets: Sequence[Outlet], letters: Sink, patience: Patience, *, texts: bool
    ) -> None:
        self._outlets, self._letters = outlets, letters
        self._patience, self._texts = patience, texts
        self._sinks: dict[str, Sink] = {}
        for sink in (*(outlet.sink for outlet in outlets), letters):
            self._sinks[self._free_name(sink)] = sink

    def _free_name(self, sink: Sink) -> str:
        """Return the name a sink's position is kept under: several may write to one place."""
        others = [one.name for one in self._sinks.values()].count(sink.name)
        return f"{sink.name}#{others + 1}" if others else sink.name

    @property
    def sinks(self) -> list[Sink]:
        """All sinks."""
        return list(self._sinks.values())

    @property
    def parties(self) -> list[Party]:
        """The sinks that must agree to snapshots."""
        return [sink.party for sink in self._sinks.values() if sink.party is not None]

    def open(self, state: State, caller: Caller) -> bool:
        """Go on after what a state knows of; whether there is a sink that it does not know."""
        for name, sink in self._sinks.items():
            opening = partial(sink.open, state.sinks.get(name), caller)
            self._patience.until(name, opening)
        return not self._sinks.keys() <= state.sinks.keys()

    def write(self, predicted: Predicted) -> None:
        """Write documents with their labels, and dead letters."""
        outputs = self._encoded(predicted)
        for outlet in self._outlets:
            picked = outputs
            if (route := outlet.route) is not None:
                pairs = zip(outputs, predicted.labels, strict=True)
                picked = [output for output, labels in pairs if route.picks(labels)]
            self._give(outlet.sink, picked)
        self.write_letters(predicted.poison)

    def write_letters(self, poison: Sequence[Poison]) -> None:
        """Write what was no record."""
        if not poison:
            return
        room = self._patience.until(self._letters.name, self._letters.room)
        letters = [Output(str(one.place)[:KEY], letter(*one, room)) for one in poison]
        self._give(self._letters, letters)

    def flush(self, state: State) -> None:
        """Have all that was written safe, and note where each sink is."""
        for name, sink in self._sinks.items():
            state.sinks[name] = self._patience.until(name, sink.flush)

    def close(self) -> None:
        """Close all sinks."""
        for sink in self._sinks.values():
            sink.close()

    def _encoded(self, predicted: Predicted) -> list[Output]:
        records = predicted.records
        if self._texts:
            texts = records.texts.to_pylist()
            lines = list(map(Line, records.ids, predicted.labels, texts))
        else:
            lines = list(map(Line, records.ids, predicted.labels))
        return list(map(Output, records.ids, map(_encoder.encode, lines)))

    def _give(self, sink: Sink, outputs: Sequence[Output]) -> None:
        if outputs:
            self._patience.until(sink.name, lambda: sink.write(outputs))
