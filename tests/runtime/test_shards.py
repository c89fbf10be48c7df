"""Models split by labels against the same models in one piece."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import SettingError
from clasher.learning import memory
from clasher.runtime import shards
from support.corpora import synthetic
from tests import strategies
from tests.learning.test_merge import EXAMPLES, learnt
from tests.models import RULES, TEXTS, UNSEEN, dense, state_bytes, taught

every_rule = pytest.mark.parametrize("rule", RULES)


@every_rule
@given(strategies.streams(), strategies.settings(), st.data())
@EXAMPLES
def test_shards_predict_what_the_model_does(rule, stream, how, data):
    model = learnt(stream, rule, **how)
    if not model.labels:
        return
    count = data.draw(st.integers(1, len(model.labels)))
    texts = [strategies.text(words) for words, _ in stream] + ["", "unheard of"]
    found = shards.predict(shards.split(model, count), model.labels, texts)
    assert list(found) == list(model.predict_many(texts))


@pytest.mark.compiled
@every_rule
@pytest.mark.parametrize("how", [{}, {"half_life": 40.0}, {"at_least_one": False}, {"depth": 3}])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_shards_of_many_labels(rule, how, count):
    """More labels than fit one vector, and texts that many of them claim."""
    stream = synthetic(300, 40, words=20, vocabulary=500)
    model = Clasher(512, rule=rule, max_labels=64, **how)
    model.learn_many(stream.texts[:200], stream.labels[:200])
    found = shards.predict(shards.split(model, count), model.labels, stream.texts)
    assert list(found) == list(model.predict_many(stream.texts))
    model.learn_many(stream.texts[200:], [set()] * 100)  # now the best label may be left out
    found = shards.predict(shards.split(model, count), model.labels, stream.texts)
    assert list(found) == list(model.predict_many(stream.texts))


@every_rule
def test_ties_go_to_the_lower_label_number(rule):
    """Twins in two shards: the first one wins, as it does in one piece."""
    model = Clasher(64, rule=rule, max_labels=8)
    for _ in range(3):
        model.learn_many(["oil", "oil", "gas"], [{"a", "b", "c", "d"}, {"d", "c"}, {"e"}])
    for count in (2, 4, 5):
        texts = [*UNSEEN, "oil", "gas", "oil gas"]
        found = shards.predict(shards.split(model, count), model.labels, texts)
        assert list(found) == list(model.predict_many(texts))


def test_a_shard_takes_its_part_of_the_memory():
    model = Clasher(4096, max_labels=64)
    stream = synthetic(100, 48, words=10)
    model.learn_many(stream.texts, stream.labels)
    parts = shards.split(model, 3)
    assert [part.first for part in parts] == [0, 16, 32]
    cells = sum(np.count_nonzero(dense(part.state).rows[:, 0]) for part in parts)
    assert cells == np.count_nonzero(dense(model).rows[:, 0])
    assert all(part.nbytes < model.nbytes for part in parts)


def test_no_documents():
    model = taught("margin")
    assert list(shards.predict(shards.split(model, 2), model.labels, [])) == []
    centroid = taught("centroid")
    assert list(shards.predict(shards.split(centroid, 2), centroid.labels, [])) == []


@pytest.mark.parametrize("count", [0, 6])
def test_shards_without_labels_are_refused(count):
    with pytest.raises(SettingError, match="The 'shards' parameter of split must be"):
        shards.split(taught("margin", max_labels=8), count)


def test_splitting_changes_nothing():
    model = taught("margin")
    before = state_bytes(model)
    shards.predict(shards.split(model, 2), model.labels, TEXTS)
    assert state_bytes(model) == before


@pytest.mark.parametrize("weighting", ["tfidf", "icf"])
def test_the_arrays_of_a_shard_have_room_for_its_labels_only(weighting):
    model = taught(max_labels=40, weighting=weighting)
    for shard in shards.split(model, 2):
        arrays = shard.state._asdict()
        del arrays["pool"]
        kinds = {name: (a.shape, a.dtype) for name, a in arrays.items()}
        assert kinds == memory.cut_shapes(model.settings, shard.labels, len(model.labels))
