"""The last documents, known again when they come twice: producers that repeat themselves do that.

A document is the same where stream, id, text and whether it has labels are the same. One that comes
again with other labels than the last time is a correction: it is new. Only digests are kept, so
that each takes the same room.

Documents and their labels on two streams, joined by id within a bounded window.

The model itself keeps the documents that wait (``pending``), hashed; here is what was predicted of
them, to be judged when the truth comes, and the labels that came before their documents.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from hashlib import blake2b
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from clasher.io.records import Batch, Id, LabelValue
from clasher.labels import UNLABELLED, LabelSets


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


Plain: TypeAlias = str | list[str]

DIGEST: Final = 8  # bytes: among the last 10,000, one in 10^15 is taken for another
UNKNOWN: Final = bytes(DIGEST)
YES, NO, LABELLED = np.uint64(1), np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def of_documents(batch: Batch, source: str) -> list[bytes]:
    """What documents of a stream are known again by."""
    texts = batch.texts.to_pylist()
    return [
        _digest(f"{source}\0{own}\0{known}\0{text}")
        for own, known, text in zip(batch.ids, batch.labels.known.tolist(), texts, strict=True)
    ]


def of_label_sets(labels: LabelSets) -> list[bytes]:
    """Digests of the labels of documents, whatever their order; of none, ``UNKNOWN``.

    >>> one, other, none = of_label_sets(LabelSets.of([["oil", "gas"], ["gas", "oil"], None]))
    >>> one == other, none == UNKNOWN
    (True, True)
    """
    names = [int.from_bytes(_digest(name), "little") for name in labels.names]
    own = np.array(names, np.uint64)[labels.ids] * np.where(labels.yes, YES, NO)
    sums = np.zeros(len(own) + 1, np.uint64)
    np.cumsum(own, out=sums[1:])
    found = sums[labels.indptr[1:]] - sums[labels.indptr[:-1]] + LABELLED
    found[labels.known == UNLABELLED] = 0
    raw = found.astype("<u8").tobytes()
    return [raw[at : at + DIGEST] for at in range(0, len(raw), DIGEST)]


def of_labels(batch: Batch, source: str) -> list[bytes]:
    """What labels of documents, on a stream of their own, are known again by."""
    labels = batch.labels
    return [
        _digest(f"{source}\0{own}\0{sorted(labels.as_given(at) or [])}\0{sorted(labels[at])}")
        for at, own in enumerate(batch.ids)
    ]


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=DIGEST).digest()


class Seen:
    """The digests of the last documents, and of what labels they came with.

    Examples
    --------
    >>> seen = Seen(most=2)
    >>> seen.new([b"a", b"b", b"a", b"c"]), seen.new([b"a", b"c"])
    ([0, 1, 3], [0])
    >>> seen = Seen(most=2)
    >>> seen.new([b"a", b"a", b"a", b"a"], [b"oil", b"oil", b"gas", b"oil"])  # corrected twice
    [0, 2, 3]
    """

    def __init__(
        self, most: int, digests: Sequence[bytes] = (), labels: Sequence[bytes] = ()
    ) -> None:
        self.most = most
        self._order = deque(digests)
        self._known = dict(zip(digests, labels or repeat(UNKNOWN), strict=False))

    def new(self, digests: Sequence[bytes], labels: Sequence[bytes] = ()) -> list[int]:
        """The places of documents that were not there yet, or with other labels the last time."""
        if not self.most or self._took_all(digests, labels):
            return list(range(len(digests)))
        found = []
        pairs = zip(digests, labels or repeat(UNKNOWN), strict=False)
        for place, (digest, own) in enumerate(pairs):
            before = self._known.get(digest)
            if before == own:
                continue
            self._known[digest] = own
            if before is None:
                self._order.append(digest)
                if len(self._order) > self.most:
                    del self._known[self._order.popleft()]
            if before != UNKNOWN:
                found.append(place)
        return found

    def _took_all(self, digests: Sequence[bytes], labels: Sequence[bytes]) -> bool:
        """Take digests at once where all are new, as nearly always; whether they were."""
        fresh = dict(zip(digests, labels or repeat(UNKNOWN), strict=False))
        if len(fresh) < len(digests) or not self._known.keys().isdisjoint(fresh):
            return False
        self._known.update(fresh)
        self._order.extend(digests)
        for _ in range(len(self._order) - self.most):
            del self._known[self._order.popleft()]
        return True

    def to_plain(self) -> Plain:
        """Plain texts, ready for JSON, the oldest first: documents, and their labels."""
        labels = map(self._known.__getitem__, self._order)
        return [b"".join(self._order).hex(), b"".join(labels).hex()]

    @classmethod
    def of(cls, plain: Plain, most: int) -> Seen:
        """Restore what ``to_plain`` gave; drop the oldest where fewer are wanted.

        Earlier versions gave one text: of those documents the labels are unknown.
        """
        texts = [plain] if isinstance(plain, str) else plain
        return cls(most, *(_pieces(text)[-most:] if most else [] for text in texts))


def _pieces(text: str) -> list[bytes]:
    raw = bytes.fromhex(text)
    return [raw[at : at + DIGEST] for at in range(0, len(raw), DIGEST)]
