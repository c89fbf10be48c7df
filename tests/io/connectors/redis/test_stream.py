"""Redis streams: kinds of entries, options and errors."""

from __future__ import annotations

import importlib
import json
import random

import msgspec
import pytest

from clasher.errors import SettingError, StreamError
from clasher.io.protocol import Caller
from clasher.io.registry import source_at
from tests.flow import plain
from tests.flow.plain import predictions, records
from tests.flow.runs import run
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


def left_pending(server, folder, rows):
    """A flow that was given entries, and died before it learnt them; the ids of these."""
    add(server, rows)
    run(folder, server.url("news", group="desk"))
    name = (folder / "runner").read_text().strip()
    more = add(server, records(len(rows) + 30)[len(rows) :])
    server.client.xreadgroup("desk", name, {"news": ">"}, count=30)
    return more


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
    run(folder, server.url("other"), new_stream=True)
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


def test_a_password_is_not_shown(server, folder):
    url = server.url("news").replace("redis://", "redis://ann:secret@")
    with pytest.raises(StreamError, match="denies access") as error:
        run(folder, url)
    assert "secret" not in str(error.value)


def test_a_key_that_is_no_stream_is_reported(server, folder):
    server.client.set("news", "something")
    with pytest.raises(StreamError, match="WRONGTYPE"):
        run(folder, server.url("news"))


def test_large_outputs_are_added_a_few_at_a_time_and_dead_letters_cut(server, folder, monkeypatch):
    connector = importlib.import_module("clasher.io.connectors.redis.stream")
    monkeypatch.setattr(connector, "PIECE_BYTES", 1000)
    rows, raw = records(60), b"no record" * 1000
    add(server, rows[:30])
    server.client.xadd("news", {"json": raw})
    add(server, rows[30:])
    letters = server.url("letters")
    run(folder, server.url("news"), server.url("out"), letters=letters, texts=True)
    assert [line["id"] for line in written(server)] == [row["id"] for row in rows]
    (letter,) = written(server, "letters")
    assert letter["raw_bytes"] == len(raw)
    assert 500 < len(msgspec.json.encode(letter)) <= 1000
