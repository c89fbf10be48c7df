"""Parts that start from a model, and the differences they return."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import SettingError
from clasher.kernels.margin import EVERY, FADE
from clasher.kernels.regions import COUNT_LIMIT
from clasher.kernels.state import LABELLED
from clasher.learning.merge import Sketch
from clasher.runtime import deltas
from support.corpora import synthetic
from tests import strategies
from tests.learning.test_merge import EXAMPLES, SUMS, a_model, check_same, learnt, merged
from tests.models import LABELS, RULES, TEXTS, dense, state_bytes, taught

every_rule = pytest.mark.parametrize("rule", RULES)
WEIGHTS = ("bias", "squares", "shared")


def in_parts(model, parts):
    """Learn parts side by side, each with the word counts of earlier parts, and add them."""
    before, found = Sketch.of(model.state), []
    for texts, labels in parts:
        part = deltas.begin(model, before)
        part.learn_many(texts, labels)
        here = Sketch.of(part.state)
        found.append(deltas.difference(part, model, before))
        before = here
    model.add_difference(merged(found))
    return model


@every_rule
@given(st.data(), strategies.settings())
@EXAMPLES
def test_adding_one_part_equals_learning_it(rule, data, how):
    """This holds whatever the model knew before.

    Centroid parts start empty, so they do not know how often an unknown label came with others.
    """
    labels = strategies.any_labels if rule != "centroid" else strategies.complete_labels
    first, second = (data.draw(strategies.streams(labels)) for _ in range(2))
    alone = learnt(first, rule, **how)
    texts, labels = zip(*((strategies.text(words), given) for words, given in second), strict=True)
    together = in_parts(alone.copy(), [(texts, list(labels))])
    alone.learn_many(texts, list(labels))
    check_same(together, alone, (*SUMS, "seen", *WEIGHTS), atol=1e-4)
    np.testing.assert_allclose(dense(together).rows, dense(alone).rows, rtol=1e-4, atol=1e-4)
    assert together.labels == alone.labels


@given(strategies.streams(strategies.complete_labels), st.data())
@EXAMPLES
def test_centroid_parts_equal_one_pass_with_tfidf(stream, data):
    """Parts know the word counts of earlier parts, so weights equal those of one pass."""
    cuts = data.draw(strategies.cuts(len(stream)))
    parts = [
        ([strategies.text(words) for words, _ in stream[cut]], [own for _, own in stream[cut]])
        for cut in cuts
    ]
    found = in_parts(a_model("centroid"), parts)
    whole = learnt(stream, "centroid")
    check_same(found, whole, (*SUMS, "seen"))
    for exact in ("frequencies", "counts"):
        assert getattr(found.state, exact).tobytes() == getattr(whole.state, exact).tobytes()
    assert found.labels == whole.labels


@every_rule
def test_the_starting_model_is_not_changed(rule):
    model = taught(rule)
    before = state_bytes(model)
    part = deltas.begin(model, Sketch.of(model.state))
    part.learn_many(TEXTS, LABELS)
    deltas.difference(part, model, Sketch.of(model.state))
    assert state_bytes(model) == before


def test_parts_that_learnt_nothing_change_nothing():
    model = taught("margin")
    before = state_bytes(model)
    in_parts(model, [([], []), ([], [])])
    assert state_bytes(model) == before


def test_histograms_fade_by_the_documents_since():
    model = Clasher(64, max_labels=4)
    stream = synthetic(EVERY // 2, 3, words=10)
    model.learn_many(stream.texts, stream.labels)
    old, old_bests = model.state.margins.copy(), model.state.bests.copy()
    part = deltas.begin(model, Sketch.of(model.state))
    part.learn_many(stream.texts, stream.labels)
    new, new_bests = part.state.margins.copy(), part.state.bests.copy()
    found = deltas.difference(part, model, Sketch.of(model.state))
    assert found.state.totals[LABELLED] == len(stream)
    model.add_difference(found)
    np.testing.assert_allclose(model.state.margins, old * FADE**0.5 + new)
    np.testing.assert_allclose(model.state.bests, old_bests * FADE**0.5 + new_bests)


def test_large_counts_are_halved_before_parts_start():
    model = taught("margin")
    model.state.counts[0] = COUNT_LIMIT * 0.75
    before = dense(model).rows[:, 0, 0]
    deltas.make_room(model)
    assert model.state.counts[0] == COUNT_LIMIT * 0.375
    np.testing.assert_array_equal(dense(model).rows[:, 0, 0], before / 2)


def test_a_part_beyond_the_count_limit_is_refused():
    model = taught("margin")
    part = deltas.begin(model, Sketch.of(model.state))
    part.state.counts[0] = COUNT_LIMIT - 1
    part.learn_many(TEXTS, LABELS)  # and is halved on the way
    model.state.counts[0] = COUNT_LIMIT / 2 + 10
    with pytest.raises(SettingError, match=r"label 'oil' has more than 2,097,152 documents in one"):
        deltas.difference(part, model, Sketch.of(model.state))


@pytest.mark.parametrize("how", [{"half_life": 100.0}, {"detector": "window"}])
def test_a_model_that_forgets_is_not_learnt_in_parts(how):
    (name,) = how
    with pytest.raises(SettingError, match=f"not in parts side by side: leave out {name}"):
        deltas.check(Clasher(64, **how).settings, is_new=True)


def test_parts_of_a_model_that_evicts_labels():
    evicting = Clasher(64, on_full="evict").settings
    deltas.check(evicting, is_new=True)
    deltas.check(Clasher(64, rule="centroid", on_full="evict").settings, is_new=False)
    with pytest.raises(SettingError, match="raise max_labels, and set on_full='error'"):
        deltas.check(evicting, is_new=False)
