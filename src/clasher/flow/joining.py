"""Documents and their labels on two streams, joined by id within a bounded window.

The model itself keeps the documents that wait (``pending``), hashed; here is what was predicted of
them, to be judged when the truth comes, and the labels that came before their documents.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from clasher.io.records import Id, LabelValue


class Early(NamedTuple):
    """Labels that wait for their document, and where they stood."""

    labels: LabelValue
    source: str


class Window:
    """What waits to be joined.

    Parameters
    ----------
    most
        Documents, and labels, that may wait at a time; the oldest make room.

    Examples
    --------
    >>> window = Window(most=1)
    >>> window.predict("a", ["oil"])
    >>> window.take_prediction("a"), window.take_prediction("a")
    (['oil'], None)
    >>> window.keep("b", ["gold"], "labels"), window.keep("c", ["gas"], "labels")
    (None, ('b', Early(labels=['gold'], source='labels')))
    >>> window.take_labels("c").labels
    ['gas']
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._predicted: OrderedDict[str, Sequence[str]] = OrderedDict()
        self._early: OrderedDict[str, Early] = OrderedDict()

    @property
    def early(self) -> int:
        """How many labels wait for their document."""
        return len(self._early)

    def predict(self, own: Id, labels: Sequence[str]) -> None:
        """Note what was predicted of a document that waits."""
        self._predicted.pop(str(own), None)
        self._predicted[str(own)] = labels
        if len(self._predicted) > self.most:
            self._predicted.popitem(last=False)

    def take_prediction(self, own: Id) -> Sequence[str] | None:
        """What was predicted of a document; None where it does not wait, or not any more."""
        return self._predicted.pop(str(own), None)

    def keep(self, own: Id, labels: LabelValue, source: str) -> tuple[str, Early] | None:
        """Let labels wait for their document; returns those that had to make room."""
        self._early.pop(str(own), None)
        self._early[str(own)] = Early(labels, source)
        return self._early.popitem(last=False) if len(self._early) > self.most else None

    def take_labels(self, own: Id) -> Early | None:
        """The labels that wait for a document."""
        return self._early.pop(str(own), None)

    def to_plain(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        early = [[own, kept.labels, kept.source] for own, kept in self._early.items()]
        return {"predicted": list(self._predicted.items()), "early": early}

    @classmethod
    def of(cls, plain: dict[str, Any], most: int) -> Window:
        """What ``to_plain`` gave."""
        window = cls(most)
        window._predicted.update((own, labels) for own, labels in plain["predicted"])
        window._early.update((own, Early(labels, source)) for own, labels, source in plain["early"])
        return window
