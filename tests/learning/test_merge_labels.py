"""Merging and retiring labels, against models that never knew them."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Clasher
from clasher.kernels.state import LABELS
from clasher.learning import memory
from tests import strategies
from tests.models import AXES, RULES, TEXTS, UNSEEN, dense, state_bytes, taught
from tests.models import LABELS as TRUTHS

EXAMPLES = settings(max_examples=20 if numba.config.DISABLE_JIT else 80)
every_rule = pytest.mark.parametrize("rule", RULES)


def a_model(rule="centroid", **how):
    return Clasher(**{"dimensions": 16, "max_labels": 8, "rule": rule, **how})


def by_name(model, name):
    """Return an array in the order of the label names."""
    index = [model._index.numbers[label] for label in sorted(model.labels)]
    array = getattr(dense(model), name)
    if not array.size:
        return array
    if name == "together":
        return array[np.ix_(index, index)]
    return np.take(array, index, AXES[name])


def check_same_regions(ours, theirs):
    """Prototypes and statistics; linear weights, the second layer of rows, are left out."""
    assert sorted(ours.labels) == sorted(theirs.labels)
    for name in ("rows", "counts", "norms", "together"):
        mine, his = by_name(ours, name), by_name(theirs, name)
        if name == "rows":
            mine, his = mine[:, 0], his[:, 0]
        np.testing.assert_allclose(mine, his, err_msg=name, rtol=1e-5, atol=1e-5)


# ── retiring ─────────────────────────────────────────────────────────────────────────────────────


@every_rule
@pytest.mark.parametrize("label", ["oil", "corn", "gold"])
def test_retiring_touches_no_other_label(rule, label):
    model, before = taught(rule), taught(rule)
    model.retire_label(label)
    assert set(model.labels) == set(before.labels) - {label}
    assert model.state.totals[LABELS] == len(model.labels) == 3
    for name in AXES:
        array = by_name(before, name)
        if array.size:
            at = sorted(before.labels).index(label)
            array = np.delete(array, at, AXES[name])
            array = np.delete(array, at, 0) if name == "together" else array
        np.testing.assert_array_equal(by_name(model, name), array, err_msg=name)
    for text in UNSEEN:
        assert label not in model.predict(text)
        assert label not in model.probabilities(text)


@every_rule
def test_the_arrays_of_a_retired_label_are_cleared(rule):
    model, fresh = taught(rule), taught(rule)
    for label in fresh.labels:
        model.retire_label(label)
    assert (model.labels, model.predict("oil")) == ([], set())
    empty = dense(memory.allocate(model.settings))
    for name in AXES:
        np.testing.assert_array_equal(getattr(dense(model), name), getattr(empty, name), name)
    model.learn("oil", {"oil"})
    assert model.labels == ["oil"]


@every_rule
def test_a_retired_label_may_come_again_as_a_new_one(rule, tmp_path):
    model = taught(rule, max_labels=4)
    model.retire_label("gold")
    model.learn("silver mine", {"silver"})
    assert 1 <= model.support["silver"] <= 2  # the mistake rule may feed it twice
    model.retire_label("oil")
    model.learn("gold mine", {"gold"})
    assert 1 <= model.support["gold"] <= 2
    assert len(model.labels) == 4
    model.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert loaded.labels == model.labels
    assert list(loaded.predict_many(UNSEEN)) == list(model.predict_many(UNSEEN))


@given(strategies.streams(), st.lists(st.sampled_from(strategies.NAMES), max_size=4), st.data())
@EXAMPLES
def test_regions_of_other_labels_learn_on_unchanged(stream, retired, data):
    """A model with the label retired learns on like one that keeps it."""
    kept, without = a_model(), a_model()
    for words, labels in stream:
        kept.learn(strategies.text(words), labels)
        without.learn(strategies.text(words), labels)
    for label in retired:
        if label in without.labels:
            without.retire_label(label)
    for words, labels in data.draw(strategies.streams(strategies.complete_labels)):
        rest = {label for label in labels if label not in retired}
        kept.learn(strategies.text(words), rest)
        without.learn(strategies.text(words), rest)
    left = sorted(without.labels)
    for label in left:
        ours, theirs = (model._index.numbers[label] for model in (without, kept))
        np.testing.assert_array_equal(
            dense(without).rows[:, 0, ours], dense(kept).rows[:, 0, theirs]
        )
        assert without.support[label] == kept.support[label]


# ── merging labels ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", ["centroid", "margin"])
@given(
    st.lists(
        st.tuples(
            strategies.words,
            st.tuples(st.sampled_from(["ale", "bee", None]), st.sets(st.sampled_from(["cod"]))),
        ),
        min_size=1,
    ),
    strategies.label_free_settings(),
)
@EXAMPLES
def test_labels_without_common_documents_merge_exactly(rule, stream, how):
    """The result equals learning every document with the one label."""
    model, renamed = a_model(rule, **how), a_model(rule, **how)
    for words, (one, others) in stream:
        text = strategies.text(words)
        model.learn(text, others | ({one} if one else set()))
        renamed.learn(text, others | ({"bee"} if one else set()))
    if not {"ale", "bee"} <= set(model.labels):
        return
    model.merge_labels("ale", "bee")
    check_same_regions(model, renamed)
    assert model.support == renamed.support


@every_rule
def test_documents_of_both_labels_count_once(rule):
    model, union = (Clasher(256, rule=rule, max_labels=8) for _ in range(2))
    sets = [{"oil"}, {"crude"}, {"oil", "crude"}, {"oil", "crude", "gas"}, {"gas"}, {"tin"}]
    texts = [f"word{i} oil text" for i in range(len(sets) * 4)]
    labels = sets * 4
    model.learn_many(texts, labels)
    union.learn_many(texts, [{"oil" if x == "crude" else x for x in s} for s in labels])
    before = model.support
    model.merge_labels("crude", "oil")
    assert set(model.labels) == {"oil", "gas", "tin"}
    if rule in ("centroid", "margin"):
        assert model.support == union.support
        oil = model._index.numbers["oil"]
        np.testing.assert_allclose(by_name(model, "together"), by_name(union, "together"), atol=2.1)
        assert dense(model).together[oil, oil] == model.support["oil"]
        mine, his = (by_name(each, "rows")[:, 0] for each in (model, union))
        cosine = (mine * his).sum() / np.linalg.norm(mine) / np.linalg.norm(his)
        assert cosine > 0.9
    elif rule == "perceptron":  # which does not know how many carried both
        assert model.support["oil"] == before["oil"] + before["crude"]
    assert (dense(model).together >= 0).all()


@every_rule
@given(strategies.streams(), strategies.settings())
@EXAMPLES
def test_statistics_of_merged_labels_stay_in_range(rule, stream, how):
    model = a_model(rule, **how)
    for words, labels in stream:
        model.learn(strategies.text(words), labels)
    while len(model.labels) > 1:
        total = sum(model.support.values())
        model.merge_labels(model.labels[0], model.labels[-1])
        state = dense(model)
        assert sum(model.support.values()) <= total
        assert np.isfinite(state.rows).all()
        assert (state.counts >= 0).all()
        if state.together.size:
            assert (state.together >= 0).all()
            assert (state.together <= state.counts[:, None] + 1e-4).all()
        squared = (state.rows[:, 0].astype(np.float64) ** 2).sum(axis=0)
        if rule != "perceptron":
            np.testing.assert_allclose(state.norms, squared, atol=1e-9)
    model.learn("w1 w2", {"ale"})
    assert model.probabilities("w1").keys() == set(model.labels)


def test_linear_weights_become_the_mean_by_documents():
    model = taught("margin")
    before = taught("margin")
    oil, gold = (before._index.numbers[name] for name in ("oil", "gold"))
    n = before.state.counts
    share = n[gold] / (n[gold] + n[oil])
    model.merge_labels("gold", "oil")
    at = model._index.numbers["oil"]
    weights = dense(before).rows[:, 1]
    np.testing.assert_allclose(
        dense(model).rows[:, 1, at], share * weights[:, gold] + (1 - share) * weights[:, oil],
        rtol=1e-5,
    )  # fmt: skip
    bias = before.state.bias[0]
    assert model.state.bias[0, at] == pytest.approx(share * bias[gold] + (1 - share) * bias[oil])


@every_rule
def test_merging_labels_is_deterministic_and_learning_continues(rule):
    model, twin = taught(rule), taught(rule)
    for each in (model, twin):
        each.merge_labels("corn", "grain")
        each.learn_many(TEXTS, TRUTHS)
    assert state_bytes(model) == state_bytes(twin)
    assert "corn" in model.labels  # it came again
