import os

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.datasets import Document, load
from clasher.datasets.parquet import ROW_GROUP, SCHEMA, DocumentWriter
from clasher.errors import SettingError, StreamError

text = st.text(st.characters(exclude_categories=["Cs"]))
documents = st.lists(
    st.builds(
        Document, id=text, date=st.none() | text, text=text, labels=st.none() | st.lists(text)
    )
)


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.parquet"])
@given(written=documents)
def test_written_documents_can_be_read(tmp_path_factory, name, written):
    path = tmp_path_factory.mktemp("out") / name
    with DocumentWriter(path) as writer:
        for document in written:
            writer.write([document])
        writer.finish()
    assert read(path) == [
        {"id": d.id, "date": d.date, "text": d.text, "labels": d.labels} for d in written
    ]
    assert [p.name for p in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_unfinished_files_are_deleted(tmp_path, name):
    (tmp_path / name).write_bytes(b"kept")
    with DocumentWriter(tmp_path / name) as writer:
        writer.write([Document("1", None, "wheat", [])])
    assert (tmp_path / name).read_bytes() == b"kept"
    assert os.listdir(tmp_path) == [name]


def test_rows_are_written_in_large_groups(tmp_path):
    path = tmp_path / "a.parquet"
    some = [Document(str(n), "1996-08-20", "wheat", ["grain"]) for n in range(1000)]
    with DocumentWriter(path) as writer:
        for _ in range(25):
            writer.write(some)
        writer.finish()
    found = pq.read_metadata(path)
    assert [found.row_group(n).num_rows for n in range(found.num_row_groups)] == [ROW_GROUP, 5000]
    assert pq.read_schema(path).equals(SCHEMA)
    assert len(list(load("parquet", path))) == 25_000


@pytest.mark.parametrize("name", ["a.csv", "a", "a.parquet.gz"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(SettingError, match=r"must be \.jsonl or \.parquet"):
        DocumentWriter(tmp_path / name)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_missing_folder_is_reported(tmp_path, name):
    with pytest.raises(StreamError, match=f"{name} cannot be written"):
        DocumentWriter(tmp_path / "missing" / name)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "target.jsonl")
    with DocumentWriter(tmp_path / "link.jsonl") as writer:
        writer.write([Document("1", None, "wheat", [])])
        writer.finish()
    assert (tmp_path / "link.jsonl").is_symlink()
    assert len(read(tmp_path / "target.jsonl")) == 1
