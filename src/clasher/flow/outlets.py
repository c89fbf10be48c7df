"""The outputs of a flow: sinks for documents, each with an optional rule, and one for dead letters.

A rule picks documents by their labels:

    markets             the label markets
    oil|gas             one of two labels
    markets&!sport      one label without another
    energy/*            a label that begins with energy/
    "R&D"               a label with special characters
    !*                  no label at all

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
from clasher.flow.reader import Patience
from clasher.flow.state import FlowState
from clasher.io.protocol import Caller, Output, Poison, Sink
from clasher.io.records import Batch, Id
from clasher.io.writers import letter

_TERM: Final = re.compile(r'(?P<no>!)?(?:"(?P<quoted>[^"]+)"|(?P<bare>[^"|&!=]+))(?P<end>[|&=]|$)')

KEY: Final = 200  # characters of a dead letter's key

_encoder = msgspec.json.Encoder()
_Test: TypeAlias = Callable[[Collection[str]], bool]


class Route(NamedTuple):
    """A rule, and the address of the sink for the documents that it picks.

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
        """Parse ``RULE=ADDRESS``."""
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
        """Whether the rule picks a document with these labels."""
        return all(any(test(labels) for test in some) for some in self.tests)


def _test(term: re.Match[str]) -> _Test:
    name = term["quoted"] or term["bare"].strip()
    expected = term["no"] is None
    if term["quoted"] is None and "*" in name:
        matches = re.compile(translate(name)).match
        return lambda labels: any(map(matches, labels)) == expected
    return lambda labels: (name in labels) == expected


class Line(msgspec.Struct, omit_defaults=True, gc=False):
    """The JSON of one output."""

    id: Id
    labels: list[str]
    text: str | msgspec.UnsetType = msgspec.UNSET


class Outlet(NamedTuple):
    """A sink, and the rule that picks its documents; None: all."""

    sink: Sink
    route: Route | None = None


class Outlets:
    """The sinks of documents and of dead letters; writes are repeated until they succeed."""

    def __init__(
        self, outlets: Sequence[Outlet], letters: Sink, patience: Patience, *, texts: bool
    ) -> None:
        self._outlets, self._letters = outlets, letters
        self._patience, self._texts = patience, texts
        self._sinks: dict[str, Sink] = {}  # by unique names: several may write to one place
        for sink in (*(outlet.sink for outlet in outlets), letters):
            others = [one.name for one in self._sinks.values()].count(sink.name)
            self._sinks[f"{sink.name}#{others + 1}" if others else sink.name] = sink

    def open(self, state: FlowState, caller: Caller) -> bool:
        """Open all sinks at their positions; return whether one is new."""
        for name, sink in self._sinks.items():
            self._patience.until(name, partial(sink.open, state.sinks.get(name), caller))
        return not self._sinks.keys() <= state.sinks.keys()

    def write(self, records: Batch, lists: list[list[str]], poison: Sequence[Poison]) -> None:
        texts = [records.texts.to_pylist()] if self._texts else []
        lines = map(Line, records.ids, lists, *texts)
        outputs = list(map(Output, records.ids, map(_encoder.encode, lines)))
        for outlet in self._outlets:
            picked = outputs
            if (route := outlet.route) is not None:
                pairs = zip(outputs, lists, strict=True)
                picked = [output for output, labels in pairs if route.picks(labels)]
            self._give(outlet.sink, picked)
        self.write_letters(poison)

    def write_letters(self, poison: Sequence[Poison]) -> None:
        if not poison:
            return
        room = self._patience.until(self._letters.name, self._letters.room)
        letters = [Output(str(one.place)[:KEY], letter(*one, room)) for one in poison]
        self._give(self._letters, letters)

    def flush(self, state: FlowState) -> None:
        for name, sink in self._sinks.items():
            state.sinks[name] = self._patience.until(name, sink.flush)

    def close(self) -> None:
        for sink in self._sinks.values():
            sink.close()

    def _give(self, sink: Sink, outputs: Sequence[Output]) -> None:
        if outputs:
            self._patience.until(sink.name, lambda: sink.write(outputs))
