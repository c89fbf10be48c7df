"""The ring of documents that wait for labels, against a plain list of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher, Settings
from clasher.errors import ModelFileError, SettingError
from clasher.learning import late_labels, memory
from clasher.learning.late_labels import (
    DROPPED,
    WAITING,
    Waiting,
    is_sound,
    key_of,
    put,
    take,
    waiting,
)
from tests.models import UNSEEN, state_bytes

DIMENSIONS = 6


class PlainRing:
    """Documents in a list, oldest first; None where one was taken."""

    def __init__(self, documents: int, buckets: int) -> None:
        self.documents, self.buckets = documents, buckets
        self.held: list[tuple[Any, list[int]]] = []
        self.dropped = 0

    def put(self, name: Any, document: list[int]) -> None:
        self.dropped += self.take(name) is not None
        while self.held and (
            len(self.held) == self.documents
            or sum(len(d) for _, d in self.held) + len(document) > self.buckets
        ):
            oldest, _ = self.held.pop(0)
            self.dropped += oldest is not None
        self.held.append((name, document))

    def take(self, name: Any) -> list[int] | None:
        for at, (held, document) in enumerate(self.held):
            if held == name:
                self.held[at] = (None, document)
                return document
        return None

    def waiting(self) -> list[list[int]]:
        return [document for name, document in self.held if name is not None]


def a_document(name: Any, buckets: list[int]) -> Waiting:
    return Waiting(key_of(name), np.array(buckets, np.int32), np.array(buckets, np.float32) * 2)


def a_ring(documents: int, monkeypatch_room: int):
    settings = Settings(dimensions=DIMENSIONS, max_labels=1, pending=documents)
    state = memory.allocate(settings)
    return state._replace(
        late_buckets=state.late_buckets[:monkeypatch_room],
        late_counts=state.late_counts[:monkeypatch_room],
    )


documents = st.lists(st.integers(0, DIMENSIONS - 1), unique=True, max_size=DIMENSIONS)
moves = st.lists(
    st.tuples(st.sampled_from("aabcdefgh"), st.none() | documents), min_size=1, max_size=60
)


@given(moves, st.integers(1, 5), st.integers(DIMENSIONS, 4 * DIMENSIONS))
def test_the_ring_is_a_list_that_drops_its_oldest(moves, room, buckets):
    state, plain = a_ring(room, buckets), PlainRing(room, buckets)
    for name, document in moves:
        if document is None:
            taken, expected = take(state, key_of(name)), plain.take(name)
            assert (taken is None) == (expected is None)
            if taken is not None:
                assert taken.buckets.tolist() == expected
                assert taken.counts.tolist() == [2.0 * bucket for bucket in expected]
        else:
            put(state, a_document(name, document))
            plain.put(name, document)
        assert [found.buckets.tolist() for found in waiting(state)] == plain.waiting()
        assert state.late_marks[WAITING] == len(plain.waiting()) <= room
        assert state.late_marks[DROPPED] == plain.dropped
        assert is_sound(state)


def test_ids_are_text_or_integers():
    keys = [key_of(name).tolist() for name in ("7", 7, "", -7, 10**40, "x" * 10**5, "\ud800")]
    assert len({tuple(key) for key in keys}) == len(keys)
    for bad in (None, True, 1.5, b"x"):
        with pytest.raises(SettingError, match=r"text or an integer. Got"):
            key_of(bad)


def test_any_document_finds_room_in_any_ring():
    model = Clasher(64, max_labels=4, pending=1)
    model.observe(" ".join(f"w{i}" for i in range(5000)), id=1)
    assert (model.pending, model.dropped) == (1, 0)
    model.observe(" ".join(f"v{i}" for i in range(5000)), id=2)
    assert (model.pending, model.dropped) == (1, 1)


def test_memory_stays_bounded_however_many_wait():
    model = Clasher(32, max_labels=4, pending=20)
    sizes = {model.nbytes}
    for i in range(500):
        model.observe(" ".join(f"w{i * k}" for k in range(i % 40)), id=f"document {i}" * (i % 9))
        sizes.add(model.nbytes)
        assert model.pending <= 20
    assert len(sizes) == 1
    assert model.dropped > 400


def test_waiting_documents_are_saved(tmp_path):
    model = Clasher(64, max_labels=4, pending=3)
    model.observe_many(UNSEEN, [f"d{i}" for i in range(len(UNSEEN))])
    model.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert (loaded.pending, loaded.dropped) == (3, len(UNSEEN) - 3)
    for twin in (model, loaded):
        twin.learn_later(f"d{len(UNSEEN) - 1}", {"x"})
        twin.observe("more of it", id=5)
    assert state_bytes(loaded) == state_bytes(model)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("late_buckets", 0, 64), ("late_buckets", 0, -1), ("late_spans", (0, 0), -5),
        ("late_spans", (0, 0), 10**9), ("late_spans", (0, 1), 65), ("late_spans", (0, 1), -2),
        ("late_marks", late_labels.PUT, 99), ("late_marks", late_labels.OLDEST, 7),
        ("late_marks", late_labels.WAITING, 2), ("late_marks", late_labels.DROPPED, -1),
        ("late_marks", late_labels.FILLED, -1),
    ],
)  # fmt: skip
def test_an_impossible_ring_is_not_loaded(tmp_path, name, place, value):
    model = Clasher(64, max_labels=4, pending=3)
    model.observe("oil prices", id=1)
    getattr(model.state, name)[place] = value
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="its documents that wait for labels"):
        Clasher.load(tmp_path / "model")
