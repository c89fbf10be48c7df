"""Documents that wait for their labels: a ring of hashed documents, bounded in number and in size.

The oldest make room for new ones, and are counted. Ids are kept as 128-bit digests, so that they
take the same room whatever they are; finding one looks at all of them, a few microseconds per
10,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError
from clasher.kernels.state import State

Id: TypeAlias = str | int
Key: TypeAlias = npt.NDArray[np.int64]

PUT, OLDEST, FILLED, WAITING, DROPPED = range(5)
"""Places in ``State.late_marks``: documents put so far, the number of the oldest, buckets written
so far, documents that wait, documents dropped unlabelled."""

TAKEN = -1  # in place of the length of a document that waits no longer


class Waiting(NamedTuple):
    """A document that waits, as ``clasher.hashing.Hashed`` has it."""

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
