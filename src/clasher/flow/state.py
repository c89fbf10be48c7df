"""The state of a flow: predict and learn documents, join labels to them, and measure it.

The state depends on the arrivals and their order alone, not on the time of day or on how a source
cuts arrivals into chunks. A backlog has one order, so a snapshot and the backlog after it give the
same model as a run without a crash, byte for byte. Streams or partitions that are read to their
ends are ordered as new arrivals come; a restart may read them in another order.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat, zip_longest
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from clasher.errors import FolderError, LabelCapacityError, NotLearntError
from clasher.io.protocol import Chunk, Poison, Position
from clasher.io.records import Batch, Id, LabelValue
from clasher.io.writers import sorted_lists
from clasher.labels import UNLABELLED, LabelSets
from clasher.model import Clasher
from clasher.runtime import quality
from clasher.runtime.judged import Judged
from clasher.text.hashing import Hashed

FORMAT: Final = 2  # of ``FlowState.to_plain``: 1 had no number, and no identities of streams
ROLES: Final = ("documents", "labels")
COUNTED: Final = ("documents", "labelled", "joined", "poison", "duplicates", "unmatched")
JUDGED: Final = 1000  # documents in a pane: figures are about the last eight panes
EVERY: Final = 0.5  # seconds between two readings
RATE: Final = 10.0  # seconds over which documents per second are counted
DIGEST: Final = 8  # bytes: among 10,000 documents, one in 10^15 is taken for another
UNKNOWN: Final = bytes(DIGEST)
YES, NO, LABELLED = np.uint64(1), np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)

T = TypeVar("T")


class Documents(NamedTuple):
    """A chunk of documents, hashed, with digests of the documents and their labels."""

    chunk: Chunk
    hashed: Hashed
    digests: list[bytes]
    labels: list[bytes]

    @classmethod
    def of(cls, chunk: Chunk, hashed: Hashed, source: str | None) -> Documents:
        """Digest the documents of a source; None: they need not be recognised."""
        records = chunk.records
        if source is None:
            return cls(chunk, hashed, [b""] * len(records), [])
        known, texts = records.labels.known.tolist(), records.texts.to_pylist()
        rows = zip(records.ids, known, texts, strict=True)
        digests = [_digest(f"{source}\0{own}\0{kind}\0{text}") for own, kind, text in rows]
        return cls(chunk, hashed, digests, label_set_digests(records.labels))


class Window(OrderedDict[str, T]):
    """The last ``most`` items that wait for a match, by id."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def put(self, own: Id, item: T) -> tuple[str, T] | None:
        """Add or replace an item; return the oldest one if it had to make room."""
        self[str(own)] = item
        self.move_to_end(str(own))
        return self.popitem(last=False) if len(self) > self.most else None


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
    """The digests of the last documents and of their labels.

    A document is known by stream, id, text and whether it has labels; other labels correct it.
    """

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


class FlowState(Judged):
    """A model with the state that a flow keeps beside it; ``seq`` is 0 in a new folder."""

    kept = ("seq", "turn", "arrived", "positions", "sinks", "streams", "agreed")

    def __init__(self, model: Clasher, remember: int) -> None:
        super().__init__(model, JUDGED)
        self.turn = 0  # how many turns the sources have had
        # Arrivals of documents and of labels since the folder was made: a turn ends at each
        # multiple of its length, however a broker cuts its answers.
        self.arrived = [0, 0]
        self.positions: dict[str, Position] = {}  # of sources, by name
        self.sinks: dict[str, Position] = {}
        # the identity of each stream (``Source.identity``), by role and name
        self.streams: dict[str, dict[str, str | None]] = {role: {} for role in ROLES}
        self.agreed: dict[str, int] = {}  # the last snapshot that each party has agreed to
        self.counts = Counter(dict.fromkeys(COUNTED, 0))  # since the folder was made
        self.seen, self.seen_labels = Seen(remember), Seen(remember)
        self.predicted: Window[list[str]] = Window(model.settings.pending)  # to be judged
        self.early: Window[tuple[LabelValue, str]] = Window(model.settings.pending)  # with sources

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {
            "format": FORMAT, "counts": self.counts, "seen": self.seen.to_plain(),
            "seen_labels": self.seen_labels.to_plain(), "window": {
                "predicted": list(self.predicted.items()),
                "early": [[own, *waiting] for own, waiting in self.early.items()],
            },
        }  # fmt: skip

    @classmethod
    def of(cls, plain: dict[str, Any], model: Clasher, remember: int) -> FlowState:
        if (found := plain.get("format", 1)) > FORMAT:
            raise FolderError(
                f"a later version of clasher has written this folder (format {found}, and this one "
                f"reads {FORMAT}): install that version"
            )
        state = cls(model, remember)
        streams = {"documents": dict.fromkeys(plain["positions"]), "labels": {}}
        state.restore({"arrived": [0, 0], "streams": streams} | plain)  # older ones lack these
        state.counts = Counter(plain["counts"])
        state.seen = Seen.of(plain["seen"], remember)
        state.seen_labels = Seen.of(plain["seen_labels"], remember)
        state.predicted.update(plain["window"]["predicted"])
        state.early.update((own, (late, name)) for own, late, name in plain["window"]["early"])
        return state

    def learn(
        self, documents: Documents, source: str, *, joining: bool
    ) -> tuple[Batch, list[list[str]], list[Poison]]:
        """Predict and learn documents; if labels are ``joining`` them, unlabelled ones wait.

        Return the documents, their predicted labels, and dead letters.
        """
        records, hashed = documents.chunk.records, documents.hashed
        places = self.seen.new(documents.digests, documents.labels)
        if len(places) < len(records):  # the others came before with the same labels
            self.counts["duplicates"] += len(records) - len(places)
            records = records.only(places)
            hashed = self.model.hash_many(records.texts)
        if joining:
            records = self._with_early_labels(records)
        poison = list(documents.chunk.poison)
        records, lists = self._learn(hashed, records, source, poison, joining)
        is_labelled = records.labels.known != UNLABELLED
        if joining:
            for at in np.flatnonzero(~is_labelled).tolist():
                self.predicted.put(records.ids[at], lists[at])
        self.counts["documents"] += len(records)
        self.counts["labelled"] += int(np.count_nonzero(is_labelled))
        self.counts["poison"] += len(poison)
        self.positions[source] = documents.chunk.position
        return records, lists, poison

    def _with_early_labels(self, records: Batch) -> Batch:
        sets = records.labels
        bare = np.flatnonzero(sets.known == UNLABELLED).tolist() if self.early else []
        waiting = [self.early.pop(str(records.ids[at]), None) for at in bare]
        found = {at: early[0] for at, early in zip(bare, waiting, strict=True) if early}
        if not found:
            return records
        sets = LabelSets.of([found.get(at, sets.as_given(at)) for at in range(len(sets))])
        return Batch(records.ids, records.texts, sets)

    def _learn(
        self, hashed: Hashed, records: Batch, source: str, poison: list[Poison], joining: bool
    ) -> tuple[Batch, list[list[str]]]:
        """Learn together; if there are too many labels, one by one without the offenders."""
        sets = records.labels
        ids = [str(own) for own in records.ids] if joining else None
        try:
            return records, sorted_lists(self.step(hashed, sets, ids))
        except LabelCapacityError:
            pass
        kept, lists = [], []
        for at, own in enumerate(records.ids):
            one = slice(at, at + 1)
            try:
                step = self.step(hashed.part(at, at + 1), sets[one], ids and ids[one])
            except LabelCapacityError as error:
                poison.append(Poison(source, own, str(error), records.texts[at].as_py().encode()))
            else:
                lists += sorted_lists(step)
                kept.append(at)
        return records.only(kept), lists

    def join(self, chunk: Chunk, source: str) -> list[Poison]:
        """Learn the labels of waiting documents; return dead letters."""
        records = chunk.records
        poison = list(chunk.poison)
        new = self.seen_labels.new(label_digests(records, source))
        self.counts["duplicates"] += len(records) - len(new)
        for at in new:
            poison += self._join_one(records.ids[at], records.labels[at : at + 1], source)
        self.counts["poison"] += len(poison)
        self.positions[source] = chunk.position
        return poison

    def _join_one(self, own: Id, truth: LabelSets, source: str) -> list[Poison]:
        labels = truth.as_given(0)
        if labels is None:
            return [Poison(source, own, "it has no labels")]
        try:
            self.model.learn_later(str(own), labels)
        except NotLearntError:
            plain = labels if isinstance(labels, dict) else sorted(labels)
            if (gone := self.early.put(own, (plain, source))) is None:
                return []
            self.counts["unmatched"] += 1
            name, (late, stream) = gone
            problem = f"no document {name!r} came in time: {self.early.most:,} labels may wait"
            return [Poison(stream, name, problem, msgspec.json.encode(late))]
        except LabelCapacityError as error:
            return [Poison(source, own, str(error))]
        self.counts["joined"] += 1
        self.adopt()
        if (predicted := self.predicted.pop(str(own), None)) is not None:
            known = LabelSets.of([self.labels.known(predicted)])
            self.quality.judge(truth, known, self.labels.numbers)
        self.drop_evicted()
        return []


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The counts of a flow since its folder was made, and its current values.

    Attributes
    ----------
    documents, labelled, joined : int
        Documents learnt, documents labelled on arrival, and documents labelled later.
    poison, duplicates, unmatched : int
        Dead letters, repeated arrivals, and labels whose document never came.
    waiting, early : int
        Documents that wait for their labels, and labels that wait for their documents.
    labels : int
        Labels of the model.
    lag : int | None
        Arrivals that wait in the source of documents, None if unknown.
    documents_per_second : float
        Over the last ten seconds.
    judged, micro_f1, macro_f1 : int, float, float
        Judged documents among the last 8,000, and their F1.
    snapshot, snapshot_seconds : int, float
        The number of the last snapshot, and how long it took.
    refused, troubles : int
        In this run: refused commits, and times that a stream stopped or resumed answering.
    """

    documents: int = 0
    labelled: int = 0
    joined: int = 0
    poison: int = 0
    duplicates: int = 0
    unmatched: int = 0
    waiting: int = 0
    early: int = 0
    labels: int = 0
    lag: int | None = None
    documents_per_second: float = 0.0
    judged: int = 0
    micro_f1: float = 0.0
    macro_f1: float = 0.0
    snapshot: int = 0
    snapshot_seconds: float = 0.0
    refused: int = 0
    troubles: int = 0


class Meter:
    """Read the figures of a state now and then."""

    def __init__(self) -> None:
        self.refused = self.troubles = 0
        self.figures = Figures()
        self._points: deque[tuple[float, int]] = deque()

    def is_due(self) -> bool:
        return not self._points or time.monotonic() - self._points[-1][0] >= EVERY

    def read(self, state: FlowState, lag: int | None, took: float) -> None:
        measures = quality.figures(state.quality.recent())
        self.figures = Figures(
            **state.counts,
            waiting=state.model.pending,
            early=len(state.early),
            labels=len(state.labels.numbers),
            lag=lag,
            documents_per_second=self._rate(state.counts["documents"]),
            judged=measures.documents,
            micro_f1=measures.micro_f1.value,
            macro_f1=measures.macro_f1.value,
            snapshot=state.seq,
            snapshot_seconds=took,
            refused=self.refused,
            troubles=self.troubles,
        )

    def _rate(self, documents: int) -> float:
        now = time.monotonic()
        if self._points and documents < self._points[-1][1]:
            self._points.clear()  # the flow went back to a snapshot
        self._points.append((now, documents))
        while self._points[0][0] < now - RATE:
            self._points.popleft()
        seconds = now - self._points[0][0]
        return (documents - self._points[0][1]) / seconds if seconds else 0.0
