"""Watched folders, and files that are resumed."""

from __future__ import annotations

import gzip
import json
import os
import time
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.errors import SettingError, StreamError, UnreachableError
from clasher.io.connectors import files
from clasher.io.connectors.resumed_file import LOOK
from clasher.io.protocol import Caller, Output
from clasher.io.records import Fields
from clasher.io.registry import sink_at, source_at
from tests.flow import plain
from tests.flow.plain import lines, records
from tests.flow.runs import run

ME = Caller("me")


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def address(inbox, **options):
    more = "&".join(f"{name}={value}" for name, value in ({"settle": 0} | options).items())
    return f"file:{inbox}/?{more}"


@pytest.fixture
def opened():
    """Opens sources, which are closed at the end."""
    with ExitStack() as stack:

        def opening(url, position=None, **fields):
            source = source_at(url, Fields(**fields))
            stack.callback(source.close)
            source.open(position, ME)
            return source

        yield opening


def drain(source, most=7):
    """Read all chunks."""
    chunks = []
    while (chunk := source.read(most, 0.0)) is not None:
        chunks.append(chunk)
    return chunks


# ── folders ──────────────────────────────────────────────────────────────────────────────────────


def test_files_are_read_in_the_order_of_their_names_each_once(folder, inbox):
    rows = records(90)
    (inbox / "b.jsonl").write_bytes(lines(rows[30:60]))
    (inbox / "a.jsonl.gz").write_bytes(gzip.compress(lines(rows[:30])))
    assert run(folder, address(inbox)).documents == 60
    (inbox / "c.jsonl").write_bytes(lines(rows[60:]))
    assert run(folder, address(inbox)).documents == 90
    assert plain.model_in(folder) == plain.learnt(rows)


def test_records_without_an_id_are_numbered_through_all_files(inbox, opened):
    for name in ("a", "b"):
        (inbox / f"{name}.jsonl").write_text('{"text": "wheat"}\n' * 3)
    pq.write_table(pa.table({"text": ["corn"] * 3}), inbox / "c.parquet")
    chunks = drain(opened(address(inbox)))
    assert [own for chunk in chunks for own in chunk.records.ids] == list(range(1, 10))


def test_hidden_unknown_and_changing_files_are_ignored(inbox, opened):
    for name in (".hidden.jsonl", "news.jsonl.tmp", "notes.txt", "picture.png"):
        (inbox / name).write_text('{"text": "wheat"}\n')
    (inbox / "folder.jsonl").mkdir()
    assert drain(opened(address(inbox))) == []
    (inbox / "fresh.jsonl").write_text('{"text": "wheat"}\n')
    assert drain(opened(address(inbox, settle=1000))) == []
    os.utime(inbox / "fresh.jsonl", (time.time() - 2000,) * 2)
    assert len(drain(opened(address(inbox, settle=1000)))) == 1


def test_a_file_that_is_damaged_goes_to_the_dead_letters_and_blocks_nothing(folder, inbox):
    rows = records(40)
    (inbox / "a.jsonl").write_bytes(lines(rows[:20]))
    (inbox / "b.jsonl.gz").write_bytes(b"no gzip at all")
    (inbox / "c.csv").write_text("title,labels\nwheat,grain\n")
    (inbox / "d.jsonl").write_bytes(lines(rows[20:]))
    assert run(folder, address(inbox)).poison == 2
    assert plain.model_in(folder) == plain.learnt(rows)
    lines_of = (folder / "dead-letters.jsonl").read_text().splitlines()
    letters = [json.loads(line) for line in lines_of]
    assert [letter["record"] for letter in letters] == ["b.jsonl.gz", "c.csv"]
    assert "has no column 'text'" in letters[1]["error"]


def test_names_are_kept_as_long_as_the_files_are_there(inbox, opened):
    for name in ("a", "b", "c"):
        (inbox / f"{name}.jsonl").write_text('{"text": "wheat"}\n')
    position = drain(opened(address(inbox)))[-1].position
    (inbox / "a.jsonl").unlink()
    (inbox / "d.jsonl").write_text('{"text": "wheat"}\n')
    (chunk,) = drain(opened(address(inbox), position))
    assert chunk.position["done"] == ["b.jsonl", "c.jsonl"]
    assert chunk.position["file"] == "d.jsonl"


def test_a_missing_folder_is_reported(inbox, tmp_path, opened):
    with pytest.raises(StreamError, match="there is no such folder"):
        opened(f"{tmp_path}/nowhere/")
    source = opened(address(inbox))
    inbox.rmdir()
    with pytest.raises(UnreachableError, match="cannot be read"):
        source.read(1, 0.0)
    with pytest.raises(SettingError, match="there is no option 'once'; known are delimiter"):
        source_at(f"file:{tmp_path}/?once=yes")


def test_a_file_that_is_gone_from_under_its_position_is_reported(inbox, opened):
    (inbox / "a.jsonl").write_text('{"text": "wheat"}\n' * 10)
    position = opened(address(inbox)).read(3, 0.0).position
    (inbox / "a.jsonl").unlink()
    with pytest.raises(StreamError, match="cannot be read: No such file"):
        opened(address(inbox), position)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


CONTENT = (
    b'\xef\xbb\xbf{"text": "wheat", "labels": ["grain"]}\r\n\n'
    b'{"text": "gold"}\n{"text"\n  \n{"id": "own", "text": "zinc"}\n' * 2 + b'{"text": "corn"}'
)


def seen(chunks):
    records = [
        (own, text.as_py())
        for chunk in chunks
        for own, text in zip(chunk.records.ids, chunk.records.texts, strict=True)
    ]
    return records, [(bad.place, bad.raw) for chunk in chunks for bad in chunk.poison]


@pytest.mark.parametrize("name", ["news.jsonl", "news.jsonl.gz"])
@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_a_file_is_resumed_exactly_after_any_chunk(tmp_path, name, most, opened):
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT) if name.endswith("gz") else CONTENT)
    whole = drain(opened(str(path)), most)
    assert seen(whole)[0][0] == (1, "wheat")
    assert len(seen(whole)[0]) == 6  # the second byte order mark is none
    for at in range(len(whole)):
        rest = drain(opened(str(path), whole[at].position), most)
        assert seen(whole[: at + 1] + rest) == seen(whole)


@pytest.mark.parametrize("change", ["shorter", "other"])
def test_a_file_that_is_not_the_one_that_was_read_is_refused(tmp_path, change, opened):
    path = tmp_path / "news.jsonl"
    path.write_text('{"text": "wheat"}\n' * 1000)
    position = opened(str(path)).read(900, 0.0).position
    content = path.read_bytes()
    start = position["offset"] - LOOK // 2
    path.write_bytes(
        content[: position["offset"] - 1]
        if change == "shorter"
        else content[:start] + b"#" + content[start + 1 :]
    )
    with pytest.raises(StreamError, match=f"was read up to byte {position['offset']:,}"):
        opened(str(path), position)


def test_a_table_that_got_shorter_is_refused(tmp_path, opened):
    path = tmp_path / "news.csv"
    path.write_text("text\n" + "wheat\n" * 2500)
    position = drain(opened(str(path)))[1].position
    path.write_text("text\n" + "wheat\n" * 500)
    with pytest.raises(StreamError, match="1,999 records were read, and it has 500 now"):
        drain(opened(str(path), position))


def test_a_file_may_be_followed(tmp_path, opened):
    path = tmp_path / "news.jsonl"
    path.write_text('{"text": "wheat"}\n{"text": ')
    source = opened(f"file:{path}?follow=yes")
    assert len(source.read(10, 0.0)) == 1
    assert source.read(10, 0.0) is None
    assert not source.is_over
    with path.open("a") as file:
        file.write('"corn"}\n')
    assert seen([source.read(10, 0.0)])[0] == [(2, "corn")]
    source.close()
    with pytest.raises(StreamError, match="only uncompressed JSON lines in UTF-8 can be"):
        opened(f"file:{tmp_path}/news.csv?follow=yes")


def test_a_file_may_have_another_extension(tmp_path, opened):
    path = tmp_path / "news.txt"
    path.write_text("title,labels\nwheat,grain|food\n")
    (chunk,) = drain(opened(f"file:{path}?format=csv", text="title"))
    assert chunk.records.labels[0] == {"grain", "food"}


def test_an_overlong_line_is_skipped(tmp_path, monkeypatch, opened):
    monkeypatch.setattr("clasher.io.connectors.resumed_file.LONGEST_RECORD", 64)
    path = tmp_path / "news.jsonl"
    path.write_text('{"text": "' + "x" * 500 + '"}\n{"text": "corn"}\n')
    whole = drain(opened(str(path)), 1)
    assert seen(whole)[0] == [(2, "corn")]
    assert "longer than 64 bytes" in whole[0].poison[0].problem
    assert seen(drain(opened(str(path), whole[0].position)))[0] == [(2, "corn")]


def test_outputs_are_cut_back_to_what_a_snapshot_knows(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("before\n")
    sink = sink_at(str(path))
    sink.open(None, ME)
    sink.write([Output("a", b"1"), Output("b", b"2")])
    position = sink.flush()
    sink.write([Output("c", b"3")])
    sink.open(position, ME)
    sink.write([Output("c", b"4")])
    sink.close()
    assert path.read_text() == "before\n1\n2\n4\n"
    path.write_text("")
    with pytest.raises(StreamError, match="has 0 bytes, and 11 were written to it"):
        sink.open(position, ME)
    sink.close()


def test_a_full_disk_is_waited_for_and_half_a_line_taken_back(tmp_path, monkeypatch):
    sink = sink_at(str(tmp_path / "out.jsonl"))
    sink.open(None, ME)
    sink.write([Output("a", b"1")])

    class Full:
        def __init__(self, file):
            self.file = file

        def write(self, content):
            self.file.write(content[:1])
            raise OSError(files.FULL[0], "No space left on device")

        def __getattr__(self, name):
            return getattr(self.file, name)

    whole, sink._file = sink._file, Full(sink._file)
    with pytest.raises(UnreachableError, match="No space left on device"):
        sink.write([Output("b", b"2")])
    sink._file = whole
    sink.write([Output("b", b"2")])
    sink.close()
    assert (tmp_path / "out.jsonl").read_text() == "1\n2\n"


def test_a_file_that_cannot_be_written_is_reported(closed_folder, tmp_path, opened):
    with pytest.raises(StreamError, match="cannot be written"):
        sink_at(str(tmp_path / "nowhere" / "out.jsonl")).open(None, ME)
    with pytest.raises(StreamError, match="cannot be read"):
        opened(str(tmp_path / "nowhere.jsonl"))


# ── what a file is known by ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["news.jsonl", "news.csv", "news.jsonl.gz"])
def test_a_file_is_known_by_its_beginning_wherever_it_is(tmp_path, name):
    path, other = tmp_path / name, tmp_path / f"moved-{name}"
    path.write_bytes(b"text\nwheat\n")
    known = source_at(str(path)).identity()
    path.rename(other)
    with other.open("ab") as file:
        file.write(b"corn\n" * 2000)
    assert source_at(str(other)).same(known)
    assert source_at(str(other)).identity() != known  # longer by now
    assert source_at(str(other)).same(source_at(str(other)).identity())
    path.write_bytes(b"text\nzinc\n" * 2000)
    assert not source_at(str(path)).same(known)
    path.write_bytes(b"text")
    assert not source_at(str(path)).same(known)
    assert not source_at(str(path)).same("nats:news:2026-11-16")


def test_empty_files_pipes_and_folders_have_no_identity(tmp_path, inbox):
    (tmp_path / "empty.jsonl").touch()
    os.mkfifo(tmp_path / "pipe.jsonl")
    for url in ("empty.jsonl", "pipe.jsonl", "nowhere.jsonl", "inbox/"):
        assert source_at(f"{tmp_path}/{url}").identity() is None
    path = tmp_path / "rotated.jsonl"
    path.write_text("{}")
    assert source_at(f"file:{path}?follow=yes").identity() is None


def test_one_file_may_take_several_kinds_of_outputs(tmp_path, folder):
    rows = records(60)
    news, out = tmp_path / "news.jsonl", tmp_path / "out.jsonl"
    news.write_bytes(lines(rows[:30]) + b"no record\n")
    for rest in (rows[30:], []):
        run(folder, str(news), str(out), routes=[f"!*={out}"], letters=str(out))
        news.write_bytes(news.read_bytes() + lines(rest))
    found = [json.loads(line) for line in out.read_text().splitlines()]
    wanted = plain.predictions(rows)
    assert sum("error" in line for line in found) == 1
    assert [found.count(one) for one in wanted] == [1 if one["labels"] else 2 for one in wanted]
