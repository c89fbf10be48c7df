"""Labels as they come in life: late, wrong, under another name.

Documents that wait for their labels: a ring of hashed documents, bounded in number and in size.

The oldest make room for new ones, and are counted. Ids are kept as 128-bit digests, so that they
take the same room whatever they are; finding one looks at all of them, a few microseconds per
10,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelError, NotLearntError, SettingError
from clasher.kernels.clash import unlearn_document
from clasher.kernels.classes import look_again
from clasher.kernels.sketch import uncount
from clasher.kernels.state import DOCUMENTS, LABELLED, State
from clasher.labels import UNLABELLED, Labels, LabelSets
from clasher.learning import memory, relabel
from clasher.learning.parts import Parts
from clasher.text.hashing import Hashed

Id: TypeAlias = str | int
Key: TypeAlias = npt.NDArray[np.int64]

PUT, OLDEST, FILLED, WAITING, DROPPED = range(5)
"""Places in ``State.late_marks``: documents put so far, the number of the oldest, buckets written
so far, documents that wait, documents dropped unlabelled."""

TAKEN = -1  # in place of the length of a document that waits no longer


class Waiting(NamedTuple):
    """A document that waits, as ``clasher.text.hashing.Hashed`` has it."""

    key: Key
    buckets: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]


def key_of(name: Id) -> Key:
    """The digest of an id; 7 and "7" differ.

    >>> key_of("d7").tolist()
    [2709081766650777889, 609209529400359220]
    """
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise SettingError.of("id", "text or an integer", name, "observe and learn_later")
    kind = "s" if isinstance(name, str) else "i"
    digest = blake2b(f"{kind}{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.frombuffer(digest, "<i8").astype(np.int64)


def put(state: State, document: Waiting) -> None:
    """Keep a document; one that waits under the same id is dropped, as the oldest are."""
    if take(state, document.key) is not None:
        state.late_marks[DROPPED] += 1
    marks, size = state.late_marks, len(document.buckets)
    while not _has_room(state, size):
        slot = marks[OLDEST] % len(state.late_spans)
        marks[OLDEST] += 1
        if state.late_spans[slot, 1] != TAKEN:
            marks[WAITING] -= 1
            marks[DROPPED] += 1
    slot = marks[PUT] % len(state.late_spans)
    state.late_keys[slot] = document.key
    state.late_spans[slot] = marks[FILLED], size
    places = _places(state, int(marks[FILLED]), size)
    state.late_buckets[places] = document.buckets
    state.late_counts[places] = document.counts
    marks[PUT] += 1
    marks[FILLED] += size
    marks[WAITING] += 1


def take(state: State, key: Key) -> Waiting | None:
    """Take a document out, None where it is not there."""
    for slot in np.flatnonzero((state.late_keys == key).all(axis=1)).tolist():
        if _is_inside(state, slot):
            document = _read(state, slot)
            state.late_spans[slot, 1] = TAKEN
            state.late_marks[WAITING] -= 1
            return document
    return None


def waiting(state: State) -> Iterator[Waiting]:
    """All documents that wait, the oldest first."""
    for number in range(state.late_marks[OLDEST], state.late_marks[PUT]):
        slot = number % len(state.late_spans)
        if state.late_spans[slot, 1] != TAKEN:
            yield _read(state, slot)


def is_sound(state: State) -> bool:
    """Whether what was read from a file can be a ring; kernels trust it."""
    if not state.late_marks.size:
        return True
    put, oldest, filled, waits, dropped = state.late_marks.tolist()
    spans, buckets, dimensions = state.late_spans, state.late_buckets, state.frequencies.shape[1]
    return bool(
        0 <= oldest <= put <= oldest + len(spans)
        and filled >= 0
        and dropped >= 0
        and (not spans.size or (spans[:, 0].min() >= 0 and spans[:, 0].max() <= filled))
        and (not spans.size or (spans[:, 1].min() >= TAKEN and spans[:, 1].max() <= dimensions))
        and (not buckets.size or (buckets.min() >= 0 and buckets.max() < dimensions))
        and waits == sum(_is_inside(state, slot) for slot in range(len(spans)))
    )


def _has_room(state: State, size: int) -> bool:
    marks, spans = state.late_marks, state.late_spans
    if marks[OLDEST] == marks[PUT]:
        return True
    start = spans[marks[OLDEST] % len(spans), 0]
    fits = marks[FILLED] + size - start <= len(state.late_buckets)
    return bool(fits and marks[PUT] - marks[OLDEST] < len(spans))


def _is_inside(state: State, slot: int) -> bool:
    """Whether a slot holds a document that waits, not one that is gone."""
    marks, room = state.late_marks, len(state.late_spans)
    place = (slot - marks[OLDEST]) % room
    return bool(place < marks[PUT] - marks[OLDEST] and state.late_spans[slot, 1] != TAKEN)


def _read(state: State, slot: int) -> Waiting:
    start, size = state.late_spans[slot].tolist()
    places = _places(state, start, size)
    return Waiting(
        state.late_keys[slot].copy(), state.late_buckets[places], state.late_counts[places]
    )


def _places(state: State, start: int, size: int) -> npt.NDArray[np.int64]:
    return np.arange(start, start + size) % len(state.late_buckets)


class Revising(Parts):
    """What a model can do about labels it has learnt, or has not learnt yet.

    The exact inverse of learning is known for all that is a sum: the sketch, the prototypes and
    the statistics of regions. Weights that were learnt step by step (``margin``, ``perceptron``)
    have none, and stay until new documents move them.
    """

    # ── labels that come late ────────────────────────────────────────────────────────────────

    @property
    def pending(self) -> int:
        """How many observed documents wait for their labels now."""
        return int(self._state.late_marks[WAITING]) if self.settings.pending else 0

    @property
    def dropped(self) -> int:
        """How many documents had to make room before their labels came."""
        return int(self._state.late_marks[DROPPED]) if self.settings.pending else 0

    def learn_later(self, id: Id, labels: Labels) -> None:  # noqa: A002
        """Learn the labels of a document that was observed under ``id``, which then waits no more.

        The document is learnt as if it had come now; its words are not counted again.

        >>> from clasher import Clasher
        >>> model = Clasher(1024, pending=100)
        >>> model.observe("wheat prices rise", id="d1")
        >>> model.learn_later("d1", {"grain"})
        >>> model.support, model.documents, model.pending
        ({'grain': 1}, 1, 0)
        """
        key = key_of(id)
        if labels is None:
            raise LabelError("learn_later needs labels: None says that they are still unknown")
        sets = self._that_find_room(labels)
        document = take(self._state, key)
        if document is None:
            raise NotLearntError(self._missing(id))
        hashed = self._hasher.one(document.buckets, document.counts)
        uncount(self._state, self._setting, hashed.buckets, hashed.words.keys)
        self._step(hashed, sets, predicting=False)

    def _keys(self, ids: Sequence[Id | None] | None, sets: LabelSets) -> list[Key | None]:
        """What unlabelled documents are to be remembered by, checked before anything is learnt."""
        if ids is None:
            return [None] * len(sets)
        if len(ids) != len(sets):
            raise SettingError.of("ids", f"one for each of {len(sets)} documents", ids)
        if not self.settings.pending:
            raise SettingError("the model has no room for documents to wait: Clasher(pending=N)")
        waits = (sets.known == UNLABELLED).tolist()
        return [
            key_of(name) if name is not None and wait else None
            for name, wait in zip(ids, waits, strict=True)
        ]

    def _remember(self, keys: list[Key | None], hashed: Hashed) -> None:
        """Let documents wait for their labels, those that have a key."""
        for number, key in enumerate(keys):
            if key is not None:
                part = hashed.part(number, number + 1)
                put(self._state, Waiting(key, part.buckets, part.counts))

    def _missing(self, id_: Id) -> str:
        room = self.settings.pending
        if not room:
            return "no document waits for labels; give the model room for some: Clasher(pending=N)"
        why = "it was not observed under this id, or has got its labels"
        if self.dropped:
            why += f", or was dropped: {self.dropped} were, there is room for {room}; raise pending"
        return f"no document {id_!r} waits for labels: {why}"

    # ── labels that were wrong ───────────────────────────────────────────────────────────────

    def unlearn(self, text: str, labels: Labels) -> None:
        """Take back ``learn(text, labels)``; with None, ``observe(text)``.

        Exact, to float rounding, for the sketch, and with ``weighting="tf"`` and complete labels
        for the prototypes and statistics of ``centroid`` and ``margin``. Approximate elsewhere:
        other weightings weigh the document as of today; ``mistake`` may not have fed it;
        partial labels and the weights of ``margin`` and ``perceptron`` keep a trace.

        >>> from clasher import Clasher
        >>> model = Clasher(1024, rule="centroid")
        >>> for text in ("oil prices rise", "wheat prices rise"):
        ...     model.learn(text, {"oil"})
        >>> model.unlearn("wheat prices rise", {"oil"})
        >>> model.documents, model.support
        (1, {'oil': 1})
        """
        hashed, sets = self._hasher.hash_one(text), LabelSets.of([labels])
        self._check_learnt(hashed, sets)
        truth = self._index.translate(sets)
        unlearn_document(
            hashed.buckets, hashed.counts, hashed.words.places, hashed.words.keys,
            truth.known[0], truth.ids, truth.yes,
            self._state, self._setting, memory.work_for(self._state, len(hashed.words.keys)),
        )  # fmt: skip

    def correct(self, text: str, wrong: Labels, right: Labels) -> None:
        """Learn ``right`` in place of ``wrong``, which was learnt for the same document.

        With ``margin`` and ``perceptron`` this is also a step towards the right labels, where the
        document is not yet told apart.
        """
        sets = self._that_find_room(right)
        self.unlearn(text, wrong)
        self._step(self._hasher.hash_one(text), sets, predicting=False)

    def _check_learnt(self, hashed: Hashed, sets: LabelSets) -> None:
        """Refuse to take back what cannot have been learnt."""
        state = self._state
        if not state.totals[DOCUMENTS] or not state.frequencies[0, hashed.buckets].all():
            raise NotLearntError("this document was never learnt: the model has not seen its words")
        if sets.known[0] and not state.totals[LABELLED]:
            raise NotLearntError("no labelled document is left to unlearn")
        for number, yes in zip(sets.ids, sets.yes, strict=True):
            name = sets.names[number]
            if not state.counts[self._index.number(name)] > 0.0 and yes:
                raise NotLearntError(f"label {name!r} has no document left to unlearn")

    # ── labels that change ───────────────────────────────────────────────────────────────────

    def rename_label(self, old: str, new: str) -> None:
        """Call a label by another name from now on.

        >>> from clasher import Clasher
        >>> model = Clasher(1024)
        >>> model.learn("wheat prices rise", {"grian"})
        >>> model.rename_label("grian", "grain")
        >>> model.labels
        ['grain']
        """
        self._index.rename(old, new)

    def merge_labels(self, source: str, target: str) -> None:
        """Make one label of two, under the name of the second.

        Documents that carried both count once. Exact for prototypes and statistics where there are
        none such; where there are, they weigh twice in the prototype. Linear weights become the
        mean by documents.
        """
        numbers = self._index.number(source), self._index.number(target)
        if numbers[0] == numbers[1]:
            raise LabelError(f"label {source!r} cannot be merged with itself")
        relabel.join(self._state, *numbers)
        self.retire_label(source)

    def retire_label(self, label: str) -> None:
        """Forget a label and all that was learnt of it; should it come again, it is a new one."""
        number = self._index.number(label)
        relabel.retire(self._state, self._index, number, self.settings)
        if self._watch is not None:
            self._watch.renumber()
        if self._state.terms.size:
            look_again(self._state, self._setting.measure)

    def _that_find_room(self, labels: Labels) -> LabelSets:
        """The labels of one document; too many are refused before anything is changed."""
        sets = LabelSets.of([labels])
        evicting = self.settings.on_full == "evict"
        (self._index.check_documents if evicting else self._index.check)(sets)
        return sets
