"""Redis servers that were set back, lose answers, or are away."""

from __future__ import annotations

import threading

import pytest

from clasher.errors import StreamError
from clasher.flow.folder import FlowFolder
from clasher.io.connectors.redis import stream
from clasher.io.connectors.redis.stream import RedisGroupSource, StreamSource
from clasher.io.records import Fields
from support.servers.proxy import Proxy
from tests.flow import plain
from tests.flow.plain import predictions, records
from tests.flow.runs import flow, run
from tests.io.connectors.redis.test_stream import BOTH, NEW, add, pending, written


@BOTH
def test_a_server_that_was_set_back_is_noticed(server, folder, copy, options):
    add(server, records(60))
    run(folder, server.url("news", **options))
    server.keep_copy(copy)
    add(server, records(100)[60:])
    run(folder, server.url("news", **options))
    server.set_back(copy)
    add(server, records(180)[100:])
    with pytest.raises(StreamError, match="was reset"):
        run(folder, server.url("news", **options))


def test_a_stream_that_was_set_back_and_has_grown_since_is_noticed(server, folder, copy):
    server.keep_copy(copy)
    add(server, records(60))
    run(folder, server.url("news"))
    server.set_back(copy)
    with pytest.raises(StreamError, match=r"was reset: it was read up to \S+, and now ends"):
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
    with pytest.raises(StreamError, match="was reset: it has snapshot 0"):
        going.run()


def test_a_start_that_believes_any_server_is_caught(server, folder, copy, monkeypatch):
    monkeypatch.setattr(FlowFolder, "_compare", lambda *given: None)
    monkeypatch.setattr(stream.protocol, "set_back", lambda *given: KeyError())
    with pytest.raises((KeyError, pytest.fail.Exception)):
        test_a_server_that_was_set_back_is_noticed(server, folder, copy, {"group": "desk"})


def test_a_position_that_is_believed_anywhere_is_caught(server, folder, copy, monkeypatch):
    monkeypatch.setattr(stream, "order", lambda own: (0, 0))
    monkeypatch.setattr(StreamSource, "_check_count", lambda *given: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_server_that_was_set_back_is_noticed(server, folder, copy, {})


def cut_answers(server, folder, options, wanted):
    """A proxy that loses some answers after the server has run the commands."""
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
    pending = RedisGroupSource._pending

    def once(self, most):
        found = None if self.fields.id == "over" else pending(self, most)
        if found is None:
            self.fields = Fields(id="over")
        return found

    monkeypatch.setattr(RedisGroupSource, "_pending", once)
    with pytest.raises(AssertionError):
        cut_answers(server, folder, {"group": "desk"}, NEW)


def test_entries_of_a_late_command_are_found(server, folder):
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
    rows, notes = records(120), []
    add(server, rows)
    server.stop()
    threading.Timer(0.4, server.start).start()
    run(folder, server.url("news", group="desk"), server.url("out"), notes=notes)
    assert "does not answer" in notes[0]
    assert any("answers again" in line for line in notes)
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_server_that_stays_away_is_given_up_after_a_limit(folder):
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
