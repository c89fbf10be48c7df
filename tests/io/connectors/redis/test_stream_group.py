"""Consumer groups of Redis: taking over, claims, groups that were deleted."""

from __future__ import annotations

import json

import pytest

from clasher.errors import StreamError
from clasher.io.connectors.redis import scripts
from clasher.io.connectors.redis.stream import RedisGroupSource
from tests.flow import plain
from tests.flow.plain import records
from tests.flow.runs import flow, run
from tests.io.connectors.redis.test_stream import add, left_pending, pending


def test_what_a_dead_flow_left_pending_is_taken_over(server, folder, tmp_path):
    left_pending(server, tmp_path / "dead", records(60))
    figures = run(folder, server.url("news", group="desk", claim=0.05), idle=1.0)
    assert figures.documents == 30
    assert plain.model_in(folder) == plain.learnt(records(90)[60:])
    assert pending(server) == 0


def test_a_flow_that_takes_nothing_over_is_caught(server, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(RedisGroupSource, "_left_by_others", lambda self, most: None)
    with pytest.raises(AssertionError):
        test_what_a_dead_flow_left_pending_is_taken_over(server, folder, tmp_path)


def claimed(server, folder, count=5):
    """Give some of the entries that a flow has in hand to another, which acknowledges them."""
    rows, notes = records(200), []
    add(server, rows)
    going = flow(folder, server.url("news", group="desk"), server.url("out"), notes=notes)
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
    return figures, notes, [row for row in rows if row["id"] not in gone]


def test_what_another_has_learnt_is_not_learnt_here(server, folder):
    figures, notes, rest = claimed(server, folder)
    assert figures.refused >= 1
    assert "was given to another consumer; went back to snapshot 2" in notes[0]
    assert len(rest) < 200
    assert plain.model_in(folder) == plain.learnt(rest)


def test_a_commit_of_entries_of_others_is_caught(server, folder, monkeypatch):
    script = scripts.COMMIT.replace("if at <= #ids then", "if false then")
    monkeypatch.setattr(scripts, "COMMIT", script)
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
    rows, notes = records(200), []
    add(server, rows)
    going = flow(folder, server.url("news", group="desk"), server.url("out"), notes=notes)
    source, deleted = going._documents, []
    read = source.read

    def deleting(most, seconds):
        if source._through >= 100 and not deleted:
            deleted.append(server.client.xgroup_destroy("news", "desk"))
        return read(most, seconds)

    source.read = deleting
    going.run()
    assert deleted == [1]
    assert "the group was deleted; went back to snapshot" in notes[0]
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_group_that_begins_at_zero_is_caught(server, folder, monkeypatch):
    create = RedisGroupSource._create
    monkeypatch.setattr(
        RedisGroupSource, "_create", lambda self, stand, at: create(self, stand, None)
    )
    with pytest.raises(AssertionError):
        test_a_group_that_was_deleted_is_made_again_where_the_model_stands(server, folder)


def test_a_deleted_group_that_others_used_is_not_made_again(server, folder, tmp_path):
    add(server, records(40))
    run(folder, server.url("news", group="desk"))
    run(tmp_path / "other", server.url("news", group="desk"))
    server.client.xgroup_destroy("news", "desk")
    with pytest.raises(StreamError, match="the group was deleted, and 1 more have read with it"):
        run(folder, server.url("news", group="desk"))
