"""Which documents people are asked about: the uncertain, the diverse, and a random share."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

from clasher.service.awaiting import Awaiting, Predicted
from clasher.service.structs import Reason, TeachItem

SHARES: tuple[Reason, ...] = ("uncertain", "random", "uncertain", "diverse")
"""Why documents are picked, in turn. Of these the random ones alone say how good the model is."""


class Teaching:
    """Hands out documents to teach; each to one person at a time, who has ``seconds`` to answer.

    A document is uncertain by how near its labels are to the threshold, and diverse where its best
    label was handed out least.
    """

    def __init__(self, awaiting: Awaiting, seconds: float, seed: int | None = None) -> None:
        self._awaiting = awaiting
        self._seconds = seconds
        self._random = random.Random(seed)
        self._handed: Counter[str] = Counter()
        self._turn = 0

    def lease_these(self, who: str, names: Iterable[str], now: float) -> list[TeachItem]:
        """Those of these documents that nobody has spoken of, and no other holds.

        They were asked for, so they say nothing about how good predictions are.
        """
        with self._awaiting.lock:
            asked = filter(None, map(self._awaiting.find, dict.fromkeys(names)))
            free = [
                document
                for document in asked
                if document.taught is None
                and (document.leased_until <= now or document.holder == who)
            ]
            return [self._hand(document, "uncertain", who, now) for document in free]

    def lease(self, who: str, most: int, now: float) -> list[TeachItem]:
        """Documents for somebody to teach, none that another holds."""
        with self._awaiting.lock:
            left = self._awaiting.untaught(now)
            items: list[TeachItem] = []
            while left and len(items) < most:
                reason = SHARES[self._turn % len(SHARES)]
                self._turn += 1
                document = self._pick(left, reason)
                left.remove(document)
                items.append(self._hand(document, reason, who, now))
            return items

    def release(self, name: str, who: str) -> None:
        """Give a document back unanswered; one that another holds stays with them."""
        with self._awaiting.lock:
            document = self._awaiting.get(name)
            if document.holder == who:
                document.holder, document.leased_until = None, 0.0
                self._awaiting.touch(document)

    def _pick(self, left: Sequence[Predicted], reason: Reason) -> Predicted:
        if reason == "uncertain":
            return min(left, key=lambda document: document.margin)
        if reason == "diverse":
            return min(left, key=lambda document: self._handed[_best(document)])
        return self._random.choice(left)

    def _hand(self, document: Predicted, reason: Reason, who: str, now: float) -> TeachItem:
        document.reason = reason if document.reason is None else _worse(document.reason, reason)
        document.holder, document.leased_until = who, now + self._seconds
        self._handed[_best(document)] += 1
        if len(self._handed) > 10_000:
            self._handed.clear()
        self._awaiting.touch(document)
        return TeachItem(
            id=document.id, text=document.text, labels=document.labels,
            probabilities=document.probabilities, reason=reason, leased_until=document.leased_until,
        )  # fmt: skip


def is_fair(reason: Reason | None) -> bool:
    """Whether a document that was picked for this reason says how good predictions are.

    >>> is_fair(None), is_fair("random"), is_fair("uncertain")
    (True, True, False)
    """
    return reason in (None, "random")


def _worse(before: Reason, now: Reason) -> Reason:
    """A document that was once picked for being uncertain stays one."""
    return now if is_fair(before) else before


def _best(document: Predicted) -> str:
    return next(iter(document.probabilities), "")
