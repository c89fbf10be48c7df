import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.cli import streams
from clasher.cli.streams import expected_records
from tests.cli.command import records, stream


@pytest.fixture
def table():
    return pa.table({"text": [row["text"] for row in records(30)]})


def test_tables_know_their_rows(tmp_path, table):
    parquet, arrow = str(tmp_path / "a.parquet"), str(tmp_path / "a.arrow")
    pq.write_table(table, parquet, row_group_size=7)
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table, max_chunksize=8)
    assert expected_records([parquet]) == 30
    assert expected_records([arrow]) == 30
    assert expected_records([parquet, arrow]) == 60
    assert expected_records([parquet, arrow], limit=50) == 50
    assert expected_records([parquet], limit=50) == 30


def test_lines_of_a_short_file_are_counted(tmp_path):
    path = stream(tmp_path, 40)
    assert expected_records([path]) == 40
    (tmp_path / "open.jsonl").write_bytes(b"{}\n{}")
    assert expected_records([str(tmp_path / "open.jsonl")]) == 2


def test_lines_of_a_long_file_are_estimated(tmp_path, monkeypatch):
    path = stream(tmp_path, 400)
    monkeypatch.setattr(streams, "SAMPLE", 1000)
    assert expected_records([path]) == pytest.approx(400, rel=0.2)
    monkeypatch.setattr(streams, "SAMPLE", 10)  # not even one line
    assert expected_records([path]) is None


def test_the_size_of_compressed_files_is_unknown(tmp_path, table):
    path = stream(tmp_path, 40)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "broken.parquet").write_bytes(b"rubbish")
    for other in ("a.jsonl.gz", "stream.arrow", "broken.parquet", "missing.jsonl"):
        assert expected_records([path, str(tmp_path / other)]) is None
    assert expected_records([path, "-"]) is None
    assert expected_records(["-"], limit=7) == 7


def test_the_format_may_be_named(tmp_path):
    path = stream(tmp_path, 40, name="news.txt")
    assert expected_records([path], format="jsonl") == 40
