"""What runs on executors, run here: the same rows in, the same rows out, without a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from clasher import Clasher
from clasher.errors import StreamError, TextError
from clasher.io.records import Fields
from clasher.learning.model_file import packed
from clasher.runtime import shards
from support.environment import optional
from tests.adapters.spark.test_fit import SMALL, check_equal, one_pass
from tests.service.plain import file_bytes

packing = optional("clasher.adapters.spark.transfer", "spark")
parts = optional("clasher.adapters.spark.fit", "spark")
predicting = optional("clasher.adapters.spark.predict", "spark")
records = optional("clasher.adapters.spark.sources", "spark")
rounds = optional("clasher.adapters.spark.shards", "spark")
shard_files = optional("clasher.adapters.spark.shards", "spark")
staging = optional("clasher.adapters.spark.batches", "spark")
tree = optional("clasher.adapters.spark.fit", "spark")
Columns = optional("clasher.adapters.spark.predict", "spark").Columns

COLUMNS = Columns()


class Held(NamedTuple):
    """What a broadcast is to a task."""

    value: Any


def batch(corpus, inside=slice(None)):
    return pa.RecordBatch.from_arrays(
        [corpus.texts[inside], corpus.labels[inside]], ["text", "labels"]
    )


def sent(model):
    return Held(predicting.Sent(packed(model), None))


def test_counted_learnt_and_merged_partitions_are_one_pass(corpus, monkeypatch):
    inside = [slice(0, 90), slice(90, 91), slice(91, 91), slice(91, 240)]
    begun = Clasher(rule="centroid", **SMALL)
    counted, learnt = {}, []
    for number, part in enumerate(inside):
        monkeypatch.setattr(parts, "partition", lambda number=number: number)
        (row,) = parts.Count(begun.settings, Columns(labels=None))([batch(corpus, part)])
        found = row.to_pylist()[0]
        counted[found["number"]] = parts.Counted(found["documents"], found["frequencies"])
    start = Held(parts.Start(packed(begun), counted))
    for number, part in enumerate(inside):
        monkeypatch.setattr(parts, "partition", lambda number=number: number)
        learnt += parts.Learn(start, COLUMNS)([batch(corpus, part)])
    with packing.Gathered(tree.Merge(fan=4)(learnt)) as gathered:
        assert gathered.numbers == [0]
        begun.add_difference(gathered.take(0))
    check_equal(begun, one_pass(corpus, rule="centroid"))


def test_tasks_of_other_partitions_are_told_apart_by_their_numbers():
    assert parts.partition() == 0  # outside of a task


def test_a_turn_takes_every_nth_row_whatever_the_batches(corpus):
    whole, halves = [batch(corpus)], [batch(corpus, slice(0, 101)), batch(corpus, slice(101, 240))]
    for number in range(3):
        turn = parts.Turn(number, 3)
        expected = corpus.texts.to_pylist()[number::3]
        for batches in (whole, halves):
            found = [text for rows in turn.rows(batches) for text in rows["text"].to_pylist()]
            assert found == expected


def test_models_are_in_pieces_that_may_come_in_any_order(corpus, monkeypatch):
    monkeypatch.setattr(packing, "PIECE", 1000)
    models = {number: one_pass(corpus.head(20 * number)) for number in (1, 2)}
    pieces = [
        piece for number, model in models.items() for piece in packing.in_pieces(number, model)
    ]
    np.random.default_rng(0).shuffle(pieces)
    with packing.Gathered(pieces) as gathered:
        for number, model in models.items():
            assert file_bytes(gathered.take(number)) == file_bytes(model)


def test_rows_are_labelled(corpus):
    model = one_pass(corpus.head(100))
    rows = pa.RecordBatch.from_arrays(
        [pa.array(["a", None, "b"]), pa.array([corpus.texts[0].as_py(), None, ""])], ["id", "text"]
    )
    (found,) = predicting.Predict(sent(model), "text", "predicted", "probabilities")([rows])
    labels, scores = (found.column(at).to_pylist() for at in (2, 3))
    assert found.column(0).to_pylist() == ["a", None, "b"]
    assert [None if x is None else set(x) for x in labels] == [
        model.predict(corpus.texts[0].as_py()), None, model.predict("")
    ]  # fmt: skip
    assert dict(scores[0]) == pytest.approx(model.probabilities(corpus.texts[0].as_py()), abs=1e-6)
    assert scores[1] is None


def test_rows_are_hashed_for_the_driver(corpus):
    model = one_pass(corpus.head(100))
    found = list(staging.Stage(sent(model), "text", "predicted", hashing=True)([batch(corpus)]))
    hashed = staging.hashed_of(pa.Table.from_batches(found), model.hash_many([]).analysis)
    for ours, theirs in zip(hashed[:3], model.hash_many(corpus.texts)[:3], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    (bare,) = staging.Stage(sent(model), "text", "predicted", hashing=False)(
        [batch(corpus, slice(0, 3))]
    )
    assert bare.num_columns == 3


LINES = [
    b'{"id": 7, "text": "oil", "labels": ["energy"]}',
    b"  ",
    b'{"text": "gold"}',
    b'{"text": "\xff"}',
    None,
]


@pytest.mark.parametrize("required", [True, False])
def test_lines_become_documents(required):
    reading = records.Reading(Fields(), stopping=False, required=required)
    places = [f"line {number}" for number in range(len(LINES))]
    rows = pa.RecordBatch.from_arrays(
        [pa.array(LINES, pa.binary()), pa.array(places)], ["value", "place"]
    )
    (found,) = records.Parse(reading)([rows])
    good, gold, bad = found.to_pylist()
    assert (good["id"], good["text"], good["labels"]) == ("7", "oil", ["energy"])
    assert good["place"] == "line 0"
    assert (gold["text"] is None) is required
    assert "invalid UTF-8" in bad["error"]
    assert bad["raw"] == '{"text": "\\xff"}'


def test_a_bad_line_may_end_the_job():
    rows = pa.RecordBatch.from_arrays([pa.array([b"{"]), pa.array(["here"])], ["value", "place"])
    with pytest.raises(StreamError, match=r"^here: broken JSON"):
        list(records.Parse(records.Reading(Fields()))([rows]))
    rows = pa.RecordBatch.from_arrays([pa.array([None], pa.string())], ["text"])
    with pytest.raises(TextError, match="a row has no text in column 'text'"):
        list(parts.Count(Clasher(64).settings, Columns(labels=None))([rows]))


def beside(rows, told):
    """What was told of documents, beside these, which are in the same order."""
    for name in told.drop_columns([rounds.KEY, rounds.SHARD]).column_names:
        rows = rows.append_column(name, told[name])
    return rows


@pytest.mark.parametrize("rule", ["margin", "centroid", "perceptron"])
def test_rounds_of_shards(corpus, tmp_path, rule):
    """One after the other, as Spark puts them together."""
    model = one_pass(corpus.head(150), rule=rule)
    written = shard_files.write_shards(model, tmp_path, 2)
    texts = pa.RecordBatch.from_arrays(
        [pa.array(range(len(corpus))), corpus.texts], [rounds.KEY, "text"]
    )
    documents = pa.Table.from_batches(rounds.Hash(written, "text")([texts]))

    def asked(what, table):
        answers = []
        for number in range(len(written)):
            rows = table.append_column(rounds.SHARD, pa.array([number] * len(table), pa.int32()))
            answers += rounds.Ask(written, "text", what)(rows.to_batches())
        gathered: dict[int, list[Any]] = {}
        for row in pa.Table.from_batches(answers).to_pylist():
            gathered.setdefault(row.pop(rounds.KEY), []).append(row)
        kind = pa.list_(
            pa.struct(
                [
                    (rounds.SHARD, pa.int32()), ("labels", pa.list_(pa.int32())),
                    ("values", pa.list_(pa.float64())), ("chosen", pa.list_(pa.int32())),
                ]
            )
        )  # fmt: skip
        rows = pa.RecordBatch.from_arrays(
            [pa.array(gathered), pa.array(gathered.values(), kind)], [rounds.KEY, "answers"]
        )
        return pa.Table.from_batches(rounds.Combine(written, what)([rows]))

    if rule == "perceptron":
        found = asked("linear", documents)
    elif rule == "centroid":
        near = asked("nearest", documents)
        parts_ = [near.filter(pa.compute.equal(near[rounds.SHARD], n)) for n in range(len(written))]
        found = pa.Table.from_batches(
            [x for part in parts_ for x in rounds.Regions(written)(part.to_batches())]
        ).sort_by(rounds.KEY)
    else:
        near = beside(documents, asked("nearest", documents))
        two = beside(near, asked("scores", near))
        found = asked("look", two)
    expected = [sorted(labels) for labels in model.predict_many(corpus.texts)]
    ours = dict(zip(found[rounds.KEY].to_pylist(), found["predicted"].to_pylist(), strict=True))
    assert [sorted(ours[number]) for number in range(len(corpus))] == expected


def test_shards_are_what_the_model_is_split_into(corpus, tmp_path):
    model = one_pass(corpus.head(150))
    written = shard_files.write_shards(model, tmp_path.as_uri(), 2)
    read = [written.read(number) for number in range(2)]
    for ours, theirs in zip(read, shards.split(model, 2), strict=True):
        for name, array in ours.state._asdict().items():
            np.testing.assert_array_equal(array, getattr(theirs.state, name), err_msg=name)
