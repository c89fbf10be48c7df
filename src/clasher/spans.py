"""Where words stand in the text that a person wrote, whatever was left out or folded since."""

from __future__ import annotations

from typing import Any

import numpy as np

from clasher.kernels.grams import Words
from clasher.text import Buffers, decoded, one_buffer

CUT = "…"  # stands where a run of characters was cut out of a word


class Offsets:
    """Tells what a stretch of analysed bytes shows, and where it is in the text they came from.

    ``words`` were found in ``cleaned``, byte ``i`` of which was byte ``origin[i]`` of the text.
    """

    def __init__(self, text: str, words: Words, cleaned: Buffers, origin: Any) -> None:
        begins_character = (one_buffer(text).data & 0xC0) != 0x80
        characters = np.concatenate([[0], np.cumsum(begins_character)])
        origin = origin[: len(cleaned.data) + 1]
        places = np.arange(len(origin))
        if words.data is not cleaned.data:  # words of a function, which tells no places
            places = _search(words, cleaned.data.tobytes())
        self._first = characters[origin[places]]
        self._last = characters[_ends(origin)[places]]
        self._raw = words.data.tobytes()
        self._starts = set(words.starts.tolist())
        self._stops = set(words.stops.tolist())

    def __call__(self, start: int, stop: int) -> tuple[str, int, int]:
        """What bytes ``start`` to ``stop`` show, and where they begin and end as characters."""
        shown = " ".join(decoded(self._raw[start:stop]).lower().split())
        before = "" if start in self._starts else CUT
        after = "" if stop in self._stops else CUT
        return f"{before}{shown}{after}", int(self._first[start]), int(self._last[stop])


def _ends(origin: Any) -> Any:
    """Where what ends before each byte ended: after the last byte of what became several bytes."""
    ends = origin.copy()
    inside = np.flatnonzero(origin[1:] == origin[:-1]) + 1
    ends[inside] = origin[np.searchsorted(origin, origin[inside], "right")]
    return ends


def _search(words: Words, raw: bytes) -> Any:
    """Where each byte of the words is in a text that has them in order, in any case.

    What cannot be found is taken to be nothing at all, after the word before it.
    """
    lower = decoded(raw).lower().encode("utf-8", "surrogatepass")
    texts = [raw, lower] if len(lower) == len(raw) else [raw]
    token_data = words.data.tobytes()
    places = np.zeros(len(token_data) + 1, np.int64)
    at = 0
    for start, stop in zip(words.starts.tolist(), words.stops.tolist(), strict=True):
        found = (text.find(token_data[start:stop], at) for text in texts)
        place = min((position for position in found if position >= 0), default=-1)
        if place < 0:
            places[start : stop + 1] = at
        else:
            places[start : stop + 1] = np.arange(place, place + stop - start + 1)
            at = place + stop - start
    return places
