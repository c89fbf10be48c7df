"""Unlearning restores the sketches of words and labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.settings import MEASURES, WITH_IDF
from tests import strategies
from tests.models import dense

LABELS = st.frozensets(st.sampled_from(["a", "b", "c"]), max_size=2)
DOCUMENTS = st.lists(
    st.tuples(strategies.words.map(strategies.text), LABELS), min_size=1, max_size=6
)
SKETCHES = ("totals", "frequencies", "classes", "members")


def deep(weighting):
    return {"weighting": weighting, "depth": 3 if weighting in WITH_IDF else 1}


def learnt(documents, **settings):
    model = Clasher(32, rule="centroid", **settings)
    model.learn("all labels at once", {"a", "b", "c"})
    for text, labels in documents:
        model.learn(text, labels)
    return model


@pytest.mark.parametrize("weighting", MEASURES)
@given(DOCUMENTS, DOCUMENTS)
def test_sketches_forget_what_is_unlearnt(weighting, kept, taken_back):
    model = learnt(kept + taken_back, **deep(weighting))
    for text, labels in taken_back:
        model.unlearn(text, labels)
    expected = learnt(kept, **deep(weighting))
    for name in SKETCHES:
        ours, theirs = (getattr(dense(each), name) for each in (model, expected))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(model._state.terms[0], expected._state.terms[0])
    assert np.isfinite(model._state.terms).all()


@given(DOCUMENTS, st.data())
def test_conservative_counters_never_underestimate_after_unlearning(documents, data):
    model = learnt(documents, depth=2, conservative=True)
    text, labels = data.draw(st.sampled_from(documents))
    before = model._state.frequencies.copy()
    model.unlearn(text, labels)
    np.testing.assert_array_equal(model._state.frequencies, before)
    assert model.documents == len(documents)


@pytest.mark.parametrize("conservative", [False, True])
@given(DOCUMENTS)
def test_late_labels_leave_deep_sketches_as_they_are(conservative, documents):
    model = Clasher(32, depth=2, conservative=conservative, pending=10)
    for number, (text, _) in enumerate(documents):
        model.observe(text, id=number)
    before = model._state.frequencies.copy()
    for number, (_, labels) in enumerate(documents):
        model.learn_later(number, labels)
    np.testing.assert_array_equal(model._state.frequencies, before)
    assert model.documents == model.labelled == len(documents)


def test_merged_labels_have_the_words_of_both():
    model = Clasher(64, weighting="icf", rule="centroid")
    for text, label in (("wheat harvest", "grain"), ("corn harvest", "maize"), ("oil", "energy")):
        model.learn(text, {label})
    model.merge_labels("maize", "grain")
    expected = Clasher(64, weighting="icf", rule="centroid")
    for text, label in (("wheat harvest", "grain"), ("corn harvest", "grain"), ("oil", "energy")):
        expected.learn(text, {label})
    order = [expected.labels.index(label) for label in model.labels]
    np.testing.assert_array_equal(dense(model).classes[:, :2], dense(expected).classes[:, order])
    np.testing.assert_array_equal(model._state.terms, expected._state.terms)


@pytest.mark.parametrize("weighting", MEASURES)
def test_merged_models_have_the_sketches_of_one_pass(weighting):
    stream = [("wheat harvest", {"grain"}), ("oil wheat", {"oil", "grain"}), ("tin oil", {"tin"})]
    parts = [Clasher(64, **deep(weighting)) for _ in range(2)]
    parts[0].learn_many(*zip(*stream[:2], strict=True))
    parts[1].learn_many(*zip(*stream[2:], strict=True))
    parts[0].merge(parts[1])
    whole = Clasher(64, **deep(weighting))
    whole.learn_many(*zip(*stream, strict=True))
    assert parts[0].labels == whole.labels
    for name in SKETCHES:
        ours, theirs = (getattr(dense(each), name) for each in (parts[0], whole))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(parts[0]._state.terms[0], whole._state.terms[0])


@pytest.mark.parametrize("half_life", [None, 3.0])
def test_the_latest_document_is_unlearnt_exactly(half_life):
    documents = [("wheat", {"grain"}), ("oil", {"energy"}), ("oil wheat", {"grain", "energy"})]
    model = Clasher(64, rule="centroid", weighting="tf", half_life=half_life)
    for text, labels in documents:
        model.learn(text, labels)
    before = vars(dense(model))
    model.learn("gas oil", {"energy"})
    model.unlearn("gas oil", {"energy"})
    for name, array in vars(dense(model)).items():
        if name != "seen":
            np.testing.assert_allclose(array, before[name], rtol=1e-6, atol=1e-6, err_msg=name)
