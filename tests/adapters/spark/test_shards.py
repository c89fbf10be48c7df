"""Labels split over tasks against the model in one piece."""

from __future__ import annotations

import msgspec
import pytest

from clasher.errors import ModelFileError, SettingError
from support.environment import optional
from tests.adapters.spark.frames import cut, in_partitions, table
from tests.adapters.spark.test_fit import one_pass

adapter = optional("clasher.adapters.spark", "spark")
shard_files = optional("clasher.adapters.spark.shards", "spark")


@pytest.mark.compiled  # interpreted, tasks are tested without a cluster
@pytest.mark.parametrize("how", [
    {"rule": "margin"}, {"rule": "centroid"}, {"rule": "perceptron"},
    {"rule": "mistake", "depth": 2},
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


def test_ids_that_come_twice_are_told(spark, corpus, tmp_path):
    shards = adapter.write_shards(one_pass(corpus.head(50)), tmp_path, 2)
    df = spark.createDataFrame([("a", "oil"), ("a", "gas")], "id string, text string")
    with (
        pytest.raises(SettingError, match="ids must tell rows apart, and 'a' comes more than"),
        adapter.plainly(),
    ):
        adapter.predict_sharded(df, shards, id="id").collect()


def test_shards_that_are_not_what_was_written_are_refused(corpus, tmp_path):
    shards = adapter.write_shards(one_pass(corpus.head(50)), tmp_path, 2)
    path = tmp_path / "shard-00001.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="is not the file that was written"):
        shards.read(1)
    path.unlink()
    with pytest.raises(ModelFileError, match="must be one that every executor can read"):
        shards.read(1)
    about = tmp_path / shard_files.ABOUT
    told = msgspec.json.decode(about.read_bytes())
    about.write_bytes(msgspec.json.encode(told | {"firsts": [0, 3]}))
    with pytest.raises(ModelFileError, match="array 'shard_together' is not what the settings"):
        adapter.read_shards(tmp_path).read(0)
    about.write_bytes(msgspec.json.encode(told | {"format": 7}))
    with pytest.raises(ModelFileError, match="have another format; write them anew"):
        adapter.read_shards(tmp_path)
    about.write_bytes(b"{}")
    with pytest.raises(ModelFileError, match="is not the index of shards"):
        adapter.read_shards(tmp_path)
