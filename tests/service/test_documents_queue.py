"""The queue of predicted documents, and leases on them."""

from __future__ import annotations

import copy
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import UnknownDocumentError
from clasher.service.documents import SHARES, DocumentQueue, Leases, PredictedDocument, is_fair
from clasher.service.structs import QueueBounds


def predicted(name, at=0.0, text="text", margin=0.5, best="grain"):
    return PredictedDocument(
        id=name,
        at=at,
        text=text,
        labels=[best],
        probabilities={best: 0.9},
        version=1,
        margin=margin,
    )


def test_documents_are_bounded_by_bytes():
    kept = DocumentQueue(QueueBounds(bytes=10_000))
    kept.add(predicted(str(n), text="x" * 1000) for n in range(20))
    assert 1 < len(kept) < 10
    with pytest.raises(UnknownDocumentError):
        kept.get("0")
    kept.get("19")


class Disk(dict):
    """Documents by number, as a log keeps them."""

    def write(self, kept, most=100):
        rows, gone, before = kept.take_changes(most)
        for number in [*gone, *(number for number in self if number < before)]:
            self.pop(number, None)
        self.update(rows)

    def read(self):
        again = DocumentQueue(QueueBounds())
        again.load(self[number] for number in sorted(self))
        return again.newest(len(self))


def test_the_disk_follows_the_queue():
    kept, disk = DocumentQueue(QueueBounds(documents=3)), Disk()
    kept.add(map(predicted, "abc"))
    disk.write(kept, most=0)
    assert (disk, kept.behind) == ({}, 3)
    disk.write(kept, most=2)
    assert [document.id for document in disk.read()] == ["b", "a"]  # the oldest first
    kept.get("c").taught = ["grain"]
    kept.touch(kept.get("c"))
    kept.add(map(predicted, "de"))
    disk.write(kept, most=0)
    assert [document.id for document in disk.read()] == ["c"]  # answers are always written
    disk.write(kept)
    assert disk.read() == kept.newest(9)
    assert not kept.has_changes
    kept.expire(1e9)
    disk.write(kept)
    assert (disk, kept.has_changes) == ({}, False)


names = st.sampled_from("abcdef")
done = st.tuples(st.sampled_from(["add", "teach", "expire"]), names)


@given(st.lists(done | st.integers(0, 4), max_size=30))
def test_every_answer_is_on_disk_after_a_write(steps):
    kept, disk, now = DocumentQueue(QueueBounds(documents=4, seconds=8.0)), Disk(), 0.0
    for step in steps:
        now += 1
        if isinstance(step, int):
            disk.write(kept, step)
            answered = [document for document in kept.newest(9) if document.taught]
            assert [document for document in disk.read() if document.taught] == answered
        elif step[0] == "add":
            kept.add([predicted(step[1])], now)
        elif step[0] == "expire":
            kept.expire(now)
        elif kept.find(step[1]) is not None:
            kept.get(step[1]).taught = ["grain"]
            kept.touch(kept.get(step[1]))
    disk.write(kept)
    assert disk.read() == kept.newest(9)
    assert not kept.has_changes


def queue_and_leases(*documents, seconds=600.0):
    """Return a queue, and leases whose predictions never change."""
    kept = DocumentQueue(QueueBounds())
    for document in documents:
        document.text = document.id
    kept.add(documents)
    known = {document.text: copy.copy(document) for document in documents}
    return kept, Leases(kept, seconds, lambda texts: [known[text] for text in texts], seed=1)


def test_reasons_take_turns():
    _, leases = queue_and_leases(
        *(predicted(str(n), margin=n / 10, best=str(n % 3)) for n in range(10))
    )
    items = leases.lease("ann", 8, now=0.0)
    assert [item.reason for item in items] == list(SHARES) * 2
    assert items[0].id == "0"
    assert len({item.id for item in items}) == 8


def test_a_leased_document_is_free_again_when_the_lease_expires():
    kept, leases = queue_and_leases(*map(predicted, "abc"))
    mine = leases.lease("ann", 2, now=0.0)
    assert len(leases.lease("bob", 5, now=1.0)) == 1
    assert leases.lease("bob", 5, now=2.0) == []
    assert kept.leased(2.0) == 3
    leases.release(mine[0].id, "bob")
    assert leases.lease("eve", 5, now=3.0) == []
    leases.release(mine[0].id, "ann")
    assert [item.id for item in leases.lease("eve", 5, now=3.0)] == [mine[0].id]
    assert {item.id for item in leases.lease("dan", 5, now=601.5)} == {"a", "b", "c"} - {mine[0].id}


def test_documents_can_be_leased_by_id():
    kept, leases = queue_and_leases(*map(predicted, "abcd"))
    kept.get("c").taught = ["oil"]
    (bobs,) = leases.lease_these("bob", ["b"], now=0.0)
    mine = leases.lease_these("ann", ["d", "b", "c", "a", "gone", "a"], now=1.0)
    assert [item.id for item in mine] == ["d", "a"]
    assert not any(is_fair(kept.get(item.id).reason) for item in mine)
    assert leases.lease_these("bob", ["b"], now=2.0)[0].leased_until > bobs.leased_until


def test_threads_never_get_the_same_document():
    _, leases = queue_and_leases(*(predicted(str(n)) for n in range(200)))
    got = []

    def take(who):
        while items := leases.lease(who, 3, now=0.0):
            got.extend(item.id for item in items)

    threads = [threading.Thread(target=take, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got, key=int) == [str(n) for n in range(200)]


def test_a_document_once_picked_as_uncertain_is_never_judged():
    kept, leases = queue_and_leases(predicted("a"))
    leases.lease("ann", 1, now=0.0)
    leases.lease("bob", 1, now=1000.0)  # now at random
    assert not is_fair(kept.get("a").reason)
