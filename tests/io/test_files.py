import gzip
import os
import subprocess
import sys
import threading
import tracemalloc
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clasher.errors import RecordError, SettingError, StreamError
from clasher.io import BadRecords, Fields, open_stream
from clasher.text.label_names import normal_name
from tests.io.streams import COMPRESSORS, ROWS, WRITERS, jsonl, read_rows

TEXT_FORMATS = ["jsonl", "ndjson", "json", "csv", "tsv"]
NAMES = [*WRITERS, *(f"{kind}.{end}" for kind in TEXT_FORMATS for end in COMPRESSORS)]


def content_of(name, rows):
    kind, _, compression = name.partition(".")
    content = WRITERS[kind](rows)
    return COMPRESSORS[compression](content) if compression else content


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_records(write, name):
    assert read_rows(write(f"a.{name}", content_of(name, ROWS))) == ROWS


texts = st.text(st.characters(exclude_categories=["Cs"]))
labels = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|;,[{"))
    .map(normal_name)
    .filter(bool)
)
rows = st.lists(
    st.tuples(texts.filter(bool), texts, st.none() | st.sets(labels, max_size=3)),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("name", [*WRITERS, "jsonl.gz", "csv.zst", "tsv.xz"])
@settings(suppress_health_check=[HealthCheck.differing_executors], max_examples=50)
@given(written=rows, batch_size=st.integers(1, 9))
def test_written_records_are_read(tmp_path_factory, name, written, batch_size):
    path = tmp_path_factory.mktemp("round") / f"a.{name}"
    path.write_bytes(content_of(name, written))
    assert read_rows(path, batch_size=batch_size) == written


def test_several_files_are_one_stream(write, stdin):
    paths = [write(f"{n}.{name}", content_of(name, ROWS)) for n, name in enumerate(NAMES)]
    stdin(jsonl(ROWS))
    assert read_rows([*paths, "-", paths[0]]) == ROWS * (len(NAMES) + 2)


def test_records_are_numbered_through_all_files(write):
    paths = [write(f"{n}.jsonl", b'{"text": "a"}\n' * 3) for n in range(3)]
    assert [own for own, *_ in read_rows(paths, labelled=False)] == list(range(1, 10))


def test_files_without_records_may_stand_among_others(write):
    empty = [write("a.csv", ""), write("b.csv", "text,labels\n"), write("c.jsonl", "\n\n")]
    full = write("d.jsonl", jsonl(ROWS))
    assert read_rows([*empty, full]) == ROWS


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.arrow", "a.feather"])
@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_the_limit_holds_to_the_record(write, name, batch_size):
    path = write(name, content_of(name[2:], ROWS * 5))
    for limit in (1, 3, 4, 19, 20, 21):
        found = read_rows([path, path], limit=limit, batch_size=batch_size)
        assert found == (ROWS * 10)[:limit]


def test_what_lies_beyond_the_limit_is_not_looked_at(write):
    path = write("a.jsonl", jsonl(ROWS) + b"rubbish\n")
    missing_column = write("b.csv", "x\n1\n")
    assert read_rows([path, missing_column], limit=4) == ROWS
    with pytest.raises(RecordError):
        read_rows([path, missing_column], limit=5)


def test_the_limit_counts_good_records(write):
    path = write("a.jsonl", b"rubbish\n" * 3 + jsonl(ROWS) + b"rubbish\n")
    bad = BadRecords("skip")
    assert read_rows(path, limit=4, on_error=bad, batch_size=2) == ROWS
    assert bad.skipped == 3


def test_bad_records_of_all_files_go_to_the_dead_letters(write, tmp_path):
    paths = [
        write("a.jsonl", jsonl(ROWS[:1]) + b'{"text": 3}\n'),
        write("b.csv", "id,text,labels\n1,oil,gas\n2,oil\n"),
    ]
    table = pa.table({"text": ["oil", None], "labels": pa.nulls(2)})
    paths.append(tmp_path / "c.arrow")
    with pa.ipc.new_file(paths[-1], table.schema) as writer:
        writer.write_table(table)
    with BadRecords(tmp_path / "dead.jsonl") as bad:
        assert len(read_rows(paths, on_error=bad)) == 3
    fields = Fields(text="source", labels="record", id="raw")
    letters = read_rows(tmp_path / "dead.jsonl", fields, labelled=False)
    assert [(os.path.basename(source), raw) for raw, source, _ in letters] == [
        ("a.jsonl", '{"text": 3}'),
        ("b.csv", "2,oil"),
        ("c.arrow", '{"text":null,"labels":null}'),
    ]
    assert bad.skipped == 3


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        (["no such file.jsonl"], "no such file.jsonl cannot be read: No such file or directory"),
        (["nul\0.jsonl"], "cannot be read: embedded null byte"),
        (["a.txt"], "the extension of a.txt is unknown"),
        (["folder.jsonl"], "folder.jsonl is a folder; name the files in it"),
        (["empty.jsonl.gz"], "empty.jsonl.gz is empty, not even gzip data"),
        (["-", "-"], "give - only once"),
    ],
)
def test_a_bad_path_is_reported_before_reading(tmp_path, monkeypatch, paths, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "empty.jsonl.gz").touch()
    (tmp_path / "good.jsonl").write_bytes(jsonl(ROWS))
    with pytest.raises(StreamError) as caught:
        open_stream(["good.jsonl", *paths])
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz"])
def test_a_stream_without_records_is_reported(write, name):
    content = gzip.compress(b"\n") if name.endswith("gz") else b"\n"
    with pytest.raises(StreamError, match=rf"there is no record in .*{name}"):
        read_rows(write(name, content))


def test_an_empty_list_of_files_is_reported():
    with pytest.raises(StreamError, match="no record in a list of no files"):
        read_rows([])


def test_a_stream_of_bad_records_is_reported_with_the_first(write):
    path = write("a.jsonl", b'{"body": "a"}\n' * 3)
    with pytest.raises(StreamError, match=r"none of the 3 records .*'text' is missing.*--text"):
        read_rows(path, on_error=BadRecords("skip"))


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"limit": 0}, {"limit": -1}, {"longest": 0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(SettingError, match="must be at least 1"):
        open_stream("-", **wrong)


@pytest.mark.parametrize("name", ["jsonl", "csv", "tsv.gz", "jsonl.zst", "csv.xz"])
def test_standard_input_in_every_text_format(stdin, name):
    stdin(content_of(name, ROWS))
    assert read_rows("-", format=name) == ROWS


def test_standard_input_of_a_process():
    program = (
        "from clasher.io import open_stream\n"
        "for batch in open_stream('-', batch_size=3):\n"
        "    print(batch.ids, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=jsonl(ROWS), capture_output=True, check=True
    )
    assert done.stdout.decode() == "['a', 'b', 'c']\n['d']\n"


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_records_of_a_live_source_are_not_held_back(monkeypatch, format_):
    reader, writer = os.pipe()
    content = content_of(format_, ROWS)
    with open(reader, "rb") as raw, open(writer, "wb", buffering=0) as live:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=raw))
        stream = open_stream("-", format=format_)
        live.write(content)
        found = []
        consumer = threading.Thread(target=lambda: found.append(next(stream)), daemon=True)
        consumer.start()
        consumer.join(timeout=60)
        # The writer is still there and may go on, but what it wrote has come through.
        assert [len(batch) for batch in found] == [len(ROWS)]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz"])
def test_memory_does_not_grow_with_the_stream(tmp_path, name):
    path = tmp_path / name
    line = jsonl([("a", "x" * 4000, {"b"})]) if "jsonl" in name else b"a," + b"x" * 4000 + b",b\n"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"" if "jsonl" in name else b"id,text,labels\n")
        for _ in range(10_000):
            file.write(line)
    arrow = pa.total_allocated_bytes()
    most = records = 0
    tracemalloc.start()
    try:
        for batch in open_stream(path, batch_size=100):
            records += len(batch)
            most = max(most, pa.total_allocated_bytes() - arrow)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert records == 10_000
    assert most < 4_000_000
    assert peak < 8_000_000
