"""The last documents, known again when they come twice: producers that repeat themselves do that.

A document is the same where stream, id, text and whether it has labels are the same. Only digests
are kept, so that each takes the same room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from clasher.io.records import Batch

DIGEST: Final = 8  # bytes: among the last 10,000, one in 10^15 is taken for another


def of_documents(batch: Batch, source: str) -> list[bytes]:
    """What documents of a stream are known again by."""
    texts = batch.texts.to_pylist()
    return [
        _digest(f"{source}\0{own}\0{known}\0{text}")
        for own, known, text in zip(batch.ids, batch.labels.known.tolist(), texts, strict=True)
    ]


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
    """The digests of the last documents.

    Examples
    --------
    >>> seen = Seen(most=2)
    >>> seen.new([b"a", b"b", b"a", b"c"]), seen.new([b"a", b"c"])
    ([0, 1, 3], [0])
    """

    def __init__(self, most: int, digests: Sequence[bytes] = ()) -> None:
        self.most = most
        self._order = deque(digests)
        self._known = set(digests)

    def new(self, digests: Sequence[bytes]) -> list[int]:
        """The places of those that were not there yet; they are, from now on."""
        if not self.most or self._took_all(digests):
            return list(range(len(digests)))
        found = []
        for place, digest in enumerate(digests):
            if digest not in self._known:
                self._known.add(digest)
                self._order.append(digest)
                found.append(place)
                if len(self._order) > self.most:
                    self._known.discard(self._order.popleft())
        return found

    def _took_all(self, digests: Sequence[bytes]) -> bool:
        """Take digests at once where all are new, as nearly always; whether they were."""
        fresh = set(digests)
        if len(fresh) < len(digests) or not self._known.isdisjoint(fresh):
            return False
        self._known |= fresh
        self._order.extend(digests)
        gone = [self._order.popleft() for _ in range(len(self._order) - self.most)]
        self._known.difference_update(gone)
        return True

    def to_plain(self) -> str:
        """Plain text, ready for JSON, the oldest first."""
        return b"".join(self._order).hex()

    @classmethod
    def of(cls, plain: str, most: int) -> Seen:
        """What ``to_plain`` gave; the oldest go where fewer are wanted."""
        raw = bytes.fromhex(plain)
        kept = [raw[at : at + DIGEST] for at in range(0, len(raw), DIGEST)]
        return cls(most, kept[-most:] if most else [])
