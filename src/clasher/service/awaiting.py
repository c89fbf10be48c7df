"""Documents that were predicted: those that await feedback, and those that have had it.

Bounded by number, by bytes and by age; the oldest make room. They lie in memory and, within a
second or so, on disk. Whoever teaches gets a lease on a document, so that nobody else gets it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from clasher.errors import UnknownDocumentError
from clasher.service.structs import Labels, Reason, Recent

OVERHEAD = 600  # bytes of a document beside its text


class Predicted(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A document, what was predicted, and what became of it."""

    id: str
    at: float
    text: str
    labels: list[str]
    scores: dict[str, float]
    version: int
    margin: float = 0.0
    reason: Reason | None = None
    taught: Labels = None
    taught_by: int | None = None  # the entry that said so
    holder: str | None = None
    leased_until: float = 0.0

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return OVERHEAD + len(self.text)

    def recent(self) -> Recent:
        """As it is shown."""
        return Recent(
            id=self.id, at=self.at, text=self.text, predicted=self.labels, scores=self.scores,
            taught=self.taught, version=self.version,
        )  # fmt: skip


@dataclass(frozen=True)
class Bounds:
    """How many documents are kept, how many bytes of them, and for how many seconds."""

    documents: int = 10_000
    bytes: int = 64 * 2**20
    seconds: float = 7 * 86400.0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Predicted)


class Awaiting:
    """The documents that were predicted, by id, in the order in which they came.

    Every method may be called from any thread.

    Examples
    --------
    >>> kept = Awaiting(Bounds(documents=1))
    >>> for name in ("a", "b"):
    ...     kept.add([Predicted(id=name, at=0, text="", labels=[], scores={}, version=0)])
    >>> kept.get("b").id, kept.dropped
    ('b', 1)
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.dropped = 0
        self.lock = threading.RLock()
        self._documents: dict[str, Predicted] = {}
        self._bytes = 0
        self._changed: dict[str, None] = {}
        self._gone: dict[str, None] = {}

    def load(self, bodies: Iterable[bytes]) -> None:
        """Take up what was on disk."""
        with self.lock:
            self.add(_decoder.decode(body) for body in bodies)
            self._changed.clear()

    def add(self, documents: Iterable[Predicted]) -> None:
        """Keep documents; those of the same ids and the oldest make room.

        What was said of a document still holds when the same text is predicted again.
        """
        with self.lock:
            for document in documents:
                old = self._documents.get(document.id)
                if old is not None and old.text == document.text:
                    document.taught, document.taught_by = old.taught, old.taught_by
                    document.reason = old.reason
                    document.holder, document.leased_until = old.holder, old.leased_until
                self._remove(document.id)
                self._documents[document.id] = document
                self._bytes += document.size
                self._changed[document.id] = None
            while len(self._documents) > self.bounds.documents or self._bytes > self.bounds.bytes:
                self._drop(next(iter(self._documents)))

    def expire(self, now: float) -> None:
        """Drop what is too old."""
        with self.lock:
            while self._documents:
                oldest = next(iter(self._documents.values()))
                if oldest.at >= now - self.bounds.seconds:
                    break
                self._drop(oldest.id)

    def find(self, name: str) -> Predicted | None:
        """The document under an id, None where it is not kept."""
        return self._documents.get(name)

    def get(self, name: str) -> Predicted:
        """The document under an id."""
        found = self.find(name)
        if found is None:
            raise UnknownDocumentError(
                f"no document {name!r} is kept: it was never predicted here, or had to make room "
                f"(the last {self.bounds.documents:,} are kept, {self.bounds.seconds / 86400:g} "
                f"days at most); send its text with its labels to learn"
            )
        return found

    def touch(self, document: Predicted) -> None:
        """Note that a document was changed, so that it is written again."""
        with self.lock:
            if self._documents.get(document.id) is document:
                self._changed.pop(document.id, None)  # to the end: the latest are written first
                self._changed[document.id] = None

    def newest(self, most: int) -> list[Predicted]:
        """The last documents, the newest first."""
        with self.lock:
            found: Iterator[Predicted] = reversed(self._documents.values())
            return [document for document, _ in zip(found, range(most), strict=False)]

    def untaught(self, now: float) -> list[Predicted]:
        """Documents that nobody has spoken of, and nobody holds a lease on, the oldest first."""
        with self.lock:
            return [
                document
                for document in self._documents.values()
                if document.taught is None and document.leased_until <= now
            ]

    def take_changes(self, most: int) -> tuple[list[tuple[str, float, bytes]], list[str]]:
        """What to write to disk, the newest first, and what to delete there."""
        with self.lock:
            names = list(self._changed)[-most:] if most else []
            rows = []
            for name in names:
                document = self._documents[name]
                rows.append((name, document.at, _encoder.encode(document)))
                del self._changed[name]
            gone = list(self._gone)
            self._gone.clear()
            return rows, gone

    @property
    def has_changes(self) -> bool:
        """Whether something is to be written or deleted."""
        return bool(self._changed or self._gone)

    def __len__(self) -> int:
        return len(self._documents)

    def leased(self, now: float) -> int:
        """How many documents somebody holds a lease on."""
        with self.lock:
            return sum(document.leased_until > now for document in self._documents.values())

    def _drop(self, name: str) -> None:
        if self._documents[name].taught is None:
            self.dropped += 1
        self._remove(name)
        self._gone[name] = None

    def _remove(self, name: str) -> None:
        old = self._documents.pop(name, None)
        if old is not None:
            self._bytes -= old.size
            self._changed.pop(name, None)
        self._gone.pop(name, None)
