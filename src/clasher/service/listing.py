"""The labels of a state as a list: what is told of each, in which order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from clasher.service.quality import NONE
from clasher.service.state import State
from clasher.service.structs import LabelInfo, NameList

RECENTLY = 20_000  # documents since an alarm for which a label is marked

ORDERS = ("support", "name", "precision", "recall", "f1", "unseen")
"""How labels can be sorted."""


class Listing:
    """What is told of the labels of one state, without their words.

    Thousands of labels are sorted by what is at hand; the rest is only worked out for those that
    are shown.

    Examples
    --------
    >>> from clasher.model import Clasher
    >>> model = Clasher(1024)
    >>> model.learn_many(["wheat", "gold", "iron"], [{"grain"}, {"metal"}, {"metal"}])
    >>> listing = Listing(State(model))
    >>> listing.names(), listing.names(sort="name"), listing.names(query="ME")
    (['metal', 'grain'], ['grain', 'metal'], ['metal'])
    >>> listing.of("grain").unseen
    2
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._support = state.model.support
        self._unseen = state.model.unseen
        self._drifted = _drifted(state)
        self._next = self._goes_next()

    def names(
        self, query: str = "", sort: str = "support", descending: bool | None = None
    ) -> list[str]:
        """Labels with this text in their names; equals by name, which alone ascends by itself."""
        wanted = query.casefold()
        found = sorted(name for name in self._support if wanted in name.casefold())
        is_turned = sort != "name" if descending is None else descending
        return sorted(found, key=self._key(sort), reverse=is_turned)

    def all_names(self) -> NameList:
        """The names of all labels, the most frequent first."""
        numbers, pinned = self._state.labels.numbers, self._state.labels.pinned
        rows = [
            (numbers[name], name, self._support[name], numbers[name] in pinned)
            for name in self.names()
        ]
        return NameList(version=self._state.seq, names=rows)

    def of(self, name: str) -> LabelInfo:
        """One label."""
        number, quality = self._state.labels.number(name), self._state.quality
        precision, recall, f1 = quality.label(number)
        return LabelInfo(
            id=number, name=name, support=self._support[name],
            precision=precision, recall=recall, f1=f1,
            is_pinned=number in self._state.labels.pinned, has_drifted=name in self._drifted,
            unseen=self._unseen[name], weight=self._weight(name, number),
            is_next=name == self._next, history=quality.history(number),
        )  # fmt: skip

    def _key(self, sort: str) -> Callable[[str], Any]:
        """What labels are sorted by."""
        keys: dict[str, Callable[[str], Any]] = {
            "support": self._support.__getitem__, "unseen": self._unseen.__getitem__, "name": str,
        }  # fmt: skip
        return keys.get(sort, partial(self._share, sort))

    def _share(self, measure: str, name: str) -> float:
        """The share of hits in what a measure looks at: F1 grows with it, and the others are it."""
        counts = self._state.quality.all.counts.get(self._state.labels.number(name), NONE)
        hits, false_alarms, misses = counts
        others = {"precision": false_alarms, "recall": misses, "f1": false_alarms + misses}
        return hits / (hits + others[measure]) if hits else 0.0

    def _weight(self, name: str, number: int) -> float:
        """What is left of the documents that taught a label, as far as they were judged."""
        taught = self._state.quality.all.support(number)
        if not self._state.model.settings.forgets or self._support[name] >= taught:
            return 1.0
        return self._support[name] / taught

    def _goes_next(self) -> str | None:
        """The label that a new one would take the place of."""
        if self._state.model.settings.on_full != "evict":
            return None
        free = [name for name in self._unseen if name not in self._state.model.pinned]
        return max(free, key=self._unseen.__getitem__, default=None)


def _drifted(state: State) -> set[str]:
    """The labels that a recent alarm is about."""
    since = state.model.documents - RECENTLY
    return {
        alarm.label
        for alarm in state.model.alarms
        if alarm.label is not None and alarm.document >= since
    }
