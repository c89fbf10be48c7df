"""Entries that were trimmed or deleted: before they were read, while pending, in hand."""

from __future__ import annotations

import pytest

from clasher.errors import StreamError
from clasher.io.connectors.redis.stream import RedisGroupSource, StreamState
from tests.flow import plain
from tests.flow.plain import records
from tests.flow.runs import flow, run
from tests.io.connectors.redis.test_stream import BOTH, add, left_pending, opened, pending


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
def test_on_loss_skip_writes_a_dead_letter(server, folder, options):
    trim_unread(server, folder, options)
    figures = run(folder, server.url("news", on_loss="skip", **options))
    assert figures.poison == 1
    assert figures.documents == 137
    assert "3 entries after it were trimmed" in (folder / "dead-letters.jsonl").read_text()
    assert plain.model_in(folder) == plain.learnt([*records(100), *records(140)[103:]])
    assert run(folder, server.url("news", **options)).documents == 137  # and it is over with


@BOTH
def test_trimming_read_entries_is_no_loss(server, folder, options):
    for start in range(0, 200, 40):
        add(server, records(200)[start : start + 40])
        run(folder, server.url("news", **options))
        server.client.xtrim("news", maxlen=start % 3, approximate=False)
    assert plain.model_in(folder) == plain.learnt(records(200))


@BOTH
def test_deleting_read_entries_is_no_loss(server, folder, options):
    ids = add(server, records(50))
    run(folder, server.url("news", **options))
    server.client.xdel("news", *ids[::2], ids[-1])
    add(server, records(80)[50:])
    run(folder, server.url("news", **options))
    assert plain.model_in(folder) == plain.learnt(records(80))


@BOTH
def test_a_reader_that_skips_is_caught(server, folder, options, monkeypatch):
    monkeypatch.setattr(StreamState, "trimmed", lambda *given: 0)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_entries_trimmed_before_they_were_read_are_never_skipped(server, folder, options)


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


def test_a_reader_that_skips_trimmed_entries_is_caught(server, folder, monkeypatch):
    monkeypatch.setattr(RedisGroupSource, "_accept", lambda *given: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_entries_trimmed_while_pending_are_never_skipped(server, folder)
