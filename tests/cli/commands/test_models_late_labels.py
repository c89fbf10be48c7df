import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher import Clasher
from tests.cli.command import SMALL, jsonl, one_line, records, run
from tests.models import state_bytes


@pytest.fixture
def model(tmp_path):
    """A model that has met 20 documents, half of them without labels, and keeps six."""
    rows = records(20)
    source = tmp_path / "inbox.jsonl"
    source.write_bytes(
        jsonl([row | ({"labels": None} if i % 2 else {}) for i, row in enumerate(rows)])
    )
    path = tmp_path / "model.clasher"
    run("learn", source, "--model", path, *SMALL, "--pending", 6, "-q")
    return path


def labels(rows):
    return [{"id": row["id"], "labels": row["labels"]} for row in rows[1::2]]


def test_unlabelled_documents_wait(model):
    loaded = Clasher.load(model)
    assert (loaded.pending, loaded.dropped, loaded.labelled) == (6, 4, 10)


def test_late_labels_are_learnt_and_missing_ones_counted(model, tmp_path):
    path = tmp_path / "late.jsonl"
    path.write_bytes(jsonl(labels(records(20))))
    expected = Clasher.load(model)
    for row in labels(records(20))[4:]:
        expected.learn_later(row["id"], row["labels"])
    result = run("late-labels", path, "--model", model)
    loaded = Clasher.load(model)
    assert state_bytes(loaded) == state_bytes(expected)
    assert (loaded.documents, loaded.labelled, loaded.pending) == (20, 16, 0)
    assert "learnt the labels of 6 documents; 0 documents in" in result.stderr
    assert "clasher: skipped 4 records; the first: no document 'd1' waits" in result.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_stream_of_labels_needs_no_text(model, tmp_path, kind):
    path = tmp_path / f"late.{kind}"
    rows = labels(records(20))[4:]
    if kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "labels"])
            writer.writerows([row["id"], "|".join(row["labels"])] for row in rows)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(jsonl([*rows, {"id": "d0", "labels": None}]))
    message = run("late-labels", path, "--model", model).stderr
    assert "learnt the labels of 6 documents" in message
    assert "passed over" not in message


def test_numbers_and_text_are_the_same_id_on_the_command_line(tmp_path):
    source, path = tmp_path / "inbox.jsonl", tmp_path / "model"
    source.write_bytes(jsonl([{"id": 7, "text": "wheat", "labels": None}]))
    run("learn", source, "-m", path, *SMALL, "--pending", 2, "-q")
    late = tmp_path / "late.csv"
    late.write_text("id,labels\n7,grain\n")
    run("late-labels", late, "-m", path, "-q")
    assert Clasher.load(path).support == {"grain": 1}


def test_a_bad_record_is_reported_and_nothing_is_learnt(model, tmp_path):
    before = model.read_bytes()
    path = tmp_path / "late.jsonl"
    path.write_bytes(jsonl([{"id": "d19", "labels": ["grain"]}, {"id": "d17", "labels": 5}]))
    message = one_line(run("late-labels", path, "--model", model, code=2))
    assert "late.jsonl, record 2: field 'labels' holds a number" in message
    assert model.read_bytes() == before


def test_a_model_without_room_says_so(tmp_path):
    path = tmp_path / "late.jsonl"
    path.write_bytes(jsonl([{"id": "d19", "labels": ["grain"]}]))
    Clasher(128).save(tmp_path / "model")
    message = run("late-labels", path, "--model", tmp_path / "model").stderr
    assert "create the model with --pending N" in message


def test_inspect_counts_pending_documents(model):
    text = " ".join(run("inspect", model).stdout.split())
    assert "pending 6 documents, at most 6; 4 were dropped" in text
