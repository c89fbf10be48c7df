"""What can happen to a Redis stream, what a flow makes of it, and bugs that are caught."""

from __future__ import annotations

import json
import random
import threading

import msgspec
import pytest

from clasher.errors import SettingError, StreamError
from clasher.flow.folder import FlowFolder
from clasher.io.connectors import redis_group, redis_stream
from clasher.io.connectors.redis_group import GroupSource
from clasher.io.connectors.redis_standing import Stand
from clasher.io.connectors.redis_stream import StreamSource
from clasher.io.records import Fields
from clasher.io.registry import source_at
from clasher.io.streams import Caller
from tests.flow import plain
from tests.flow.plain import predictions, records
from tests.flow.proxy import Proxy
from tests.flow.running import flow, run
from tests.flow.torture.trials import fill

NEW = b"\r\n>\r\n"  # a word of those who ask for what is new
BOTH = pytest.mark.parametrize("options", [{}, {"group": "desk"}], ids=["position", "group"])


def add(server, rows, stream="news"):
    """Add an entry for each record; the ids of the entries."""
    pipe = server.client.pipeline(transaction=False)
    for row in rows:
        pipe.xadd(stream, {"json": msgspec.json.encode(row)})
    return [own.decode() for own in pipe.execute()]


def written(server, stream="out"):
    return [json.loads(fields[b"json"]) for _, fields in server.client.xrange(stream)]


def pending(server):
    return server.client.xpending("news", "desk")["pending"]


def opened(url, position=None, name="me"):
    source = source_at(url)
    source.open(position, Caller(name))
    return source


# ── what an entry is ─────────────────────────────────────────────────────────────────────────────


@BOTH
def test_entries_of_all_kinds_are_learnt_once_and_written(server, folder, options):
    rows = records(300)
    fill(server, "news", rows, random.Random(1))
    letters = server.url("letters")
    figures = run(folder, server.url("news", **options), server.url("out"), letters=letters)
    assert plain.model_in(folder) == plain.learnt(rows)
    assert written(server) == predictions(rows)
    assert figures.duplicates > 5
    assert figures.poison == server.client.xlen("letters") > 5
    assert figures.lag == 0
    if options:
        assert pending(server) == 0


def test_an_entry_without_an_id_is_known_by_its_own(server, folder):
    own = server.client.xadd("news", {"text": "wheat"}).decode()
    run(folder, server.url("news"), server.url("out", field="prediction", maxlen=10))
    ((_, fields),) = server.client.xrange("out")
    assert json.loads(fields[b"prediction"]) == {"id": own, "labels": []}


def test_a_field_that_must_be_there_is_missed(server, folder):
    server.client.xadd("news", {"text": "wheat"})
    server.client.xadd("news", {"doc": b'{"text": "wheat"}'})
    server.client.xadd("other", {b"text": b"\xff"})
    assert run(folder, server.url("news", field="doc")).poison == 1
    run(folder, server.url("other"))
    letters = (folder / "dead-letters.jsonl").read_text()
    assert "it has no field 'doc'" in letters
    assert "invalid UTF-8 at byte 1" in letters


@BOTH
def test_a_new_reader_may_begin_at_the_end(server, folder, options):
    add(server, records(20))
    run(folder, server.url("news", start="end", **options))
    add(server, records(30)[20:])
    figures = run(folder, server.url("news", start="end", **options))
    assert figures.documents == 10


@pytest.mark.parametrize(
    "url", ["news?groups=x", "news?start=middle", "", "a/b", "news?claim=soon"]
)
def test_an_address_that_means_nothing_is_refused(server, url):
    with pytest.raises((SettingError, StreamError)) as error:
        source_at(f"redis://127.0.0.1:{server.port}/{url}")
    assert "secret" not in str(error.value)


def test_a_password_is_told_to_nobody(server, folder):
    url = server.url("news").replace("redis://", "redis://ann:secret@")
    with pytest.raises(StreamError, match="lets nobody in") as error:
        run(folder, url)
    assert "secret" not in str(error.value)


def test_what_is_no_stream_is_told(server, folder):
    server.client.set("news", "something")
    with pytest.raises(StreamError, match="WRONGTYPE"):
        run(folder, server.url("news"))


# ── retention ────────────────────────────────────────────────────────────────────────────────────


def trim_unread(server, folder, options):
    """A stream that is trimmed beyond what was read of it."""
    ids = add(server, records(100))
    run(folder, server.url("news", **options))
    ids += add(server, records(140)[100:])
    server.client.xtrim("news", minid=ids[103], approximate=False)
    return ids


@BOTH
def test_entries_trimmed_before_they_were_read_are_never_skipped(server, folder, options):
    trim_unread(server, folder, options)
    for _ in range(2):  # also not when it is started again
        with pytest.raises(StreamError, match="3 entries were trimmed before they were read; let"):
            run(folder, server.url("news", **options))
    assert plain.model_in(folder) == plain.learnt(records(100))


@BOTH
def test_entries_trimmed_while_a_flow_runs_are_never_skipped(server, folder, options):
    source = opened(server.url("news", **options) if options else server.url("news"))
    add(server, records(100))
    assert len(source.read(20, 0.0)) == 20
    server.client.xtrim("news", maxlen=30, approximate=False)
    with pytest.raises(StreamError, match="50 entries were trimmed before they were read"):
        source.read(20, 0.0)
    source.close()


@BOTH
def test_a_loss_is_passed_over_where_that_is_said_and_goes_to_the_dead_letters(
    server, folder, options
):
    trim_unread(server, folder, options)
    figures = run(folder, server.url("news", on_loss="skip", **options))
    assert figures.poison == 1
    assert figures.documents == 137
    assert "3 entries after it were trimmed" in (folder / "dead-letters.jsonl").read_text()
    assert plain.model_in(folder) == plain.learnt([*records(100), *records(140)[103:]])
    assert run(folder, server.url("news", **options)).documents == 137  # and it is over with


@BOTH
def test_trimming_what_was_read_is_no_loss(server, folder, options):
    for start in range(0, 200, 40):
        add(server, records(200)[start : start + 40])
        run(folder, server.url("news", **options))
        server.client.xtrim("news", maxlen=start % 3, approximate=False)
    assert plain.model_in(folder) == plain.learnt(records(200))


@BOTH
def test_deleting_what_was_read_is_no_loss(server, folder, options):
    ids = add(server, records(50))
    run(folder, server.url("news", **options))
    server.client.xdel("news", *ids[::2], ids[-1])
    add(server, records(80)[50:])
    run(folder, server.url("news", **options))
    assert plain.model_in(folder) == plain.learnt(records(80))


@BOTH
def test_a_reader_that_skips_is_caught(server, folder, options, monkeypatch):
    monkeypatch.setattr(Stand, "trimmed", lambda *given: 0)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_entries_trimmed_before_they_were_read_are_never_skipped(server, folder, options)


def left_pending(server, folder, rows):
    """A flow that was given entries, and died before it learnt them; the ids of these."""
    add(server, rows)
    run(folder, server.url("news", group="desk"))
    name = (folder / "runner").read_text().strip()
    more = add(server, records(len(rows) + 30)[len(rows) :])
    server.client.xreadgroup("desk", name, {"news": ">"}, count=30)
    return more


def test_entries_trimmed_while_pending_are_never_skipped(server, folder):
    ids = left_pending(server, folder, records(60))
    server.client.xtrim("news", minid=ids[5], approximate=False)
    for _ in range(2):
        with pytest.raises(StreamError, match="5 entries were trimmed before they were learnt"):
            run(folder, server.url("news", group="desk"))
    figures = run(folder, server.url("news", group="desk", on_loss="skip"))
    assert (figures.poison, figures.documents) == (5, 85)
    assert pending(server) == 0


def test_entries_trimmed_while_pending_elsewhere_are_never_skipped(server, folder, tmp_path):
    ids = left_pending(server, tmp_path / "dead", records(60))
    server.client.xtrim("news", minid=ids[5], approximate=False)
    claiming = {"group": "desk", "claim": 0.05}
    for _ in range(2):
        with pytest.raises(StreamError, match="5 entries were trimmed before they were learnt"):
            run(folder, server.url("news", **claiming), idle=1.0)
    figures = run(folder, server.url("news", on_loss="skip", **claiming), idle=1.0)
    assert (figures.poison, figures.documents) == (5, 25)
    assert pending(server) == 0


def test_entries_trimmed_while_they_are_in_hand_are_learnt(server, folder):
    rows = records(100)
    add(server, rows)
    going = flow(folder, server.url("news", group="desk"), server.url("out"))
    source, read = going._documents, going._documents.read

    def trimming(most, seconds):
        chunk = read(most, seconds)
        if source._through == 100:
            server.client.xtrim("news", maxlen=0, approximate=False)
        return chunk

    source.read = trimming
    going.run()
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_reader_that_passes_over_what_was_trimmed_is_caught(server, folder, monkeypatch):
    monkeypatch.setattr(GroupSource, "_accept", lambda *given: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_entries_trimmed_while_pending_are_never_skipped(server, folder)


# ── groups ───────────────────────────────────────────────────────────────────────────────────────


def test_what_a_dead_flow_left_pending_is_taken_over(server, folder, tmp_path):
    left_pending(server, tmp_path / "dead", records(60))
    figures = run(folder, server.url("news", group="desk", claim=0.05), idle=1.0)
    assert figures.documents == 30
    assert plain.model_in(folder) == plain.learnt(records(90)[60:])
    assert pending(server) == 0


def test_a_flow_that_takes_nothing_over_is_caught(server, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(GroupSource, "_left_by_others", lambda self, most: None)
    with pytest.raises(AssertionError):
        test_what_a_dead_flow_left_pending_is_taken_over(server, folder, tmp_path)


def claimed(server, folder, count=5):
    """Give some of the entries that a flow has in hand to another, which acknowledges them."""
    rows, told = records(200), []
    add(server, rows)
    going = flow(folder, server.url("news", group="desk"), server.url("out"), told=told)
    party, taken = going._party, []
    commit = party.commit

    def stolen(caller, number, *more):
        if number == 3 and not taken:
            mine = list(party._unacknowledged)[:count]
            server.client.xclaim("news", "desk", "other", 0, mine)
            server.client.xack("news", "desk", *mine)
            taken.extend(own.decode() for own in mine)
        commit(caller, number, *more)

    party.commit = stolen
    figures = going.run()
    gone = {
        json.loads(fields[b"json"])["id"]
        for own, fields in server.client.xrange("news")
        if own.decode() in taken
    }
    return figures, told, [row for row in rows if row["id"] not in gone]


def test_what_another_has_learnt_is_not_learnt_here(server, folder):
    figures, told, rest = claimed(server, folder)
    assert figures.refused >= 1
    assert "was given to another consumer; went back to snapshot 2" in told[0]
    assert len(rest) < 200
    assert plain.model_in(folder) == plain.learnt(rest)


def test_a_commit_of_what_is_not_ours_is_caught(server, folder, monkeypatch):
    script = redis_group.scripts.COMMIT.replace("if at <= #ids then", "if false then")
    monkeypatch.setattr(redis_group.scripts, "COMMIT", script)
    with pytest.raises(AssertionError):
        test_what_another_has_learnt_is_not_learnt_here(server, folder)


def test_a_group_that_was_deleted_is_made_again_where_the_model_stands(server, folder):
    rows = records(150)
    add(server, rows[:80])
    run(folder, server.url("news", group="desk"))
    server.client.xgroup_destroy("news", "desk")
    add(server, rows[80:])
    run(folder, server.url("news", group="desk"))
    assert plain.model_in(folder) == plain.learnt(rows)
    assert pending(server) == 0


def test_a_group_that_is_deleted_on_the_way_is_made_again(server, folder):
    rows, told = records(200), []
    add(server, rows)
    going = flow(folder, server.url("news", group="desk"), server.url("out"), told=told)
    source, deleted = going._documents, []
    read = source.read

    def deleting(most, seconds):
        if source._through >= 100 and not deleted:
            deleted.append(server.client.xgroup_destroy("news", "desk"))
        return read(most, seconds)

    source.read = deleting
    going.run()
    assert deleted == [1]
    assert "the group was deleted; went back to snapshot" in told[0]
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_group_that_begins_anew_is_caught(server, folder, monkeypatch):
    create = GroupSource._create
    monkeypatch.setattr(GroupSource, "_create", lambda self, stand, at: create(self, stand, None))
    with pytest.raises(AssertionError):
        test_a_group_that_was_deleted_is_made_again_where_the_model_stands(server, folder)


def test_a_deleted_group_that_others_used_is_not_made_again(server, folder, tmp_path):
    add(server, records(40))
    run(folder, server.url("news", group="desk"))
    run(tmp_path / "other", server.url("news", group="desk"))
    server.client.xgroup_destroy("news", "desk")
    with pytest.raises(StreamError, match="the group was deleted, and 1 more have read with it"):
        run(folder, server.url("news", group="desk"))


# ── servers ──────────────────────────────────────────────────────────────────────────────────────


@BOTH
def test_a_server_that_was_set_back_is_noticed(server, folder, copy, options):
    add(server, records(60))
    run(folder, server.url("news", **options))
    server.keep_copy(copy)
    add(server, records(100)[60:])
    run(folder, server.url("news", **options))
    server.set_back(copy)
    add(server, records(180)[100:])
    with pytest.raises(StreamError, match="was set back"):
        run(folder, server.url("news", **options))


def test_a_stream_that_was_set_back_and_has_grown_since_is_noticed(server, folder, copy):
    server.keep_copy(copy)
    add(server, records(60))
    run(folder, server.url("news"))
    server.set_back(copy)
    with pytest.raises(StreamError, match=r"was set back: it was read as far as \S+, and knows"):
        run(folder, server.url("news"))


def test_a_server_that_was_set_back_on_the_way_is_noticed(server, folder, copy):
    rows = records(200)
    add(server, rows)
    server.keep_copy(copy)
    going = flow(folder, server.url("news", group="desk"), server.url("out"))
    party, commit = going._party, going._party.commit

    def set_back(caller, number, *more):
        if number == 4:
            server.set_back(copy)
        commit(caller, number, *more)

    party.commit = set_back
    with pytest.raises(StreamError, match="was set back: it remembers snapshot 0"):
        going.run()


def test_a_start_that_believes_any_server_is_caught(server, folder, copy, monkeypatch):
    monkeypatch.setattr(FlowFolder, "_compare", lambda *given: None)
    monkeypatch.setattr(redis_group, "set_back", lambda *given: KeyError())
    with pytest.raises((KeyError, pytest.fail.Exception)):
        test_a_server_that_was_set_back_is_noticed(server, folder, copy, {"group": "desk"})


def test_a_position_that_is_believed_anywhere_is_caught(server, folder, copy, monkeypatch):
    monkeypatch.setattr(redis_stream, "order", lambda own: (0, 0))
    monkeypatch.setattr(StreamSource, "_check_count", lambda *given: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_server_that_was_set_back_is_noticed(server, folder, copy, {})


def cut_answers(server, folder, options, wanted):
    """A wire that loses some answers, after the server has done what it was told."""
    rows, cuts = records(200), []
    add(server, rows)

    def cutting(said):
        is_cut = wanted in said and len(cuts) < 3
        if is_cut:
            cuts.append(said)
        return is_cut

    proxy = Proxy(server.port, cutting)
    try:
        url = server.url("news", **options).replace(str(server.port), str(proxy.port))
        run(folder, url, server.url("out"))
    finally:
        proxy.close()
    assert len(cuts) == 3
    assert plain.model_in(folder) == plain.learnt(rows)
    assert written(server) == predictions(rows)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [({}, b"XINFO"), ({"group": "desk"}, NEW), ({"group": "desk"}, b"EVAL")],
)
def test_an_answer_that_got_lost_loses_nothing(server, folder, options, wanted):
    cut_answers(server, folder, options, wanted)


def test_a_reader_that_forgets_lost_answers_is_caught(server, folder, monkeypatch):
    pending = GroupSource._pending

    def once(self, most):
        found = None if self.fields.id == "over" else pending(self, most)
        if found is None:
            self.fields = Fields(id="over")
        return found

    monkeypatch.setattr(GroupSource, "_pending", once)
    with pytest.raises(AssertionError):
        cut_answers(server, folder, {"group": "desk"}, NEW)


def test_what_was_delivered_behind_our_back_is_found(server, folder):
    """A process that died may have had a last word on its way."""
    rows = records(200)
    add(server, rows[:100])
    going = flow(folder, server.url("news", group="desk"))
    party, commit, late = going._party, going._party.commit, []

    def behind(caller, number, *more):
        if number == 2:
            add(server, rows[100:])
            late.extend(server.client.xreadgroup("desk", caller.id, {"news": ">"}, count=20))
        commit(caller, number, *more)

    party.commit = behind
    going.run()
    assert late
    assert pending(server) == 0
    assert going.figures.documents == 200


def test_a_server_that_is_away_is_waited_for(server, folder):
    rows, told = records(120), []
    add(server, rows)
    server.stop()
    threading.Timer(0.4, server.start).start()
    run(folder, server.url("news", group="desk"), server.url("out"), told=told)
    assert "does not answer" in told[0]
    assert any("answers again" in line for line in told)
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_server_that_stays_away_is_given_up_when_told_to(folder):
    with pytest.raises(StreamError, match=r"does not answer .*; gave up after 0\.2 s"):
        run(folder, "redis://127.0.0.1:1/news", give_up=0.2)


def test_entries_that_come_while_it_waits_are_read(server, folder):
    rows = records(60)
    going = flow(folder, server.url("news", group="desk"), idle=1.0)
    source, read = going._documents, going._documents.read
    left = [rows[at : at + 20] for at in range(0, 60, 20)]

    def feeding(most, seconds):
        if seconds and left:
            threading.Timer(0.05, add, [server, left.pop(0)]).start()
        return read(most, seconds)

    source.read = feeding
    assert going.run().documents == 60
    assert plain.model_in(folder) == plain.learnt(rows)
