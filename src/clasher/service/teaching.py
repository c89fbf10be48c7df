"""Which documents people are asked about: the uncertain, the diverse, and a random share.

The model has learnt since the documents were predicted, so they are predicted again when somebody
asks for some: a random sample of the queue, bounded in documents and characters, from which the
lease is picked. The random share is therefore a random share of the whole queue, and its answers
judge the model of the moment at which it was handed out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, zip_longest

from clasher.service.awaiting import Awaiting, Predicted
from clasher.service.structs import Leased, Reason, TeachItem

SHARES: tuple[Reason, ...] = ("uncertain", "random", "uncertain", "diverse")
"""Why documents are picked, in turn. Of these the random ones alone say how good the model is."""

SAMPLE = 200  # documents of the queue that are predicted again for a lease
SAMPLE_TEXT = 1_000_000  # characters of them: longer ones make it a smaller sample


class Teaching:
    """Hands out documents to teach; each to one person at a time, who has ``seconds`` to answer.

    A document is uncertain by how near its labels are to the threshold, and diverse where its best
    label was handed out least. ``predict`` predicts texts with the model of now.
    """

    def __init__(
        self,
        awaiting: Awaiting,
        seconds: float,
        predict: Callable[[Sequence[str]], Sequence[Predicted]],
        seed: int | None = None,
    ) -> None:
        self._awaiting = awaiting
        self._seconds = seconds
        self._predict = predict
        self._random = random.Random(seed)
        self._handed: Counter[str] = Counter()
        self._turn = 0

    def lease_these(self, who: str, names: Iterable[str], now: float) -> list[TeachItem]:
        """Those of these documents that nobody has spoken of, and no other holds.

        They were asked for, so they say nothing about how good predictions are.
        """
        asked = list(filter(None, map(self._awaiting.find, dict.fromkeys(names))))
        predicted = self._predict_again(asked)
        with self._awaiting.lock:
            return [
                self._hand(document, fresh, "uncertain", who, now)
                for document, fresh in zip_longest(asked, predicted)
                if self._awaiting.is_open(document, now) or self._is_own(document, who)
            ]

    def lease(self, who: str, most: int, now: float) -> list[TeachItem]:
        """Documents for somebody to teach, none that another holds."""
        with self._awaiting.lock:
            waiting = self._awaiting.untaught(now)
            sample = self._random.sample(waiting, min(SAMPLE, len(waiting)))
        pairs = list(zip(sample, self._predict_again(sample), strict=False))
        with self._awaiting.lock:
            left = [pair for pair in pairs if self._awaiting.is_open(pair[0], now)]
            items: list[TeachItem] = []
            while left and len(items) < most:
                reason = SHARES[self._turn % len(SHARES)]
                self._turn += 1
                place = self._pick([fresh for _, fresh in left], reason)
                items.append(self._hand(*left.pop(place), reason, who, now))
            return items

    def renew(self, who: str, names: Iterable[str], now: float) -> list[Leased]:
        """Prolong somebody's leases, also those that ran out if nobody else has taken them."""
        with self._awaiting.lock:
            held = [one for name in dict.fromkeys(names) for one in self._awaiting.held(name, who)]
            for document in held:
                document.leased_until = now + self._seconds
                self._awaiting.touch(document)
            return [
                Leased(id=one.id, digest=one.digest, leased_until=one.leased_until) for one in held
            ]

    def release(self, name: str, who: str) -> None:
        """Give a document back unanswered; one that another holds stays with them."""
        with self._awaiting.lock:
            self._awaiting.get(name)
            for document in self._awaiting.held(name, who):
                document.holder, document.leased_until = None, 0.0
                self._awaiting.touch(document)

    def _predict_again(self, documents: Sequence[Predicted]) -> Sequence[Predicted]:
        """Predict documents with the model of now: the first ones that are not too long together.

        It holds no lock, so that nobody who predicts waits for it.
        """
        lengths = accumulate(len(document.text) for document in documents)
        number = max(1, sum(length <= SAMPLE_TEXT for length in lengths))
        return self._predict([document.text for document in documents[:number]])

    def _is_own(self, document: Predicted, who: str) -> bool:
        return any(one is document for one in self._awaiting.held(document.id, who))

    def _pick(self, left: Sequence[Predicted], reason: Reason) -> int:
        """The place of the document that is handed out next."""
        if reason == "uncertain":
            return min(range(len(left)), key=lambda place: left[place].margin)
        if reason == "diverse":
            return min(range(len(left)), key=lambda place: self._handed[_best(left[place])])
        return 0  # the sample is in random order

    def _hand(
        self, document: Predicted, fresh: Predicted | None, reason: Reason, who: str, now: float
    ) -> TeachItem:
        """Lease a document; what was predicted of it now is what its answer judges."""
        if fresh is not None and document.leased_until <= now:  # else it was shown already
            document.take_prediction(fresh)
        document.reason = reason if document.reason is None else _worse(document.reason, reason)
        document.holder, document.leased_until = who, now + self._seconds
        self._handed[_best(document)] += 1
        if len(self._handed) > 10_000:
            self._handed.clear()
        self._awaiting.touch(document)
        return TeachItem(
            id=document.id, text=document.text, digest=document.digest, labels=document.labels,
            probabilities=list(document.probabilities.items()), reason=reason,
            leased_until=document.leased_until,
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
