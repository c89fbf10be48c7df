"""Forgetting by lazy scales equals a reference that fades everything at each document."""

from __future__ import annotations

import random
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import LabelError, SettingError
from clasher.kernels.decay import FAINT, LIMIT, gain, rescale
from clasher.kernels.state import FADED, NOW
from support.reference.margin import MarginClasher
from support.reference.paper import LinearClasher, PerceptronClasher, Reference
from tests import strategies
from tests.models import RULES, TEXTS, UNSEEN, dense, state_bytes, taught
from tests.test_model_oracle import TOLERANCE, Twins, check_bests, table, topical_stream

EXAMPLES = settings(deadline=None, max_examples=20 if numba.config.DISABLE_JIT else 60)

weightings = st.sampled_from(["tfidf", "tf"])
frequencies = st.tuples(strategies.settings(), weightings).map(
    lambda pair: {**pair[0], "weighting": pair[1]}
)
"""Weightings without labels: the reference of the others does not fade."""

half_lives = st.sampled_from([1, 2, 7.5, 100, 1e6])
moments = st.none() | st.tuples(
    st.sampled_from([0.01, 0.25, 0.9, 1.0]),
    st.none() | st.sets(st.sampled_from(strategies.NAMES)),
)
"""When to forget: rarely, some labels or all."""


class FadingTwins(Twins):
    """A model and its oracle, which both forget."""

    def forget_alike(self, keep: float, labels: set[str] | None) -> None:
        known = None if labels is None else labels & set(self.oracle.labels)
        self.model.forget(keep, known)
        self.oracle.forget(keep, known)

    def is_sharp(self, words: list[int]) -> bool:
        """Also exclude ties of best labels that have faded by different steps."""
        if isinstance(self.oracle, LinearClasher) and np.ptp(self.model._state.gains) > 0:
            z = sorted(self.oracle.evidence(self.oracle.doc_hash(self.hashed(words))).values())
            if len(z) > 1 and z[-1] - z[-2] < 1e-12:
                return False
        return super().is_sharp(words)

    def observe(self, words: list[int]) -> None:
        self.model.observe(strategies.text(words))
        self.oracle.learn(self.hashed(words), None)

    def check_state(self) -> None:
        check_faded(self.model, self.oracle)


def check_faded(model: Clasher, oracle: Reference) -> None:
    """Return the state at its current weight."""
    state, labels, m = dense(model), oracle.labels, model.settings.dimensions
    used = len(labels)
    one = np.array([gain(model._state.clock, model._state.gains, j) for j in range(used)])
    now = state.clock[NOW]
    assert state.clock[FADED] / now == pytest.approx(oracle.sketch.n)
    C = [oracle.sketch.C[k] for k in range(m)]
    np.testing.assert_allclose(state.frequencies[0] / now, C, **TOLERANCE)
    n = [max(oracle.documents_of(j), FAINT) if oracle.documents_of(j) else 0 for j in labels]
    np.testing.assert_allclose(state.counts[:used] / one, n, rtol=1e-6, atol=2 * FAINT)
    assert list(model.support) == labels
    if isinstance(oracle, LinearClasher):
        scale = one if isinstance(oracle, PerceptronClasher) else 1.0
        w, b = table(oracle, oracle.w, m), [oracle.b[j] for j in labels]
        np.testing.assert_allclose(state.rows[:, -1, :used] / scale, w, **TOLERANCE)
        np.testing.assert_allclose(state.bias[0, :used] / scale, b, **TOLERANCE)
        if oracle.at_least_one is None:
            check_bests(model, oracle)
    if not isinstance(oracle, PerceptronClasher):
        fed = np.where(state.counts[:used] > 0, state.counts[:used], 1.0)
        p = table(oracle, oracle.regions.p, m)
        np.testing.assert_allclose(state.rows[:, 0, :used] / fed, p, **TOLERANCE)
        F = [float(oracle.regions.F[i, j]) for i in labels for j in labels]
        together = state.together[:used, :used] / fed[:, None]
        np.testing.assert_allclose(together.ravel(), F, **TOLERANCE)
    if isinstance(oracle, MarginClasher):
        G = [oracle.G.get(k, 0.0) for k in range(m)]
        np.testing.assert_allclose(state.squares, G, **TOLERANCE)
        Gb = [oracle.Gb[j] for j in labels]
        np.testing.assert_allclose(state.bias[1, :used] / state.gains[:used], Gb, **TOLERANCE)


@pytest.mark.parametrize("rule", RULES)
@given(strategies.streams(), frequencies, half_lives, st.data())
@EXAMPLES
def test_forgetting_equals_the_reference(rule, stream, how, half_life, data):
    twins = FadingTwins(rule, half_life=half_life, **how)
    followed = 0
    for words, labels in stream:
        moment = data.draw(moments)
        if moment is not None:
            twins.forget_alike(*moment)
        if not twins.is_sharp(words):
            break
        twins.predict_alike(words)
        twins.step_alike(words, labels)
        twins.check_state()
        followed += 1
    event(f"followed to the end: {followed == len(stream)}")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("half_life", [1, 3, 50])
def test_forgetting_equals_the_reference_over_many_half_lives(rule, half_life):
    """A half-life of one document reaches the limit again and again."""
    at_least_one = (
        True if half_life == 1 else None
    )  # the best labels of a perceptron fade to near ties
    twins = FadingTwins(
        rule, dimensions=256, words=200, half_life=half_life, at_least_one=at_least_one
    )
    sharp, rescaled, before = 0, 0, 1.0
    for words, labels in topical_stream(random.Random(half_life), documents=150):
        if twins.is_sharp(words):
            twins.predict_alike(words)
            twins.step_alike(words, labels)
            sharp += 1
        else:
            twins.observe(words)
        twins.check_state()
        now = twins.model._state.clock[NOW]
        rescaled, before = rescaled + (now < before), now
    assert sharp > 12
    assert (rescaled > 0) == (half_life == 1)


@pytest.mark.parametrize("conservative", [False, True])
def test_deeper_sketches_fade_too(conservative):
    twins = FadingTwins(
        "centroid", dimensions=64, words=200, half_life=2, depth=3, conservative=conservative
    )
    for words, labels in topical_stream(random.Random(5), documents=150):
        if twins.is_sharp(words):
            twins.predict_alike(words)
            twins.step_alike(words, labels)
        else:
            twins.observe(words)
        twins.check_state()


@pytest.mark.parametrize("rule", RULES)
def test_rescaling_is_invisible(rule):
    model, twin = (taught(rule, half_life=3) for _ in range(2))
    for number in range(4):
        for each in (model, twin):
            each.forget(0.3, {"oil"})
            each.forget(0.9)
        rescale(model._state)
        assert 1 <= model._state.clock[NOW] < 2
        assert np.all(model._state.gains < 2)
        assert model.support == twin.support
        assert np.array_equal(
            model.probabilities_many(TEXTS + UNSEEN), twin.probabilities_many(TEXTS + UNSEEN)
        )
        for each in (model, twin):
            each.learn(f"gold and {UNSEEN[number]}", {"gold", "oil"})
    assert twin._state.clock[NOW] > 2
    assert np.array_equal(
        model.probabilities_many(TEXTS + UNSEEN), twin.probabilities_many(TEXTS + UNSEEN)
    )


@pytest.mark.parametrize("rule", ["margin", "centroid"])
def test_a_label_unseen_for_long_keeps_its_mean(rule):
    """Its mean and fractions stay; only their weight beside new documents fades."""
    model = Clasher(64, rule=rule, half_life=1, at_least_one=False, threshold=0.3)
    model.learn_many(["wheat and corn"] * 4, [{"grain"}] * 4)
    model.learn_many(["crude oil"] * 1500, [{"oil"}] * 1500)
    assert model.support == {"grain": 1, "oil": 2}
    assert np.all(np.isfinite(model.probabilities_many(TEXTS)))
    assert np.all(model._state.counts[:2] > 0)
    assert model.explain("wheat and corn", "grain").region == "grain"
    model.learn("barley", {"grain"})
    assert model.explain("barley", "grain").similarity == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_a_thousand_alarms_do_not_overflow(rule):
    model = taught(rule)
    for _ in range(1000):
        model.forget(0.01, {"oil"})
        model.learn("oil prices rose", {"oil"})
    assert model._state.gains.max() * model._state.clock[NOW] <= LIMIT
    assert all(
        np.all(np.isfinite(array)) for name, array in vars(dense(model)).items() if name != "floor"
    )
    assert np.all(np.isfinite(model.probabilities_many(UNSEEN)))


@pytest.mark.parametrize("rule", RULES)
def test_without_forgetting_a_document_counts_one(rule):
    """The golden files check that the results are the same too."""
    state = taught(rule)._state
    assert state.clock.tolist() == [30.0, 1.0]
    assert np.all(state.gains == 1.0)
    assert np.all(state.frequencies == np.floor(state.frequencies))


@pytest.mark.parametrize("rule", RULES)
def test_a_huge_half_life_forgets_nothing(rule):
    endless, plain = taught(rule, half_life=1e12), taught(rule)
    np.testing.assert_allclose(
        endless.probabilities_many(UNSEEN), plain.probabilities_many(UNSEEN), rtol=1e-5, atol=1e-5
    )
    assert endless.support == plain.support


@pytest.mark.parametrize("rule", ["margin", "centroid"])
def test_documents_of_a_half_life_ago_weigh_half(rule):
    model = Clasher(64, rule=rule, half_life=10)
    model.observe("nothing")
    model.learn("wheat", {"grain"})
    model.observe_many(["nothing"] * 9)
    model.learn("corn", {"grain"})
    hashed = model.hash_many(["wheat", "corn"])
    wheat, corn = np.abs(dense(model).rows[hashed.buckets, 0, 0])
    assert wheat == pytest.approx(corn / 2)
    one = gain(model._state.clock, model._state.gains, 0)
    assert model._state.counts[0] / one == pytest.approx(1.5)
    assert model.support == {"grain": 2}


def test_class_counts_fade_with_their_labels():
    model = Clasher(256, rule="centroid", weighting="icsdf", half_life=1)
    days = ["wheat", "corn", "wheat", "corn", "corn", "wheat"] * 25
    model.learn_many(days, [{"grain"}] * len(days))
    model.forget(0.5, {"grain"})
    model.learn("wheat", {"grain"})
    state = dense(model)
    weights = np.append(0.5 * 0.5 ** np.arange(len(days), 0, -1), 1.0)
    wheat = sum(w for w, day in zip(weights, [*days, "wheat"], strict=True) if day == "wheat")
    bucket = model.hash_many(["wheat"]).buckets[0]
    rate = state.classes[bucket, 0] / state.members[0, 0]
    assert rate == pytest.approx(wheat / weights.sum(), rel=1e-5)
    assert state.clock[NOW] < LIMIT < 2.0 ** len(days)


@pytest.mark.parametrize("rule", RULES)
def test_saving_changes_nothing(rule, tmp_path):
    whole = taught(rule, half_life=5)
    whole.forget(0.5, {"gold"})
    whole.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert state_bytes(loaded) == state_bytes(whole)
    for model in (whole, loaded):
        model.learn_many(TEXTS, [{"gold"}] * len(TEXTS))
    assert state_bytes(loaded) == state_bytes(whole)


@pytest.mark.parametrize("rule", RULES)
@given(strategies.streams(), half_lives, st.data())
@EXAMPLES
def test_forgetting_does_not_depend_on_how_the_stream_is_cut(rule, stream, half_life, data):
    texts = [strategies.text(words) for words, _ in stream]
    labels = [known for _, known in stream]
    whole, parts = (Clasher(16, rule=rule, max_labels=16, half_life=half_life) for _ in range(2))
    whole.learn_many(texts, labels)
    for part in data.draw(strategies.cuts(len(stream))):
        parts.learn_many(texts[part], labels[part])
    assert state_bytes(whole) == state_bytes(parts)


def test_a_new_label_begins_with_whole_documents():
    model = Clasher(64, rule="centroid", half_life=2, max_labels=2, on_full="evict")
    model.learn_many(["wheat"] * 30, [{"grain"}] * 30)
    model.learn("corn", {"maize"})
    assert model.support["maize"] == 1
    model.forget(0.1, ["maize"])
    model.learn("oil", {"energy", "grain"})
    assert model.support == {"grain": 3, "energy": 1}


@pytest.mark.parametrize("keep", [0, -1, 1.5, "all", None, True, float("nan")])
def test_how_much_to_keep_is_validated(keep):
    with pytest.raises(SettingError) as caught:
        taught().forget(keep)
    assert str(caught.value) == (
        f"The 'keep' parameter of forget must be a number from 0.000001 to 1. Got {keep!r} instead."
    )


def test_an_unknown_label_cannot_be_forgotten():
    model: Any = taught()
    before = state_bytes(model)
    with pytest.raises(LabelError, match=r"knows no label 'oit'; did you mean 'oil'\?"):
        model.forget(0.5, ["gold", "oit"])
    assert state_bytes(model) == before
