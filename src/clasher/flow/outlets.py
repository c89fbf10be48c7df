"""Where outputs go: one sink for all, others for those that a rule picks, one for dead letters.

Rules that pick documents by their labels: the sub-streams of a stream.

    markets             those with the label markets
    oil|gas             with one of them
    markets&!sport      with the one and without the other
    energy/*            with a label that begins so
    "R&D"               a label with signs in it that mean something here
    !*                  without any label

``&`` binds less than ``|``: ``oil|gas&markets`` is (oil or gas) and markets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from fnmatch import translate
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import msgspec

from clasher.errors import SettingError
from clasher.flow.learner import Predicted
from clasher.flow.reader import Patience
from clasher.flow.state import State
from clasher.io.protocol import Caller, Output, Party, Poison, Sink
from clasher.io.records import Id
from clasher.io.writers import letter

_TERM: Final = re.compile(r'(?P<no>!)?(?:"(?P<quoted>[^"]+)"|(?P<bare>[^"|&!=]+))(?P<end>[|&=]|$)')

_Test: TypeAlias = Callable[[Collection[str]], bool]


class Route(NamedTuple):
    """A rule, and the address of what it picks.

    Examples
    --------
    >>> route = Route.of("oil|gas&!sport=file:energy.jsonl")
    >>> route.url, route.picks(["gas", "markets"]), route.picks(["gas", "sport"])
    ('file:energy.jsonl', True, False)
    >>> Route.of("markets")
    Traceback (most recent call last):
    clasher.errors.SettingError: route 'markets': write RULE=ADDRESS, such as markets=markets.jsonl
    """

    rule: str
    url: str
    tests: tuple[tuple[_Test, ...], ...]

    @classmethod
    def of(cls, text: str) -> Route:
        """Read a rule and an address as people write them."""
        every: list[tuple[_Test, ...]] = []
        some: list[_Test] = []
        at = 0
        while (term := _TERM.match(text, at)) is not None:
            at = term.end()
            some.append(_test(term))
            if term["end"] != "|":
                every.append(tuple(some))
                some = []
            if term["end"] == "=" and at < len(text):
                return cls(text[: at - 1], text[at:], tuple(every))
            if not term["end"]:
                break
        raise SettingError(f"route {text!r}: write RULE=ADDRESS, such as markets=markets.jsonl")

    def picks(self, labels: Collection[str]) -> bool:
        """Whether a document with these labels is picked."""
        return all(any(test(labels) for test in some) for some in self.tests)


def _test(term: re.Match[str]) -> _Test:
    name = term["quoted"] or term["bare"].strip()
    is_wanted = term["no"] is None
    if term["quoted"] is None and "*" in name:
        matches = re.compile(translate(name)).match
        return lambda labels: any(map(matches, labels)) == is_wanted
    return lambda labels: (name in labels) == is_wanted


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
