"""Bounded windows of a flow: what waits to be joined by id, and what came before.

The model keeps documents that wait for labels, hashed (``pending``); ``JoinWindow`` keeps their
predictions, to be judged later, and labels that came before their documents. ``Seen`` recognises
repeated documents by stream, id, text and whether they have labels; other labels are a correction.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from hashlib import blake2b
from itertools import repeat
from typing import Any, Final, TypeVar

import numpy as np

from clasher.io.records import Batch, Id, LabelValue
from clasher.labels import UNLABELLED, LabelSets

T = TypeVar("T")


class JoinWindow:
    """Predictions that wait for labels, and labels that wait for documents: ``most`` of each."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._predicted: OrderedDict[str, Sequence[str]] = OrderedDict()
        self._early: OrderedDict[str, tuple[LabelValue, str]] = OrderedDict()

    @property
    def early(self) -> int:
        return len(self._early)

    def predict(self, own: Id, labels: Sequence[str]) -> None:
        self._put(self._predicted, own, labels)

    def take_prediction(self, own: Id) -> Sequence[str] | None:
        return self._predicted.pop(str(own), None)

    def keep(
        self, own: Id, labels: LabelValue, source: str
    ) -> tuple[str, tuple[LabelValue, str]] | None:
        """Let labels of a stream wait for their document; return those that had to make room."""
        return self._put(self._early, own, (labels, source))

    def _put(self, window: OrderedDict[str, T], own: Id, item: T) -> tuple[str, T] | None:
        window[str(own)] = item
        window.move_to_end(str(own))
        return window.popitem(last=False) if len(window) > self.most else None

    def take_labels(self, own: Id) -> LabelValue | None:
        return self._early.pop(str(own), (None, ""))[0]

    def to_plain(self) -> dict[str, Any]:
        early = [[own, labels, source] for own, (labels, source) in self._early.items()]
        return {"predicted": list(self._predicted.items()), "early": early}

    @classmethod
    def of(cls, plain: dict[str, Any], most: int) -> JoinWindow:
        window = cls(most)
        window._predicted.update((own, labels) for own, labels in plain["predicted"])
        window._early.update((own, (labels, source)) for own, labels, source in plain["early"])
        return window


DIGEST: Final = 8  # bytes: among 10,000 documents, one in 10^15 is taken for another
UNKNOWN: Final = bytes(DIGEST)
YES, NO, LABELLED = np.uint64(1), np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def document_digests(batch: Batch, source: str) -> list[bytes]:
    """Digest the documents of a stream."""
    texts = batch.texts.to_pylist()
    return [
        _digest(f"{source}\0{own}\0{known}\0{text}")
        for own, known, text in zip(batch.ids, batch.labels.known.tolist(), texts, strict=True)
    ]


def label_set_digests(labels: LabelSets) -> list[bytes]:
    """Digest the labels of documents, in any order; ``UNKNOWN`` for unlabelled documents."""
    names = [int.from_bytes(_digest(name), "little") for name in labels.names]
    own = np.array(names, np.uint64)[labels.ids] * np.where(labels.yes, YES, NO)
    sums = np.zeros(len(own) + 1, np.uint64)
    np.cumsum(own, out=sums[1:])
    found = sums[labels.indptr[1:]] - sums[labels.indptr[:-1]] + LABELLED
    found[labels.known == UNLABELLED] = 0
    return _pieces(found.astype("<u8").tobytes())


def label_digests(batch: Batch, source: str) -> list[bytes]:
    """Digest the records of a stream of labels."""
    labels = batch.labels
    return [
        _digest(f"{source}\0{own}\0{sorted(labels.as_given(at) or [])}\0{sorted(labels[at])}")
        for at, own in enumerate(batch.ids)
    ]


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=DIGEST).digest()


def _pieces(raw: bytes) -> list[bytes]:
    return [raw[at : at + DIGEST] for at in range(0, len(raw), DIGEST)]


class Seen:
    """The digests of the last documents and of their labels."""

    def __init__(
        self, most: int, digests: Sequence[bytes] = (), labels: Sequence[bytes] = ()
    ) -> None:
        self.most = most
        self._order = deque(digests)
        self._known = dict(zip(digests, labels or repeat(UNKNOWN), strict=False))

    def new(self, digests: Sequence[bytes], labels: Sequence[bytes] = ()) -> list[int]:
        """Return the places of documents that are new, or have other labels than the last time."""
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
        """Take all digests at once if all are new, as nearly always; return whether they were."""
        fresh = dict(zip(digests, labels or repeat(UNKNOWN), strict=False))
        if len(fresh) < len(digests) or not self._known.keys().isdisjoint(fresh):
            return False
        self._known.update(fresh)
        self._order.extend(digests)
        for _ in range(len(self._order) - self.most):
            del self._known[self._order.popleft()]
        return True

    def to_plain(self) -> str | list[str]:
        """Return plain texts for JSON, oldest first: documents, and their labels."""
        labels = map(self._known.__getitem__, self._order)
        return [b"".join(self._order).hex(), b"".join(labels).hex()]

    @classmethod
    def of(cls, plain: str | list[str], most: int) -> Seen:
        """Restore what ``to_plain`` returned; earlier versions wrote one text, without labels."""
        texts = [plain] if isinstance(plain, str) else plain
        return cls(most, *(_pieces(bytes.fromhex(text))[-most:] if most else [] for text in texts))
