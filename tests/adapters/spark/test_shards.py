"""Sharded predictions equal those of the whole model."""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from clasher.errors import ModelFileError, SettingError
from clasher.learning import memory
from clasher.runtime.shards import split
from support.environment import optional
from tests.adapters.spark.frames import TRIAL, cut, in_partitions, table
from tests.adapters.spark.test_fit import one_pass

adapter = optional("clasher.adapters.spark", "spark")
shards_module = optional("clasher.adapters.spark.shards", "spark")
KEY, SHARD = shards_module.KEY, shards_module.SHARD


@pytest.mark.compiled  # interpreted, tasks are tested without a cluster
@pytest.mark.parametrize("how", [
    {"rule": "margin"}, TRIAL({"rule": "centroid"}), TRIAL({"rule": "perceptron"}),
    TRIAL({"rule": "mistake", "depth": 2}),
])  # fmt: skip
def test_shards_predict_what_the_model_does(spark, corpus, tmp_path, how):
    model = one_pass(corpus.head(150), **how)
    adapter.write_shards(model, tmp_path / "shards", 3)
    shards = adapter.read_shards(tmp_path / "shards")
    df = in_partitions(spark, table(corpus), cut(len(corpus), 2))
    rows = adapter.predict_sharded(df, shards, id="number", output="found").collect()
    found = {row.number: row.found for row in rows}
    expected = dict(enumerate(sorted(labels) for labels in model.predict_many(corpus.texts)))
    assert found == expected


def test_ids_that_come_twice_are_refused(spark, corpus, tmp_path):
    shards = adapter.write_shards(one_pass(corpus.head(50)), tmp_path, 2)
    df = spark.createDataFrame([("a", "oil"), ("a", "gas")], "id string, text string")
    with (
        pytest.raises(SettingError, match="ids must identify rows, and 'a' comes more than"),
        adapter.unwrap_errors(),
    ):
        adapter.predict_sharded(df, shards, id="id").collect()


def test_damaged_shards_are_refused(corpus, tmp_path):
    shards = adapter.write_shards(one_pass(corpus.head(50)), tmp_path, 2)
    path = tmp_path / "shard-00001.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="was changed; write the shards again"):
        shards.read(1)
    path.unlink()
    with pytest.raises(ModelFileError, match="every executor must be able to read"):
        shards.read(1)
    index = tmp_path / shards_module.INDEX
    content = msgspec.json.decode(index.read_bytes())
    index.write_bytes(msgspec.json.encode(content | {"firsts": [0, 3]}))
    with pytest.raises(ModelFileError, match="are not those of the index"):
        adapter.read_shards(tmp_path).read(0)
    index.write_bytes(msgspec.json.encode(content | {"format": 7}))
    with pytest.raises(ModelFileError, match="have another format; write them again"):
        adapter.read_shards(tmp_path)
    index.write_bytes(b"{}")
    with pytest.raises(ModelFileError, match="is not an index of shards"):
        adapter.read_shards(tmp_path)


# ── tasks, without a cluster ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", ["margin", "centroid", "perceptron"])
def test_rounds_of_shards(corpus, tmp_path, rule):
    """One after the other, as Spark puts them together."""
    model = one_pass(corpus.head(150), rule=rule)
    shards = adapter.write_shards(model, tmp_path, 2)
    keys = pa.array(range(len(corpus)))
    texts = pa.RecordBatch.from_arrays([keys, corpus.texts], [KEY, "text"])
    documents = pa.Table.from_batches(shards_module.hash_rows(shards, [texts]))

    def ask(name, table):
        by_shard = []
        for number in range(len(shards)):
            sent = table.append_column(SHARD, pa.array([number] * len(table), pa.int32()))
            answers = shards_module.ask(shards, name, sent.to_batches())
            by_shard.append(pa.Table.from_batches(answers).drop_columns([KEY]).to_struct_array())
        answers = [chunk for one in by_shard for chunk in one.chunks]
        order = np.arange(len(shards) * len(table)).reshape(len(shards), -1).T.reshape(-1)
        flat = pa.concat_arrays(answers).take(pa.array(order))
        bounds = np.arange(len(table) + 1, dtype=np.int32) * len(shards)
        rows = [table[KEY].combine_chunks(), pa.ListArray.from_arrays(bounds, flat)]
        gathered = pa.RecordBatch.from_arrays(rows, [KEY, "answers"])
        return pa.Table.from_batches(shards_module.combine(shards, name, [gathered]))

    def joined(table, name):
        for column in ("labels", "values"):
            own = f"{name}_{column}"
            table = table.append_column(own, ask(name, table)[own])
        return table

    if rule == "perceptron":
        found = ask("linear", documents)
    elif rule == "margin":
        found = ask("look", joined(joined(documents, "nearest"), "scores"))
    else:
        near = ask("nearest", documents)
        parts = [near.filter(pc.equal(near[SHARD], number)) for number in range(len(shards))]
        sets = [
            row for part in parts for row in shards_module.label_regions(shards, part.to_batches())
        ]
        found = pa.Table.from_batches(sets).sort_by(KEY)
    expected = [sorted(labels) for labels in model.predict_many(corpus.texts)]
    assert [sorted(labels) for labels in found["predicted"].to_pylist()] == expected


def test_shards_are_read_as_they_were_written(corpus, tmp_path):
    model = one_pass(corpus.head(150))
    shards = adapter.write_shards(model, tmp_path.as_uri(), 2)
    read = [shards.read(number) for number in range(2)]
    for ours, theirs in zip(read, split(model, 2), strict=True):
        expected = memory.flat(theirs.state)
        for name, array in memory.flat(ours.state).items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
