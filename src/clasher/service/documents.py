"""Which documents people are asked about: the uncertain, the diverse, and a random share.

The model has learnt since the documents were predicted, so they are predicted again when somebody
asks for some: a random sample of the queue, bounded in documents and characters, from which the
lease is picked. The random share is therefore a random share of the whole queue, and its answers
judge the model of the moment at which it was handed out.

Documents that were predicted: those that await feedback, and those that have had it.

Bounded by number, by bytes and by age; the oldest make room. They lie in memory and, within a
second or so, on disk. Whoever teaches gets a lease on a document, so that nobody else gets it.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, islice, takewhile, zip_longest
from typing import NamedTuple, TypeAlias

import msgspec

from clasher.errors import ConflictError, FolderError, UnknownDocumentError
from clasher.runtime.judged import Labels
from clasher.service.structs import Leased, Reason, Recent, TeachItem

OVERHEAD = 600  # bytes of a document beside its text

Key: TypeAlias = str | tuple[str, str]
"""The id of a document; with the digest of its text where the id stands for another text now."""


def digest_of(text: str) -> str:
    """Identify a text: BLAKE2b of its UTF-8 bytes, 16 bytes in hexadecimal.

    >>> digest_of("wheat")
    '803721357336d760c431aa52b73311c6'
    """
    return blake2b(text.encode(), digest_size=16).hexdigest()


class Predicted(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A document, what was predicted, and what became of it."""

    seq: int = 0  # its place in the order in which they came
    id: str
    at: float
    text: str
    labels: list[str]
    probabilities: dict[str, float] = msgspec.field(name="scores")  # as in older folders
    version: int
    margin: float = 0.0
    reason: Reason | None = None
    taught: Labels = None
    taught_by: int | None = None  # the entry that said so
    holder: str | None = None
    leased_until: float = 0.0  # by the same clock as ``since``
    since: float = -1.0  # when it came, in seconds that the log was in use; below 0: not known
    is_former: bool = False  # predicted again with another text while somebody was shown this one

    @property
    def digest(self) -> str:
        """Identifies its text."""
        return digest_of(self.text)

    @property
    def key(self) -> Key:
        """What it is kept under."""
        return (self.id, self.digest) if self.is_former else self.id

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return OVERHEAD + len(self.text)

    def take_prediction(self, other: Predicted) -> None:
        """Take over what was predicted of the same text at another time."""
        self.labels, self.probabilities = other.labels, other.probabilities
        self.version, self.margin = other.version, other.margin

    def recent(self) -> Recent:
        """As it is shown."""
        return Recent(
            id=self.id, at=self.at, text=self.text, predicted=self.labels,
            probabilities=list(self.probabilities.items()), taught=self.taught,
            version=self.version, digest=self.digest,
        )  # fmt: skip


class Changes(NamedTuple):
    """Documents to write, by their numbers, and those to delete: some, and all ``before`` one."""

    rows: list[tuple[int, bytes]]
    gone: list[int]
    before: int


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
    ...     kept.add([Predicted(id=name, at=0, text="", labels=[], probabilities={}, version=0)])
    >>> kept.get("b").id, kept.dropped
    ('b', 1)
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.dropped = 0
        self.lock = threading.RLock()
        self._documents: OrderedDict[Key, Predicted] = OrderedDict()  # ascending by seq
        self._bytes = 0
        self._last = self._written = 0  # those after number ``_written`` were never written
        self._former: dict[str, list[Key]] = {}  # by id, those that were shown with another text
        self._touched: dict[Key, None] = {}
        self._replaced: list[int] = []
        self._has_dropped = False

    def load(self, bodies: Iterable[bytes], now: float = 0.0) -> None:
        """Take up what was on disk, the oldest first.

        Documents that an earlier version kept count from ``now`` on, and are free.
        """
        with self.lock:
            for body in bodies:
                document = _decoded(body)
                if document.since < 0:
                    document.since, document.holder, document.leased_until = now, None, 0.0
                self._keep(document)
                self._last = self._written = document.seq
            self._make_room()

    def add(self, documents: Iterable[Predicted], now: float = 0.0) -> None:
        """Keep documents; those of the same ids and the oldest make room.

        What was said of a document still holds when the same text is predicted again. A text that
        somebody holds a lease on is kept beside another text of the same id: they may answer to it.
        """
        with self.lock:
            for document in documents:
                document.since = now
                if document.id in self._documents:
                    self._replace(document)
                self._put(document)
            self._make_room()

    def expire(self, now: float) -> None:
        """Drop what is too old; ``now`` is by the clock that ``add`` was given."""
        with self.lock:
            while self._documents:
                if next(iter(self._documents.values())).since >= now - self.bounds.seconds:
                    break
                self._drop_oldest()

    def find(self, name: str, digest: str | None = None) -> Predicted | None:
        """The document under an id, of this text if a digest is given; None where it is not kept.

        Without a digest, the text that was predicted last.
        """
        found = self._documents.get(name)
        if digest is None or (found is not None and found.digest == digest):
            return found
        return self._documents.get((name, digest))

    def find_shown(self, name: str, digest: str | None, who: str, now: float) -> Predicted:
        """The document that somebody answers to; raises where it is not clear which text it is."""
        if digest is not None:
            found = self.find(name, digest)
            if found is None:
                self.get(name)
                raise ConflictError(
                    f"document {name!r} has another text now than the one that was answered to; "
                    f"get it again and answer to that, or send the text with its labels to learn"
                )
            return found
        if any(one.is_former and one.leased_until > now for one in self.held(name, who)):
            raise ConflictError(
                f"document {name!r} was predicted again with another text since it was leased to "
                f"{who!r}; answer with the digest of the text that you mean"
            )
        return self.get(name)

    def held(self, name: str, who: str) -> list[Predicted]:
        """The documents of an id that somebody was given and has not answered."""
        with self.lock:
            keys: list[Key] = [name, *self._former.get(name, ())]
            found = [self._documents[key] for key in keys if key in self._documents]
            return [one for one in found if one.holder == who and one.taught is None]

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
            if self._documents.get(document.key) is document:
                self._touched[document.key] = None

    def newest(self, most: int) -> list[Predicted]:
        """The last documents, the newest first."""
        with self.lock:
            newest: Iterator[Predicted] = reversed(self._documents.values())
            return list(islice((one for one in newest if not one.is_former), most))

    def untaught(self, now: float) -> list[Predicted]:
        """Documents that nobody has spoken of, and nobody holds a lease on, the oldest first."""
        with self.lock:
            return [
                document for document in self._documents.values() if self.is_open(document, now)
            ]

    def is_open(self, document: Predicted, now: float) -> bool:
        """Whether anybody may be given a document: nobody has answered it, or holds it."""
        is_current = self._documents.get(document.id) is document
        return is_current and document.taught is None and document.leased_until <= now

    def take_changes(self, most: int) -> Changes:
        """What to write to disk and to delete there: of those that are new, ``most`` at most.

        What was said of documents is always among it: it is to be on disk with what was said.
        """
        with self.lock:
            touched = [self._documents[key] for key in self._touched]
            rows = {one.seq: _encoder.encode(one) for one in (*touched, *self._take_new(most))}
            before = self._oldest if self._has_dropped else 0
            changes = Changes(list(rows.items()), self._replaced, before)
            self._touched, self._replaced, self._has_dropped = {}, [], False
            return changes

    def _take_new(self, most: int) -> list[Predicted]:
        """The oldest of those that were never written."""
        if not most:
            return []
        newest_first = reversed(self._documents.values())
        new = list(takewhile(lambda document: document.seq > self._written, newest_first))[::-1]
        self._written = self._last if len(new) <= most else new[most].seq - 1
        return new[:most]

    @property
    def _oldest(self) -> int:
        """The number of the oldest document, or of the next one."""
        return next((one.seq for one in self._documents.values()), self._last + 1)

    @property
    def behind(self) -> int:
        """How many documents, at most, were never written."""
        return self._last - self._written

    @property
    def has_changes(self) -> bool:
        """Whether something is to be written or deleted."""
        return bool(self.behind or self._touched or self._replaced or self._has_dropped)

    def __len__(self) -> int:
        return len(self._documents)

    def leased(self, now: float) -> int:
        """How many documents somebody holds a lease on."""
        with self.lock:
            return sum(document.leased_until > now for document in self._documents.values())

    def _replace(self, document: Predicted) -> None:
        """Take out the document of the same id, and take over what was said of it.

        While somebody holds a lease, what they were shown stays as it was.
        """
        old = self._take_out(document.id)
        assert old is not None
        is_leased = old.leased_until > document.since
        if old.text == document.text:
            document.taught, document.taught_by = old.taught, old.taught_by
            document.reason = old.reason
            document.holder, document.leased_until = old.holder, old.leased_until
            if is_leased:
                document.take_prediction(old)
        elif is_leased:
            old.is_former = True
            self._take_out(old.key)
            self._put(old)
            self._touched[old.key] = None
        self._touched[document.id] = None  # to be written when the old one is deleted

    def _take_out(self, key: Key) -> Predicted | None:
        document = self._documents.pop(key, None)
        if document is not None:
            self._gone(key, document)
            self._replaced.append(document.seq)
        return document

    def _put(self, document: Predicted) -> None:
        self._last += 1
        document.seq = self._last
        self._keep(document)

    def _keep(self, document: Predicted) -> None:
        self._documents[document.key] = document
        self._bytes += document.size
        if document.is_former:
            self._former.setdefault(document.id, []).append(document.key)

    def _gone(self, key: Key, document: Predicted) -> None:
        """Forget what is known of a document beside itself."""
        self._bytes -= document.size
        self._touched.pop(key, None)
        if document.is_former:
            self._former[document.id].remove(key)
            if not self._former[document.id]:
                del self._former[document.id]

    def _make_room(self) -> None:
        while len(self._documents) > self.bounds.documents or self._bytes > self.bounds.bytes:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        key, document = self._documents.popitem(last=False)
        self.dropped += document.taught is None and not document.is_former
        self._gone(key, document)
        self._has_dropped = True


def _decoded(body: bytes) -> Predicted:
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FolderError(
            f"a document of the queue cannot be read: {error}; another version of clasher may have "
            f"written it, else restore the folder from a backup"
        ) from error


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
