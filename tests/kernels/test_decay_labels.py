"""Forgetting together with unlearnt, late, merged and retired labels."""

from __future__ import annotations

import numpy as np
import pytest

from clasher import Clasher
from clasher.errors import SettingError
from clasher.kernels.decay import settle
from clasher.kernels.state import FADED, NOW
from clasher.learning import memory
from tests.models import LABELS, RULES, TEXTS, UNSEEN, dense, state_bytes, taught

GRAIN = ["wheat harvest", "corn harvest", "wheat prices", "barley and corn"]
OIL = ["crude oil", "oil prices", "oil rig", "gas and oil"]


def faded(model: Clasher) -> np.ndarray:
    """Return the current weight of each label's documents."""
    state = model._state
    used = len(model.labels)
    return state.counts[:used] / (state.gains[:used] * state.clock[NOW])


@pytest.mark.parametrize("rule", RULES)
def test_settling_changes_nothing_but_units(rule):
    model = taught(rule, half_life=7)
    model.forget(0.3, {"oil"})
    scores, worth, support = model.probabilities_many(UNSEEN), faded(model), model.support
    documents = model._state.clock[FADED] / model._state.clock[NOW]
    settle(model._state)
    assert model._state.clock.tolist() == pytest.approx([documents, 1.0])
    assert np.all(model._state.gains == 1.0)
    np.testing.assert_allclose(faded(model), worth)
    np.testing.assert_allclose(model.probabilities_many(UNSEEN), scores, rtol=1e-4, atol=1e-5)
    assert model.support == support


@pytest.mark.parametrize("rule", ["centroid", "margin"])
def test_the_latest_document_can_be_unlearnt(rule):
    model = Clasher(256, rule=rule, weighting="tf", half_life=3)
    model.learn_many(GRAIN + OIL, [{"grain"}] * 4 + [{"oil"}] * 4)
    model.forget(0.5, {"oil"})
    rows, worth = dense(model).rows[:, 0].copy(), faded(model)
    model.learn("an oil rig", {"oil"})
    model.unlearn("an oil rig", {"oil"})
    np.testing.assert_allclose(dense(model).rows[:, 0], rows, atol=1e-4)
    np.testing.assert_allclose(faded(model), worth, rtol=1e-6)


def test_a_late_label_counts_as_a_new_one():
    model = Clasher(256, rule="centroid", half_life=2, pending=8)
    model.observe("wheat harvest", id="d1")
    model.learn_many(OIL, [{"oil"}] * 4)
    model.learn_later("d1", {"grain"})
    assert faded(model)[model.labels.index("grain")] == pytest.approx(1.0)


@pytest.mark.parametrize("rule", RULES)
def test_labels_are_merged_in_the_same_units(rule):
    model = Clasher(256, rule=rule, half_life=50)
    model.learn_many(GRAIN + OIL, [{"grain"}] * 4 + [{"corn"}] * 4)
    model.forget(0.25, {"corn"})
    worth = faded(model)
    model.merge_labels("corn", "grain")
    assert faded(model) == pytest.approx([worth.sum()])


def test_retiring_a_label_keeps_the_record_of_the_others():
    model = taught(detector="window", max_labels=8)
    last = model.labels[-1]
    number = model._index.numbers[last]
    blocks = model._state.blocks[number].copy()
    recent = (model._state.recent_labels == number).sum()
    model.retire_label(model.labels[0])
    assert model._index.numbers[last] == 0
    assert np.array_equal(model._state.blocks[0], blocks)
    assert (model._state.recent_labels == 0).sum() == recent
    assert not (model._state.recent_labels == number).any()


def test_a_half_life_merges_as_one_stream_after_the_other():
    whole, first, second = (
        Clasher(256, rule="centroid", weighting="tf", half_life=4) for _ in "abc"
    )
    whole.learn_many(TEXTS * 2, LABELS * 2)
    first.learn_many(TEXTS, LABELS)
    second.learn_many(TEXTS, LABELS)
    before = state_bytes(second)
    first.merge(second)
    assert state_bytes(second) == before
    complete = [whole.labels.index(name) for name in ("oil", "gold")]
    np.testing.assert_allclose(faded(first)[complete], faded(whole)[complete], rtol=1e-6)
    state = first._state
    documents = whole._state.clock[FADED] / whole._state.clock[NOW]
    assert state.clock[FADED] / state.clock[NOW] == pytest.approx(documents)
    np.testing.assert_allclose(
        state.frequencies / state.clock[NOW],
        whole._state.frequencies / whole._state.clock[NOW],
        rtol=1e-6,
    )


def test_merging_models_does_not_bring_back_what_was_forgotten():
    first, second = taught("centroid"), taught("centroid")
    first.forget(0.5)
    worth = faded(first) + faded(second)
    first.merge(second)
    np.testing.assert_allclose(faded(first), worth)


def test_a_thousand_half_lives_merge():
    first, second = (Clasher(64, rule="centroid", half_life=1) for _ in range(2))
    first.learn_many(GRAIN, [{"grain"}] * 4)
    second.learn_many(OIL * 400, [{"oil"}] * 1600)
    first.merge(second)
    assert first.support == {"grain": 1, "oil": 2}
    arrays = {**memory.contents(first._state), "floor": np.zeros(1)}
    assert all(np.all(np.isfinite(array)) for array in arrays.values())


@pytest.mark.parametrize("how", [{"half_life": 9}, {"detector": "window"}])
def test_a_model_that_forgets_learns_in_order(how):
    with pytest.raises(SettingError) as caught:
        Clasher(64, **how).learn_many(TEXTS, LABELS, threads=2)
    assert str(caught.value) == (
        "The 'threads' parameter of learn_many must be 1 for a model that forgets. Got 2 instead."
    )
