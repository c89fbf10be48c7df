"""Batches of a stream equal one process that learns the same documents."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pytest

from clasher import Clasher
from clasher.errors import FolderError, LabelCapacityError, SettingError
from support.environment import optional
from tests.adapters.spark import inbox
from tests.adapters.spark.frames import TRIAL, Broadcast, batch
from tests.adapters.spark.inbox import LENGTH
from tests.adapters.spark.test_fit import SMALL, check_equal, one_pass
from tests.service.plain import file_bytes

stream = optional("clasher.adapters.spark", "spark").stream
stream_module = optional("clasher.adapters.spark.stream", "spark")
predict_module = optional("clasher.adapters.spark.predict", "spark")
columns = optional("clasher.adapters.spark.columns", "spark")

ONCE = {"availableNow": True}


@pytest.fixture
def box(tmp_path, corpus):
    """A folder with three files, each a batch."""
    inbox.fill(tmp_path / "inbox", corpus, 3)
    return tmp_path / "inbox"


def run(spark, box, folder, model=None, **how):
    """Run until all files are learnt; return the model."""
    with stream(inbox.read(spark, box), folder, model, trigger=ONCE, **how) as running:
        assert running.wait()
        return running.model


def learnt_of(corpus, files, **how):
    return one_pass(corpus.head(files * LENGTH), **how)


@pytest.mark.parametrize(
    "how", [{}, TRIAL({"rule": "centroid", "words": True}), TRIAL({"half_life": 50.0})]
)
def test_batches_are_learnt_as_by_one_process(spark, corpus, box, tmp_path, how):
    """Byte for byte; and every batch is predicted with the model before it."""
    found, progress = {}, []

    def write(predictions, number):
        found[number] = [row.predicted for row in predictions.orderBy("number").collect()]

    settings = SMALL | how
    model = run(spark, box, tmp_path / "m", write=write, on_progress=progress.append, **settings)
    assert file_bytes(model) == file_bytes(learnt_of(corpus, 3, **how))
    for number in range(3):
        texts = corpus.texts[number * LENGTH : (number + 1) * LENGTH]
        known = learnt_of(corpus, number, **how).predict_many(texts)
        assert found[number] == [sorted(labels) for labels in known]
    assert [(one.batch, one.rows, one.labelled, one.bad) for one in progress] == [
        (number, LENGTH, LENGTH, 0) for number in range(3)
    ]
    assert progress[-1].micro_f1 > 0


def test_a_stream_continues_where_it_was(spark, corpus, box, tmp_path):
    run(spark, box, tmp_path / "m", **SMALL)
    inbox.fill(box, corpus, 2, first=3)
    model = run(spark, box, tmp_path / "m")
    assert file_bytes(model) == file_bytes(learnt_of(corpus, 5))


def test_a_batch_that_fails_midway_comes_again(spark, corpus, box, tmp_path):
    """Written twice, learnt once."""
    written = []

    def write(predictions, number):
        written.append(number)
        if written == [0, 1]:
            raise OSError("the sink is down")

    with pytest.raises(OSError, match="the sink is down"):
        run(spark, box, tmp_path / "m", write=write, **SMALL)
    model = run(spark, box, tmp_path / "m", write=write)
    assert written == [0, 1, 1, 2]
    assert file_bytes(model) == file_bytes(learnt_of(corpus, 3))


def forget_last_commit(folder):
    """Undo Spark's note of the last batch, as if killed between saving and noting it."""
    noted = folder / "checkpoint" / "commits"
    last = max(noted.glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (noted / f".{last.name}.crc").unlink(missing_ok=True)


def test_a_saved_batch_is_skipped(spark, corpus, box, tmp_path):
    run(spark, box, tmp_path / "m", **SMALL)
    forget_last_commit(tmp_path / "m")
    inbox.fill(box, corpus, 1, first=3)
    written = []
    model = run(spark, box, tmp_path / "m", write=lambda _, number: written.append(number))
    assert written == [3]
    assert file_bytes(model) == file_bytes(learnt_of(corpus, 4))


def test_the_test_above_notices_a_batch_that_is_learnt_twice(
    spark, corpus, box, tmp_path, monkeypatch
):
    """With the check of batch numbers switched off."""
    run(spark, box, tmp_path / "m", **SMALL)
    forget_last_commit(tmp_path / "m")
    monkeypatch.setattr(stream_module.Stream, "_is_done", lambda *_: False)
    model = run(spark, box, tmp_path / "m")
    assert file_bytes(model) != file_bytes(learnt_of(corpus, 3))


def test_executors_learn_large_batches_in_parts(spark, corpus, box, tmp_path):
    model = run(spark, box, tmp_path / "m", rule="centroid", learn_on="executors", **SMALL)
    check_equal(model, learnt_of(corpus, 3, rule="centroid"))
    margin = run(spark, box, tmp_path / "n", learn_on="executors", **SMALL)
    assert margin.support == learnt_of(corpus, 3).support


def test_a_stream_begins_with_a_model(spark, corpus, box, tmp_path):
    first = Clasher(**SMALL)
    first.learn("something before", {"topic0000"})
    model = run(spark, box, tmp_path / "m", first)
    first.learn_many(corpus.texts[: 3 * LENGTH], corpus.labels[: 3 * LENGTH])
    assert file_bytes(model) == file_bytes(first)
    assert run(spark, box, tmp_path / "m", first).documents == first.documents


def test_rows_are_learnt_in_the_order_of_columns(spark, corpus, box, tmp_path):
    rows = [
        {"number": -number, "text": text, "labels": labels}
        for number, (text, labels) in enumerate(
            zip(corpus.texts.to_pylist(), corpus.labels.to_pylist(), strict=True)
        )
    ]
    backwards = tmp_path / "backwards"
    backwards.mkdir()
    inbox.put(backwards, 0, rows[:LENGTH])
    model = run(spark, backwards, tmp_path / "m", order=["number"], **SMALL)
    turned = Clasher(**SMALL)
    turned.learn_many(
        corpus.texts[:LENGTH].to_pylist()[::-1], corpus.labels[:LENGTH].to_pylist()[::-1]
    )
    assert file_bytes(model) == file_bytes(turned)


def test_bad_rows_are_counted_and_skipped(spark, tmp_path):
    """Bad rows block nothing; unlabelled rows are learnt, and wait for their labels."""
    (tmp_path / "inbox").mkdir()
    rows = [
        {"number": 1, "text": "wheat and corn", "labels": ["grain"]},
        {"number": 2, "text": None, "labels": ["grain"]},
        {"number": 3, "text": "corn", "labels": ["grain", None]},
        {"number": 4, "text": "corn", "labels": [""]},
        {"number": 5, "text": "crude oil", "labels": None},
    ]
    inbox.put(tmp_path / "inbox", 0, rows)
    progress, written = [], []
    model = run(
        spark, tmp_path / "inbox", tmp_path / "m", id="number", pending=5,
        on_progress=progress.append,
        write=lambda predictions, _: written.extend(predictions.orderBy("number").collect()),
        **SMALL,
    )  # fmt: skip
    assert (model.documents, model.support) == (2, {"grain": 1})
    assert [(one.rows, one.labelled, one.bad) for one in progress] == [(5, 1, 3)]
    assert [row.predicted for row in written] == [[], None, [], [], []]
    model.learn_later("5", {"oil"})


def test_the_task_hashes_rows_for_the_driver(corpus):
    model = one_pass(corpus.head(100))
    sent = Broadcast(model)
    how = (sent, "text", "predicted", None)
    found = list(predict_module.label_rows(*how, True, [batch(corpus)]))
    hashed = columns.hashed_rows(pa.Table.from_batches(found), model.hash_many([]).analysis)
    for ours, theirs in zip(hashed[:3], model.hash_many(corpus.texts)[:3], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    (bare,) = predict_module.label_rows(*how, False, [batch(corpus, slice(0, 3))])
    assert bare.num_columns == 3


# ── refused ─────────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_of_another_query_is_refused(spark, corpus, box, tmp_path):
    """Deleted, so that Spark would begin again with the first batch."""
    run(spark, box, tmp_path / "m", **SMALL)
    shutil.rmtree(tmp_path / "m" / "checkpoint")
    with pytest.raises(FolderError, match="is that of another model"):
        run(spark, box, tmp_path / "m")


def test_an_older_model_is_refused(spark, corpus, box, tmp_path):
    """Restored from a backup, so that batches would be lost."""
    run(spark, box, tmp_path / "m", **SMALL)
    shutil.copytree(tmp_path / "m" / "snapshots", tmp_path / "backup")
    inbox.fill(box, corpus, 2, first=3)
    run(spark, box, tmp_path / "m")
    shutil.rmtree(tmp_path / "m" / "snapshots")
    shutil.copytree(tmp_path / "backup", tmp_path / "m" / "snapshots")
    inbox.fill(box, corpus, 1, first=5)
    with pytest.raises(FolderError, match="is at batch 5, but the model has learnt up to batch 2"):
        run(spark, box, tmp_path / "m")


def test_a_folder_without_a_whole_model_is_refused(spark, box, tmp_path):
    run(spark, box, tmp_path / "m", **SMALL)
    shutil.rmtree(tmp_path / "m" / "snapshots")
    with pytest.raises(FolderError, match="no model is whole: there is no snapshot beside the"):
        run(spark, box, tmp_path / "m")


def test_two_streams_in_one_folder_are_refused(spark, box, tmp_path):
    df = inbox.read(spark, box)
    with (
        stream(df, tmp_path / "m", trigger=ONCE, **SMALL) as running,
        pytest.raises(FolderError, match="in use by process"),
    ):
        stream(df, tmp_path / "m", trigger=ONCE)
    assert not running.query.isActive


def test_wrong_arguments_are_refused_before_anything_is_read(spark, box, tmp_path):
    df = inbox.read(spark, box)
    with pytest.raises(SettingError, match=r"must be 'driver' or 'executors'. Got 'moon'"):
        stream(df, tmp_path / "m", learn_on="moon")
    with pytest.raises(SettingError, match="has no column 'when' to order rows by"):
        stream(df, tmp_path / "m", order=["when"])
    with pytest.raises(SettingError, match="leave out half_life"):
        stream(df, tmp_path / "m", learn_on="executors", half_life=10.0)
    with pytest.raises(SettingError, match="leave out seed, or the model"):
        stream(df, tmp_path / "n", Clasher(64), seed=3)
    stream(df, tmp_path / "o", trigger=ONCE, **SMALL).stop()
    with pytest.raises(SettingError, match=r"made with other settings \(seed\)"):
        stream(df, tmp_path / "o", seed=3, **SMALL)


def test_too_many_labels_end_the_stream_with_one_line(spark, box, tmp_path):
    with pytest.raises(LabelCapacityError, match="would be number 3, and max_labels is 2"):
        run(spark, box, tmp_path / "m", dimensions=64, max_labels=2)
