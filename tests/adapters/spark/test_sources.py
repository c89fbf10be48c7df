"""Files as documents: the same rows from every format."""

from __future__ import annotations

import gzip
import json

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from clasher.errors import StreamError
from clasher.io.records import Fields
from support.environment import optional
from tests.adapters.spark.frames import TRIAL

sources = optional("clasher.adapters.spark.sources", "spark")
RecordReader = sources.RecordReader

ROWS = [
    {"id": 1, "text": "wheat, corn\nand more", "labels": ["grain", "corn"]},
    {"id": 2, "text": "naïve “gold”", "labels": []},
    {"id": 3, "text": "nothing", "labels": None},
]


def as_text(labels):
    return "" if labels is None else "|".join(labels) or "|"


def jsonl(path):
    path.write_bytes(msgspec.json.Encoder().encode_lines(ROWS))


def zipped(path):
    path.write_bytes(gzip.compress(msgspec.json.Encoder().encode_lines(ROWS)))


def delimited(separator):
    def write(path):
        flat = [row | {"labels": as_text(row["labels"])} for row in ROWS]
        options = pyarrow.csv.WriteOptions(delimiter=separator)
        pyarrow.csv.write_csv(pa.Table.from_pylist(flat), path, options)

    return write


def parquet(path):
    kinds = [("id", pa.int64()), ("text", pa.string()), ("labels", pa.list_(pa.string()))]
    pq.write_table(pa.Table.from_pylist(ROWS, pa.schema(kinds)), path)


WRITERS = {
    "news.jsonl": jsonl, "news.jsonl.gz": zipped, "news.csv": delimited(","),
    "news.tsv": delimited("\t"), "news.parquet": parquet,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_every_kind(spark, tmp_path, name):
    WRITERS[name](tmp_path / name)
    df = sources.read_files(spark, [str(tmp_path / name)], RecordReader(Fields()))
    rows = df.orderBy("id").collect()
    assert [(row.id, row.text, row.labels) for row in rows] == [
        (str(row["id"]), row["text"], row["labels"]) for row in ROWS
    ]
    assert all(name in row.place and name in row.file and row.error is None for row in rows)


@pytest.mark.parametrize("name", ["news.jsonl", TRIAL("news.csv"), TRIAL("news.parquet")])
def test_a_folder_is_watched(spark, tmp_path, name):
    (tmp_path / "inbox").mkdir()
    WRITERS[name](tmp_path / "inbox" / name)
    kind = name.rpartition(".")[2]
    df = sources.watch_files(
        spark, str(tmp_path / "inbox"), RecordReader(Fields()), format=kind, files=1
    )
    query = df.writeStream.format("memory").queryName("watched").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert sorted(row.id for row in spark.table("watched").collect()) == ["1", "2", "3"]


def test_fields_have_names_and_reach_into_others(spark, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"payload": {"body": "oil"}, "topics": "a; b"}\n\n')
    fields = Fields(text="payload.body", labels="topics", separator=";")
    (row,) = sources.read_files(spark, [str(tmp_path / "a.jsonl")], RecordReader(fields)).collect()
    assert (row.id, row.text, row.labels) == (None, "oil", ["a", "b"])
    table = pa.Table.from_pylist([{"payload": {"body": "oil"}, "topics": "a; b", "size": 3}])
    pq.write_table(table, tmp_path / "a.parquet")
    (row,) = sources.read_files(
        spark, [str(tmp_path / "a.parquet")], RecordReader(fields)
    ).collect()
    assert (row.id, row.text, row.labels) == (None, "oil", ["a", "b"])


def test_labels_may_be_objects(spark, tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"text": "oil", "labels": {"oil": true, "gold": false}}\n{"text": "x", "labels": null}\n'
    )
    reader = RecordReader(Fields(), partial=True)
    rows = sources.read_files(spark, [str(tmp_path / "a.jsonl")], reader).collect()
    assert [row.labels for row in rows] == [{"oil": True, "gold": False}, None]


@pytest.mark.parametrize("end", ["jsonl", "csv"])
def test_labels_in_one_text_are_split(spark, tmp_path, end):
    def read(cell, fields):
        rows = [{"text": "oil", "labels": cell}]
        path = tmp_path / f"a.{end}"
        if end == "csv":
            pyarrow.csv.write_csv(pa.Table.from_pylist(rows), path)
        else:
            path.write_bytes(json.dumps(rows[0]).encode())
        (row,) = sources.read_files(spark, [str(path)], RecordReader(fields)).collect()
        return row.labels

    assert read("['a', 'b; c']", Fields()) == ["a", "b; c"]
    assert read('["a"]', Fields(labels_json=True)) == ["a"]
    with pytest.raises(Exception, match="say --label-separator ';'"):
        read("a;b", Fields())


BAD = [
    ('{"text": "wheat"', "broken JSON"),
    ('{"labels": ["grain"]}', "field 'text' is missing"),
    ('{"text": "wheat", "labels": 3}', "holds a number, not labels"),
    ('{"text": "wheat", "labels": {"grain": true}}', "holds an object; say --partial"),
]


@pytest.mark.parametrize(("line", "says"), BAD)
def test_bad_records_say_what_is_wrong_and_where(spark, tmp_path, line, says):
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"text": "good", "labels": []}}\n{line}\n')
    df = sources.read_files(spark, [str(path)], RecordReader(Fields(), stop_on_error=False))
    good, bad = df.collect()
    assert good.text == "good"
    assert (bad.text, bad.labels, bad.raw) == (None, None, line)
    assert says in bad.error
    assert "bad.jsonl, after byte 0" in bad.place


def test_unreadable_files_are_one_line(spark, tmp_path):
    reader = RecordReader(Fields())
    with pytest.raises(StreamError, match=r"to read: Path does not exist: .*/missing\.jsonl\.$"):
        sources.read_files(spark, [str(tmp_path / "missing.jsonl")], reader)
    jsonl(tmp_path / "news.jsonl")
    parquet(tmp_path / "news.parquet")
    both = [str(tmp_path / "news.jsonl"), str(tmp_path / "news.parquet")]
    with pytest.raises(StreamError, match=r"of one kind at a time\. Got jsonl, parquet"):
        sources.read_files(spark, both, reader)
    with pytest.raises(StreamError, match="has no column 'body', its columns are 'id', 'text'"):
        sources.read_files(spark, both[1:], RecordReader(Fields(text="body")))
    with pytest.raises(StreamError, match="holds bigint, not labels; name another one"):
        sources.read_files(spark, both[1:], RecordReader(Fields(labels="id", id="labels")))


LINES = [
    b'{"id": 7, "text": "oil", "labels": ["energy"]}',
    b"  ",
    b'{"text": "gold"}',
    b'{"text": "\xff"}',
    None,
]


@pytest.mark.parametrize("required", [True, False])
def test_lines_become_documents(required):
    reader = RecordReader(Fields(), stop_on_error=False, labels_required=required)
    places = [f"line {number}" for number in range(len(LINES))]
    rows = pa.RecordBatch.from_arrays(
        [pa.array(LINES, pa.binary()), pa.array(places)], ["value", "place"]
    )
    (found,) = reader.parse([rows])
    good, gold, bad = found.to_pylist()
    assert (good["id"], good["text"], good["labels"]) == ("7", "oil", ["energy"])
    assert good["place"] == "line 0"
    assert (gold["text"] is None) is required
    assert "invalid UTF-8" in bad["error"]
    assert bad["raw"] == '{"text": "\\xff"}'


def test_a_bad_line_may_end_the_job():
    rows = pa.RecordBatch.from_arrays([pa.array([b"{"]), pa.array(["here"])], ["value", "place"])
    with pytest.raises(StreamError, match=r"^here: broken JSON"):
        list(RecordReader(Fields()).parse([rows]))
