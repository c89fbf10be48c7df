"""The small parts of a service, each by itself."""

from __future__ import annotations

import copy
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import FolderError, RecordError, UnknownDocumentError
from clasher.labels import LabelSets
from clasher.runtime.judged import MOST_FORMER, Identities
from clasher.runtime.quality import (
    PANE,
    PANES,
    Quality,
    estimate_f1,
    estimate_macro,
    estimate_micro,
    figures,
    ratio,
)
from clasher.service.documents import SHARES, Awaiting, Bounds, Predicted, Teaching, is_fair
from clasher.service.events import BUFFER, MOST, Events
from clasher.service.export import read_lines
from clasher.service.log import ROWS, Log, Relabel, check_library, encode
from clasher.service.state import State
from clasher.service.structs import Document
from clasher.service.views import predict

counts = st.tuples(*[st.integers(0, 1000)] * 3)


WORDS = ["wheat", "gold", "crude", "pipeline", "today", "iron", "zinc"]

# ── estimates ────────────────────────────────────────────────────────────────────────────────────


@given(counts)
def test_intervals_hold_their_values(row):
    tp, fp, _ = row
    for estimate in (ratio(tp, tp + fp), estimate_f1(row), estimate_micro([row], 50)):
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


@given(st.lists(counts.filter(lambda row: row[0] + row[2]), max_size=5))
def test_the_interval_of_a_mean_holds_it(rows):
    estimate = estimate_macro(rows)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    expected = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in rows]
    assert estimate.value == pytest.approx(sum(expected) / max(1, len(rows)))


def test_more_evidence_makes_narrower_intervals():
    few, many = estimate_f1((8, 1, 1)), estimate_f1((800, 100, 100))
    assert few.high - few.low > 5 * (many.high - many.low)
    assert (few.is_enough, many.is_enough) == (False, True)


def test_no_evidence_says_nothing():
    assert (ratio(0, 0).low, ratio(0, 0).high, ratio(0, 0).is_enough) == (0.0, 1.0, False)


def test_the_micro_average_has_no_more_observations_than_documents():
    rows = [(90, 5, 5)] * 20
    assert estimate_micro(rows, 100).observations == 100


# ── quality ──────────────────────────────────────────────────────────────────────────────────────

number = {"grain": 1, "metal": 2}.__getitem__


def judge(quality, documents, right=True, sign=1):
    truth = LabelSets.of([["grain"]] * documents)
    predicted = LabelSets.of([["grain" if right else "metal"]] * documents)
    quality.judge(truth, predicted, number, sign)


def test_the_recent_past_is_the_last_panes_only():
    quality = Quality()
    judge(quality, PANE * PANES, right=False)
    judge(quality, PANE * PANES)
    assert figures(quality.all).micro_f1.value == pytest.approx(0.5)
    assert figures(quality.recent()).micro_f1.value == 1.0
    assert quality.recent().documents == PANE * (PANES - 1)
    assert quality.history(1) == [1.0] * (PANES - 1) + [None]


@given(st.lists(st.integers(1, 2 * PANE), max_size=5))
def test_panes_do_not_depend_on_batches(sizes):
    together, apart = Quality(), Quality()
    judge(together, sum(sizes))
    for size in sizes:
        judge(apart, size)
    assert together.to_plain() == apart.to_plain()
    assert Quality.of(apart.to_plain()).to_plain() == apart.to_plain()


def test_judgements_are_taken_back():
    quality = Quality()
    judge(quality, 3)
    before = quality.to_plain()
    judge(quality, 1, right=False)
    judge(quality, 1, right=False, sign=-1)
    assert quality.all.documents == 3
    assert quality.all.counts[1] == (3, 0, 0)
    assert before["all"][0] == 3


def test_unlabelled_documents_are_not_judged():
    quality = Quality()
    quality.judge(LabelSets.of([None] * 600), LabelSets.of([["grain"]] * 600), number)
    assert (quality.all.documents, quality.all.counts) == (0, {})


def test_frequent_labels_make_up_most_of_what_is_true():
    quality = Quality()
    judge(quality, 80)
    quality.judge(LabelSets.of([["metal"]] * 20), LabelSets.of([[]] * 20), number)
    split = figures(quality.all)
    assert (split.frequent_labels, split.rare_labels) == (1, 1)
    assert (split.frequent_f1.value, split.rare_f1.value) == (1.0, 0.0)


# ── identities ───────────────────────────────────────────────────────────────────────────────────


def test_a_live_name_wins_over_a_former_one():
    labels = Identities()
    labels.adopt(["a", "b"])
    labels.rename("a", "c")
    labels.rename("b", "a")
    assert labels.now("a") == "a"
    assert labels.number("a") == 2
    assert labels.now("b") == "a"


def test_names_follow_through_chains_and_mergers():
    labels = Identities()
    labels.adopt(["a", "b"])
    labels.rename("a", "c")
    labels.merge("c", "b")
    assert [labels.now(name) for name in "abc"] == ["b", "b", "b"]
    labels.drop("b")
    assert [labels.now(name) for name in "abc"] == ["a", "b", "c"]


def test_former_names_are_bounded():
    labels = Identities()
    labels.adopt(["0"])
    for place in range(MOST_FORMER + 5):
        labels.rename(str(place), str(place + 1))
    assert len(labels.former) == MOST_FORMER
    assert labels.now("0") == "0"


# ── awaiting, teaching ───────────────────────────────────────────────────────────────────────────


def predicted(name, at=0.0, text="text", margin=0.5, best="grain"):
    return Predicted(
        id=name,
        at=at,
        text=text,
        labels=[best],
        probabilities={best: 0.9},
        version=1,
        margin=margin,
    )


def test_documents_are_bounded_by_bytes():
    kept = Awaiting(Bounds(bytes=10_000))
    kept.add(predicted(str(n), text="x" * 1000) for n in range(20))
    assert 1 < len(kept) < 10
    with pytest.raises(UnknownDocumentError):
        kept.get("0")
    kept.get("19")


class Disk(dict):
    """Documents by number, as a log keeps them."""

    def write(self, kept, most=100):
        changes = kept.take_changes(most)
        for number in [*changes.gone, *(number for number in self if number < changes.before)]:
            self.pop(number, None)
        self.update(changes.rows)

    def read(self):
        again = Awaiting(Bounds())
        again.load(self[number] for number in sorted(self))
        return again.newest(len(self))


def test_what_is_written_is_what_there_is():
    kept, disk = Awaiting(Bounds(documents=3)), Disk()
    kept.add(map(predicted, "abc"))
    disk.write(kept, most=0)
    assert (disk, kept.behind) == ({}, 3)
    disk.write(kept, most=2)
    assert [document.id for document in disk.read()] == ["b", "a"]  # the oldest first
    kept.get("c").taught = ["grain"]
    kept.touch(kept.get("c"))
    kept.add(map(predicted, "de"))
    disk.write(kept, most=0)
    assert [document.id for document in disk.read()] == ["c"]  # what was said is always written
    disk.write(kept)
    assert disk.read() == kept.newest(9)
    assert not kept.has_changes
    kept.expire(1e9)
    disk.write(kept)
    assert (disk, kept.has_changes) == ({}, False)


names = st.sampled_from("abcdef")
done = st.tuples(st.sampled_from(["add", "teach", "expire"]), names)


@given(st.lists(done | st.integers(0, 4), max_size=30))
def test_the_disk_never_has_less_than_what_was_said(steps):
    kept, disk, now = Awaiting(Bounds(documents=4, seconds=8.0)), Disk(), 0.0
    for step in steps:
        now += 1
        if isinstance(step, int):
            disk.write(kept, step)
            spoken_of = [document for document in kept.newest(9) if document.taught]
            assert [document for document in disk.read() if document.taught] == spoken_of
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


# ── predicting ───────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 6), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_the_scores_that_are_told_are_those_of_the_model(taught_state, top, text):
    told = predict(taught_state, [Document(text=text)] * 2, top, 1.0)
    scores, own = taught_state.model.probabilities(text), taught_state.model.predict(text)
    ordered = sorted(scores, key=lambda name: (-scores[name], name))
    least = scores[ordered[top - 1]] if top else 1.0
    for document in told:
        assert list(document.probabilities) == [
            name for name in ordered if name in document.probabilities
        ]
        assert document.probabilities == {name: scores[name] for name in document.probabilities}
        assert own <= document.probabilities.keys()
        best = {name for name in ordered if scores[name] > least}
        assert (
            best <= document.probabilities.keys() if top else document.probabilities.keys() == own
        )
        assert len(document.probabilities.keys() - own) <= top
        assert document.labels == [name for name in ordered if name in own]
    assert len({document.id for document in told}) == 2


@pytest.fixture(scope="module")
def taught_state():
    model = Clasher(256, rule="centroid", threshold=0.2)
    for place, word in enumerate(WORDS):
        model.learn(f"{word} {WORDS[place - 1]}", {word, WORDS[place - 2]})
    return State(model)


def queue(*documents, seconds=600.0):
    """Documents to teach, of which the same is predicted as before."""
    kept = Awaiting(Bounds())
    for document in documents:
        document.text = document.id
    kept.add(documents)
    told = {document.text: copy.copy(document) for document in documents}
    return kept, Teaching(kept, seconds, lambda texts: [told[text] for text in texts], seed=1)


def test_reasons_take_turns_and_are_told():
    _, teaching = queue(*(predicted(str(n), margin=n / 10, best=str(n % 3)) for n in range(10)))
    items = teaching.lease("ann", 8, now=0.0)
    assert [item.reason for item in items] == list(SHARES) * 2
    assert items[0].id == "0"
    assert len({item.id for item in items}) == 8


def test_nobody_gets_what_another_holds_until_the_lease_expires():
    kept, teaching = queue(*map(predicted, "abc"))
    mine = teaching.lease("ann", 2, now=0.0)
    assert len(teaching.lease("bob", 5, now=1.0)) == 1
    assert teaching.lease("bob", 5, now=2.0) == []
    assert kept.leased(2.0) == 3
    teaching.release(mine[0].id, "bob")
    assert teaching.lease("eve", 5, now=3.0) == []
    teaching.release(mine[0].id, "ann")
    assert [item.id for item in teaching.lease("eve", 5, now=3.0)] == [mine[0].id]
    assert {item.id for item in teaching.lease("dan", 5, now=601.5)} == {"a", "b", "c"} - {
        mine[0].id
    }


def test_documents_can_be_asked_for_by_id():
    kept, teaching = queue(*map(predicted, "abcd"))
    kept.get("c").taught = ["oil"]
    (bobs,) = teaching.lease_these("bob", ["b"], now=0.0)
    mine = teaching.lease_these("ann", ["d", "b", "c", "a", "gone", "a"], now=1.0)
    assert [item.id for item in mine] == ["d", "a"]
    assert not any(is_fair(kept.get(item.id).reason) for item in mine)
    assert teaching.lease_these("bob", ["b"], now=2.0)[0].leased_until > bobs.leased_until


def test_threads_never_get_the_same_document():
    _, teaching = queue(*(predicted(str(n)) for n in range(200)))
    got = []

    def take(who):
        while items := teaching.lease(who, 3, now=0.0):
            got.extend(item.id for item in items)

    threads = [threading.Thread(target=take, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got, key=int) == [str(n) for n in range(200)]


def test_what_was_picked_for_being_uncertain_is_never_judged():
    kept, teaching = queue(predicted("a"))
    teaching.lease("ann", 1, now=0.0)
    teaching.lease("bob", 1, now=1000.0)  # now at random
    assert not is_fair(kept.get("a").reason)


# ── events ───────────────────────────────────────────────────────────────────────────────────────


def test_a_slow_subscriber_is_let_go_and_the_others_are_not():
    events = Events(clock=lambda: 0.0)
    slow, quick = events.subscribe(), events.subscribe()
    for place in range(BUFFER + 1):
        events.publish("label", place=place)
        assert quick.get(timeout=0).data == {"place": place}
    assert slow.is_over
    assert (len(events), events.dropped) == (1, 1)
    assert len(slow.take()) == BUFFER
    assert slow.get(timeout=0) is None


def test_what_is_learnt_is_told_together_to_who_does_not_keep_up():
    events = Events(clock=lambda: 0.0)
    subscription = events.subscribe()
    for version in range(1, BUFFER + 10):
        events.publish("learned", documents=2, version=version)
    (event,) = subscription.take()
    assert event.data == {"documents": 2 * (BUFFER + 9), "version": BUFFER + 9}


def test_subscribers_are_bounded_and_told_of_the_end():
    events = Events(clock=lambda: 0.0)
    rung = []
    first = events.subscribe(lambda: rung.append(None))
    others = [events.subscribe() for _ in range(MOST)]
    assert first.is_over
    assert rung == [None]
    events.close()
    assert all(other.is_over for other in others)
    assert events.subscribe().is_over
    events.publish("label")


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────


# ── the log ──────────────────────────────────────────────────────────────────────────────────────


def test_what_is_written_together_is_all_there_or_not_at_all(tmp_path):
    log = Log(tmp_path / "log.sqlite")
    bodies = [encode(Relabel(action="pin", label=str(n))) for n in range(2 * ROWS + 5)]
    with log.transaction():
        for body in bodies:
            log.append(1.0, "ann", body)
        assert log.entry(3).body.label == "2"  # also before the end
    assert [encode(row.entry.body) for row in log.rows()] == bodies
    with pytest.raises(AttributeError), log.transaction():
        log.append(2.0, "ann", bodies[0]).fails()
    with log.transaction():
        log.tell("something", "else")
    assert len(log.rows()) == len(bodies)
    log.close()


def test_documents_are_deleted_by_number_and_before_a_number(tmp_path):
    log = Log(tmp_path / "log.sqlite")
    rows = [(number, b"%d" % number) for number in range(1, ROWS + 10)]
    with log.transaction():
        log.put_documents(rows)
        log.put_documents([(8, b"again")])
        log.drop_documents([6, 7], 5)
        log.drop_documents([], 0)
    assert list(log.documents())[:3] == [b"5", b"again", b"9"]
    log.close()


def test_an_old_database_library_is_refused():
    check_library("3.51.3")
    with pytest.raises(FolderError, match=r"3\.50\.4 can lose what was committed; pip install"):
        check_library("3.50.4")


@pytest.mark.parametrize("line", [b"{", b'{"version": 1}', b"\xff\n", b'{"version": "x"}'])
def test_a_bad_line_of_an_export_is_told(line):
    with pytest.raises(RecordError, match=r"a\.jsonl, record 2: .*a line of clasher log"):
        list(read_lines([b"\n", line], "a.jsonl"))
