"""Predicted documents: the queue that keeps them for feedback, leases, and answers.

The queue is bounded by number, bytes and age; it lives in memory and is on disk about a second
later. People are asked about uncertain, diverse and random documents of a random sample of the
queue, which is predicted again for each lease. Answers to the random ones therefore measure the
current model.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from hashlib import blake2b
from itertools import accumulate, islice, takewhile, zip_longest

import msgspec
from msgspec.structs import replace

from clasher.errors import ConflictError, FolderError, UnknownDocumentError
from clasher.runtime.judged import Labels
from clasher.service.log import Feedback, Log
from clasher.service.structs import Leased, QueueBounds, Reason, Receipt, Recent, TeachItem

OVERHEAD = 600  # bytes of a document beside its text


def digest_of(text: str) -> str:
    """Identify a text: BLAKE2b of its UTF-8 bytes, 16 bytes in hexadecimal.

    >>> digest_of("wheat")
    '803721357336d760c431aa52b73311c6'
    """
    return blake2b(text.encode(), digest_size=16).hexdigest()


class PredictedDocument(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A document with its prediction, its lease and the answer to it."""

    seq: int = 0  # its place in the order of arrival
    id: str
    at: float
    text: str
    labels: list[str]
    probabilities: dict[str, float] = msgspec.field(name="scores")  # as in older folders
    version: int
    margin: float = 0.0
    reason: Reason | None = None
    taught: Labels = None
    taught_by: int | None = None  # the log entry with the answer
    holder: str | None = None
    leased_until: float = 0.0  # by the same clock as ``since``
    since: float = -1.0  # arrival, in seconds that the log was in use; below 0: unknown
    is_former: bool = False  # predicted again with another text while this one was leased

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def size(self) -> int:
        return OVERHEAD + len(self.text)

    def take_prediction(self, other: PredictedDocument) -> None:
        self.labels, self.probabilities = other.labels, other.probabilities
        self.version, self.margin = other.version, other.margin

    def recent(self) -> Recent:
        return Recent(
            id=self.id, at=self.at, text=self.text, predicted=self.labels,
            probabilities=list(self.probabilities.items()), taught=self.taught,
            version=self.version, digest=self.digest,
        )  # fmt: skip


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PredictedDocument)


class DocumentQueue:
    """The predicted documents in order of arrival; safe to use from any thread."""

    def __init__(self, bounds: QueueBounds) -> None:
        self.bounds = bounds
        self.dropped = 0
        self.lock = threading.RLock()
        self._documents: OrderedDict[int, PredictedDocument] = OrderedDict()  # by seq
        # by id: the current document, after those with former texts that are leased
        self._texts: dict[str, list[PredictedDocument]] = {}
        self._bytes = 0
        self._last = self._written = 0  # documents after number ``_written`` were never written
        self._touched: set[int] = set()
        self._replaced: list[int] = []
        self._has_dropped = False

    def load(self, bodies: Iterable[bytes], now: float = 0.0) -> None:
        """Load the documents on disk, oldest first; those of older folders arrive ``now``."""
        with self.lock:
            for body in bodies:
                try:
                    document = _decoder.decode(body)
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    raise FolderError(
                        f"a document of the queue cannot be read: {error}; another version of "
                        f"clasher may have written it, else restore the folder from a backup"
                    ) from error
                if document.since < 0:
                    document.since, document.holder, document.leased_until = now, None, 0.0
                self._insert(document, document.seq)
                self._written = document.seq
            self._make_room()

    def add(self, documents: Iterable[PredictedDocument], now: float = 0.0) -> None:
        """Add documents; they replace those of the same ids, and the oldest make room.

        Answers stay if the same text is predicted again. A leased text stays beside a new text of
        the same id, because its holder may still answer.
        """
        with self.lock:
            for document in documents:
                document.since = now
                old = self.find(document.id)
                if old is not None:
                    self._replace(old, document)
                self._insert(document, self._last + 1)
                if old is not None:  # write it in the commit that deletes the old one
                    self._touched.add(document.seq)
            self._make_room()

    def expire(self, now: float) -> None:
        with self.lock:
            while self._documents:
                if next(iter(self._documents.values())).since >= now - self.bounds.seconds:
                    break
                self._drop_oldest()

    def find(self, name: str, digest: str | None = None) -> PredictedDocument | None:
        """Find a document by id, and by the digest of its text; without one, the last text."""
        with self.lock:
            for one in reversed(self._texts.get(name, ())):
                if one.digest == digest if digest is not None else not one.is_former:
                    return one
        return None

    def find_shown(self, name: str, digest: str | None, who: str, now: float) -> PredictedDocument:
        if digest is not None:
            found = self.find(name, digest)
            if found is None:
                self.get(name)
                raise ConflictError(
                    f"document {name!r} has another text now than the one you answered; get it "
                    f"again and answer that, or send the text with its labels to learn"
                )
            return found
        if any(one.is_former and one.leased_until > now for one in self.held(name, who)):
            raise ConflictError(
                f"document {name!r} was predicted again with another text since it was leased to "
                f"{who!r}; send the digest of the text that you mean"
            )
        return self.get(name)

    def held(self, name: str, who: str) -> list[PredictedDocument]:
        """Return the unanswered documents of an id that a person holds, the current one first."""
        with self.lock:
            texts = reversed(self._texts.get(name, ()))
            return [one for one in texts if one.holder == who and one.taught is None]

    def get(self, name: str) -> PredictedDocument:
        found = self.find(name)
        if found is None:
            raise UnknownDocumentError(
                f"no document {name!r} is kept: it was never predicted here, or had to make room "
                f"(the last {self.bounds.documents:,} are kept, for at most "
                f"{self.bounds.seconds / 86400:g} days); send its text with its labels to learn"
            )
        return found

    def touch(self, document: PredictedDocument) -> None:
        """Note that a document has changed, so that it is written again."""
        with self.lock:
            if self._documents.get(document.seq) is document:
                self._touched.add(document.seq)

    def newest(self, most: int) -> list[PredictedDocument]:
        with self.lock:
            newest: Iterator[PredictedDocument] = reversed(self._documents.values())
            return list(islice((one for one in newest if not one.is_former), most))

    def untaught(self, now: float) -> list[PredictedDocument]:
        with self.lock:
            return [one for one in self._documents.values() if self.is_open(one, now)]

    def is_open(self, document: PredictedDocument, now: float) -> bool:
        is_current = self._documents.get(document.seq) is document and not document.is_former
        return is_current and document.taught is None and document.leased_until <= now

    def take_changes(self, most: int) -> tuple[list[tuple[int, bytes]], list[int], int]:
        """Return documents to write, numbers to delete, and a number before which to delete all.

        At most ``most`` documents are new. Answered ones are always among them, to be saved
        together with the answer.
        """
        with self.lock:
            changed = [self._documents[seq] for seq in sorted(self._touched)]
            if most:
                newest_first = reversed(self._documents.values())
                new = list(takewhile(lambda one: one.seq > self._written, newest_first))[::-1]
                self._written = self._last if len(new) <= most else new[most].seq - 1
                changed += new[:most]
            rows = {one.seq: _encoder.encode(one) for one in changed}
            oldest = next(iter(self._documents), self._last + 1)
            changes = list(rows.items()), self._replaced, oldest if self._has_dropped else 0
            self._touched, self._replaced, self._has_dropped = set(), [], False
            return changes

    @property
    def behind(self) -> int:
        """An upper bound of the documents that were never written."""
        return self._last - self._written

    @property
    def has_changes(self) -> bool:
        return bool(self.behind or self._touched or self._replaced or self._has_dropped)

    def __len__(self) -> int:
        return len(self._documents)

    def leased(self, now: float) -> int:
        with self.lock:
            return sum(document.leased_until > now for document in self._documents.values())

    def _replace(self, old: PredictedDocument, document: PredictedDocument) -> None:
        """Take out the document of the same id; its answer and lease stay if the text is equal."""
        self._remove(old)
        is_leased = old.leased_until > document.since
        if old.text == document.text:
            document.taught, document.taught_by = old.taught, old.taught_by
            document.reason = old.reason
            document.holder, document.leased_until = old.holder, old.leased_until
            if is_leased:
                document.take_prediction(old)
        elif is_leased:
            if (same := self.find(old.id, old.digest)) is not None:
                self._remove(same)
            old.is_former = True
            self._insert(old, self._last + 1)
            self._touched.add(old.seq)

    def _insert(self, document: PredictedDocument, seq: int) -> None:
        document.seq = self._last = seq
        self._documents[seq] = document
        self._texts.setdefault(document.id, []).append(document)
        self._bytes += document.size

    def _remove(self, document: PredictedDocument) -> None:
        del self._documents[document.seq]
        self._replaced.append(document.seq)
        self._forget(document)

    def _forget(self, document: PredictedDocument) -> None:
        self._bytes -= document.size
        self._touched.discard(document.seq)
        self._texts[document.id].remove(document)
        if not self._texts[document.id]:
            del self._texts[document.id]

    def _make_room(self) -> None:
        while len(self._documents) > self.bounds.documents or self._bytes > self.bounds.bytes:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, document = self._documents.popitem(last=False)
        self.dropped += document.taught is None and not document.is_former
        self._forget(document)
        self._has_dropped = True


# why documents are picked, in turn; only the random ones measure the quality of the model
SHARES: tuple[Reason, ...] = ("uncertain", "random", "uncertain", "diverse")
SAMPLE = 200  # documents of the queue that are predicted again for a lease
SAMPLE_TEXT = 1_000_000  # characters of the sample


class Leases:
    """Hand out documents to teach, each to one person at a time, who has ``seconds`` to answer.

    A document is uncertain if its probabilities are near the threshold, and diverse if its best
    label was handed out least.
    """

    def __init__(
        self,
        queue: DocumentQueue,
        seconds: float,
        predict: Callable[[Sequence[str]], Sequence[PredictedDocument]],
        seed: int | None = None,
    ) -> None:
        self._queue, self._seconds, self._predict = queue, seconds, predict
        self._random = random.Random(seed)
        self._handed: Counter[str] = Counter()
        self._turn = 0

    def lease_these(self, who: str, names: Iterable[str], now: float) -> list[TeachItem]:
        """Lease the named documents that are free; they are no random sample to be judged."""
        asked = list(filter(None, map(self._queue.find, dict.fromkeys(names))))
        predicted = self._predict_again(asked)
        with self._queue.lock:
            return [
                self._hand_out(document, fresh, "uncertain", who, now)
                for document, fresh in zip_longest(asked, predicted)
                if self._queue.is_open(document, now)
                or any(one is document for one in self._queue.held(document.id, who))
            ]

    def lease(self, who: str, most: int, now: float) -> list[TeachItem]:
        with self._queue.lock:
            waiting = self._queue.untaught(now)
            sample = self._random.sample(waiting, min(SAMPLE, len(waiting)))
        pairs = list(zip(sample, self._predict_again(sample), strict=False))
        with self._queue.lock:
            left = [pair for pair in pairs if self._queue.is_open(pair[0], now)]
            items: list[TeachItem] = []
            while left and len(items) < most:
                reason = SHARES[self._turn % len(SHARES)]
                self._turn += 1
                ranks = [self._rank(fresh, reason) for _, fresh in left]
                pair = left.pop(ranks.index(min(ranks)))
                items.append(self._hand_out(*pair, reason, who, now))
            return items

    def renew(self, who: str, names: Iterable[str], now: float) -> list[Leased]:
        """Prolong a person's leases, also expired ones that nobody else has taken."""
        with self._queue.lock:
            held = [one for name in dict.fromkeys(names) for one in self._queue.held(name, who)]
            for document in held:
                document.leased_until = now + self._seconds
                self._queue.touch(document)
            return [
                Leased(id=one.id, digest=one.digest, leased_until=one.leased_until) for one in held
            ]

    def release(self, name: str, who: str) -> None:
        with self._queue.lock:
            self._queue.get(name)
            for document in self._queue.held(name, who):
                document.holder, document.leased_until = None, 0.0
                self._queue.touch(document)

    def _predict_again(self, documents: Sequence[PredictedDocument]) -> Sequence[PredictedDocument]:
        """Predict the first documents, up to ``SAMPLE_TEXT`` characters; holds no lock."""
        lengths = accumulate(len(document.text) for document in documents)
        number = max(1, sum(length <= SAMPLE_TEXT for length in lengths))
        return self._predict([document.text for document in documents[:number]])

    def _rank(self, fresh: PredictedDocument, reason: Reason) -> float:
        if reason == "uncertain":
            return fresh.margin
        # the sample is in random order
        return self._handed[_best(fresh)] if reason == "diverse" else 0.0

    def _hand_out(
        self,
        document: PredictedDocument,
        fresh: PredictedDocument | None,
        reason: Reason,
        who: str,
        now: float,
    ) -> TeachItem:
        """Lease a document; its answer judges the fresh prediction, unless it is leased already."""
        if fresh is not None and document.leased_until <= now:
            document.take_prediction(fresh)
        if is_fair(document.reason):  # once picked for being uncertain, it stays so
            document.reason = reason
        document.holder, document.leased_until = who, now + self._seconds
        self._handed[_best(document)] += 1
        if len(self._handed) > 10_000:
            self._handed.clear()
        self._queue.touch(document)
        return TeachItem(
            id=document.id, text=document.text, digest=document.digest, labels=document.labels,
            probabilities=list(document.probabilities.items()), reason=reason,
            leased_until=document.leased_until,
        )  # fmt: skip


def is_fair(reason: Reason | None) -> bool:
    """Whether a document picked for this reason measures the quality of predictions."""
    return reason in (None, "random")


def _best(document: PredictedDocument) -> str:
    return next(iter(document.probabilities), "")


class Answer:
    """An answer to a document in the queue, or the undo of one; ``settle`` it when it is done."""

    def __init__(self, queue: DocumentQueue) -> None:
        self._queue = queue
        self._changed: tuple[PredictedDocument, Labels, int | None] | None = None
        self._seq = 0

    def give(
        self, find: Callable[[], PredictedDocument], labels: Labels, log: Log, seq: int
    ) -> Feedback:
        """Make the entry for an answer, from the document's current labels."""
        document = find()
        before, after = document.taught, combine(document.taught, labels)
        self._change(document, after, seq)
        return Feedback(
            id=document.id, text=document.text, predicted=document.labels, before=before,
            after=after, is_judged=is_fair(document.reason), version=document.version,
        )  # fmt: skip

    def undo(self, version: int, log: Log, seq: int) -> Feedback:
        entry = log.row(version)
        answer = None if entry is None else entry.body
        if not isinstance(answer, Feedback):
            raise UnknownDocumentError(
                f"version {version} is no answer to a document, or no longer in the log"
            )
        document = self._queue.find(answer.id, digest_of(answer.text)) or self._queue.get(answer.id)
        if document.taught_by != version:
            raise ConflictError(
                f"document {answer.id!r} was answered again since version {version}; undo version "
                f"{document.taught_by}"
            )
        self._change(document, answer.before, seq)
        return replace(answer, before=answer.after, after=answer.before, undoes=version)

    def _change(self, document: PredictedDocument, labels: Labels, seq: int) -> None:
        with self._queue.lock:
            self._changed, self._seq = (document, document.taught, document.taught_by), seq
            document.taught, document.taught_by = labels, seq
            document.holder, document.leased_until = None, 0.0
            self._queue.touch(document)

    def settle(self, future: Future[Receipt]) -> None:
        if self._changed is None or future.exception() is None:
            return
        document, taught, taught_by = self._changed
        with self._queue.lock:
            if document.taught_by == self._seq:
                document.taught, document.taught_by = taught, taught_by
                self._queue.touch(document)


def combine(before: Labels, now: Labels) -> Labels:
    """Combine the labels of two answers to one document.

    >>> combine({"oil": True}, {"gold": False})
    {'oil': True, 'gold': False}
    >>> combine(["oil", "gold"], {"gold": False, "gas": True})
    ['oil', 'gas']
    >>> combine({"oil": True}, ["gold"])
    ['gold']
    """
    if not isinstance(now, dict) or before is None:
        return now
    if isinstance(before, dict):
        return {**before, **now}
    yes = [name for name in before if now.get(name, True)]
    return yes + [name for name, is_so in now.items() if is_so and name not in before]
