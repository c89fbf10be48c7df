"""Bounded windows of a flow: what waits to be joined by id, and what came before.

The model keeps documents that wait for labels, hashed (``pending``). A ``Window`` keeps their
predictions, to be judged later, another one labels that came before their documents. ``Seen``
recognises repeated documents by stream, id, text and whether they have labels; other labels are a
correction.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import repeat, zip_longest
from typing import Final, TypeVar

import numpy as np

from clasher.io.records import Batch, Id
from clasher.labels import UNLABELLED, LabelSets

T = TypeVar("T")


class Window(OrderedDict[str, T]):
    """What waits to be joined, by id: at most the last ``most`` items."""

    def __init__(self, most: int, items: Iterable[tuple[str, T]] = ()) -> None:
        super().__init__(items)
        self.most = most

    def put(self, own: Id, item: T) -> tuple[str, T] | None:
        """Add an item, or replace it; return the oldest one if it had to make room."""
        self[str(own)] = item
        self.move_to_end(str(own))
        return self.popitem(last=False) if len(self) > self.most else None


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

    def __init__(self, most: int, known: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.most = most
        self._known = OrderedDict(known)  # labels by document, oldest first
        self._make_room()

    def new(self, digests: Sequence[bytes], labels: Sequence[bytes] = ()) -> list[int]:
        """Return the places of documents that are new, or have other labels than the last time."""
        fresh = dict(zip(digests, labels or repeat(UNKNOWN), strict=False))
        are_new = len(fresh) == len(digests) and self._known.keys().isdisjoint(fresh)
        if are_new or not self.most:  # as nearly always
            self._known.update(fresh)
            self._make_room()
            return list(range(len(digests)))
        found = []
        pairs = zip(digests, labels or repeat(UNKNOWN), strict=False)
        for place, (digest, own) in enumerate(pairs):
            if self._known.get(digest) not in (own, UNKNOWN):
                found.append(place)
            self._known[digest] = own
            self._make_room()
        return found

    def _make_room(self) -> None:
        for _ in range(len(self._known) - self.most):
            self._known.popitem(last=False)

    def to_plain(self) -> str | list[str]:
        """Return plain texts for JSON, oldest first: documents, and their labels."""
        return [b"".join(self._known).hex(), b"".join(self._known.values()).hex()]

    @classmethod
    def of(cls, plain: str | list[str], most: int) -> Seen:
        """Restore what ``to_plain`` returned; earlier versions wrote one text, without labels."""
        texts = [plain, ""] if isinstance(plain, str) else plain
        digests, labels = (_pieces(bytes.fromhex(text)) for text in texts)
        return cls(most, zip_longest(digests, labels, fillvalue=UNKNOWN))
