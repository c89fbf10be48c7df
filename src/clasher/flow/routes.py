"""Rules that pick documents by their labels: the sub-streams of a stream.

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
from collections.abc import Callable, Collection
from fnmatch import translate
from typing import Final, NamedTuple, TypeAlias

from clasher.errors import SettingError

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
