"""Documents that wait for their labels: a ring of hashed documents, bounded in number and size.

New documents push out the oldest, which are counted as dropped. Ids are kept as 128-bit digests, so
that each takes the same room; finding one scans them all, a few microseconds per 10,000.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import NotLearntError, SettingError, is_integer, require
from clasher.kernels.state import State
from clasher.labels import UNLABELLED, LabelSets
from clasher.text.hashing import Hashed

Id: TypeAlias = str | int
Key: TypeAlias = npt.NDArray[np.int64]
Keys: TypeAlias = list[Key | None] | None

PUT, OLDEST, FILLED, WAITING, DROPPED = range(5)
"""Places in ``State.late_marks``: documents put so far, the number of the oldest, buckets written
so far, documents that wait, documents dropped before their labels came."""

TAKEN = -1  # the length of a document that was taken out


class Waiting(NamedTuple):
    """A document that waits for its labels, hashed."""

    key: Key
    buckets: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]


def key_of(name: Id) -> Key:
    """Return the digest of an id; 7 and "7" differ.

    >>> key_of("d7").tolist()
    [2709081766650777889, 609209529400359220]
    """
    is_valid = isinstance(name, str) or is_integer(name)
    require(is_valid, "id", "text or an integer", name, "observe and learn_later")
    kind = "s" if isinstance(name, str) else "i"
    digest = blake2b(f"{kind}{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.frombuffer(digest, "<i8").astype(np.int64)


def keys_of(ids: Sequence[Id | None] | None, sets: LabelSets, pending: int) -> Keys:
    """Check the ids of documents; return the keys of those that will wait for labels."""
    if ids is None:
        return None
    require(len(ids) == len(sets), "ids", f"one for each of {len(sets)} documents", ids)
    if not pending:
        raise SettingError("the model has no room for documents to wait; create it with pending=N")
    waits = (sets.known == UNLABELLED).tolist()
    pairs = zip(ids, waits, strict=True)
    return [key_of(name) if name is not None and wait else None for name, wait in pairs]


def remember(state: State, keys: Keys, hashed: Hashed) -> None:
    """Put the documents that have a key into the ring."""
    for number, key in enumerate(keys or ()):
        if key is not None:
            part = hashed.part(number, number + 1)
            put(state, Waiting(key, part.buckets, part.counts))


def put(state: State, document: Waiting) -> None:
    """Add a document; drop one that waits under the same id, and the oldest if need be."""
    if take(state, document.key) is not None:
        state.late_marks[DROPPED] += 1
    marks, spans, size = state.late_marks, state.late_spans, len(document.buckets)
    while marks[OLDEST] < marks[PUT]:
        slot = marks[OLDEST] % len(spans)
        fits = marks[FILLED] + size - spans[slot, 0] <= len(state.late_buckets)
        if fits and marks[PUT] - marks[OLDEST] < len(spans):
            break
        marks[OLDEST] += 1
        if spans[slot, 1] != TAKEN:
            marks[WAITING] -= 1
            marks[DROPPED] += 1
    slot = marks[PUT] % len(spans)
    state.late_keys[slot] = document.key
    spans[slot] = marks[FILLED], size
    places = _places(state, int(marks[FILLED]), size)
    state.late_buckets[places] = document.buckets
    state.late_counts[places] = document.counts
    marks[PUT] += 1
    marks[FILLED] += size
    marks[WAITING] += 1


def take(state: State, key: Key) -> Waiting | None:
    """Take a document out of the ring; return None if it is not there."""
    for slot in np.flatnonzero((state.late_keys == key).all(axis=1)).tolist():
        if _is_waiting(state, slot):
            document = _read(state, slot)
            state.late_spans[slot, 1] = TAKEN
            state.late_marks[WAITING] -= 1
            return document
    return None


def waiting(state: State) -> Iterator[Waiting]:
    """Yield all documents that wait, oldest first."""
    for number in range(state.late_marks[OLDEST], state.late_marks[PUT]):
        slot = number % len(state.late_spans)
        if state.late_spans[slot, 1] != TAKEN:
            yield _read(state, slot)


def mark(state: State, place: int) -> int:
    """Return an entry of ``late_marks``, which a model without room for documents lacks."""
    return int(state.late_marks[place]) if state.late_marks.size else 0


def not_waiting(state: State, name: Id) -> NotLearntError:
    """Explain why no document waits under an id."""
    room = len(state.late_spans)
    if not room:
        why = "no document waits for labels; create the model with pending=N"
        return NotLearntError(why)
    why = "it was not observed under this id, or has got its labels"
    if lost := mark(state, DROPPED):
        why += f", or was dropped: {lost} were, there is room for {room}; raise pending"
    return NotLearntError(f"no document {name!r} waits for labels: {why}")


def is_sound(state: State) -> bool:
    """Check that arrays read from a file form a ring: kernels trust them."""
    if not state.late_marks.size:
        return True
    put, oldest, filled, waits, dropped = state.late_marks.tolist()
    spans, buckets, dimensions = state.late_spans, state.late_buckets, state.frequencies.shape[1]
    (starts, sizes), last = spans.T, np.array([filled, dimensions])
    return bool(
        0 <= oldest <= put <= oldest + len(spans)
        and min(filled, dropped) >= 0
        and (starts >= 0).all() and (sizes >= TAKEN).all() and (spans <= last).all()
        and (buckets >= 0).all() and (buckets < dimensions).all()
        and waits == sum(_is_waiting(state, slot) for slot in range(len(spans)))
    )  # fmt: skip


def _is_waiting(state: State, slot: int) -> bool:
    marks, room = state.late_marks, len(state.late_spans)
    place = (slot - marks[OLDEST]) % room
    return bool(place < marks[PUT] - marks[OLDEST] and state.late_spans[slot, 1] != TAKEN)


def _read(state: State, slot: int) -> Waiting:
    start, size = state.late_spans[slot].tolist()
    places = _places(state, start, size)
    key = state.late_keys[slot].copy()
    return Waiting(key, state.late_buckets[places], state.late_counts[places])


def _places(state: State, start: int, size: int) -> npt.NDArray[np.int64]:
    return np.arange(start, start + size) % len(state.late_buckets)
