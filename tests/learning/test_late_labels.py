"""Late labels, corrections and labels that change: what a user may rely on."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import LabelCapacityError, LabelError, NotLearntError, SettingError
from clasher.kernels.state import DOCUMENTS, LABELLED
from clasher.learning import memory
from tests import strategies
from tests.models import LABELS, RULES, TEXTS, UNSEEN, dense, state_bytes, taught

EXAMPLES = settings(max_examples=15 if numba.config.DISABLE_JIT else 60)
every_rule = pytest.mark.parametrize("rule", RULES)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def a_model(rule="centroid", **how):
    return Clasher(**{"dimensions": 16, "max_labels": 16, "rule": rule, **how})


def as_text(stream):
    return [(strategies.text(words), labels) for words, labels in stream]


# ── labels that come late ────────────────────────────────────────────────────────────────────────


@every_rule
@given(strategies.streams(), strategies.settings(), strategies.words)
@EXAMPLES
def test_learning_later_at_once_equals_learning(rule, stream, how, words):
    """Observing and then learning is learning, byte for byte."""
    late, prompt = (a_model(rule, pending=2, **how) for _ in range(2))
    for text, labels in as_text(stream):
        late.learn(text, labels)
        prompt.learn(text, labels)
    late.observe(strategies.text(words), id="x")
    late.learn_later("x", {"ale", "new"})
    prompt.learn(strategies.text(words), {"ale", "new"})
    ours, theirs = memory.contents(late.state), memory.contents(prompt.state)
    for name in ours:
        if not name.startswith("late_"):
            assert ours[name].tobytes() == theirs[name].tobytes(), name
    assert (late.pending, late.dropped) == (0, 0)


@every_rule
def test_late_labels_do_not_count_words_again(rule):
    model = taught(rule, pending=5)
    frequencies = model.state.frequencies.copy()
    model.observe_many(UNSEEN, range(len(UNSEEN)))
    observed = model.state.frequencies.copy()
    assert observed.sum() > frequencies.sum()
    documents, labelled = model.documents, model.labelled
    model.learn_later(2, {"gold"})
    model.learn_later(4, {"oil": True, "gold": False})
    np.testing.assert_array_equal(model.state.frequencies, observed)
    assert (model.documents, model.labelled) == (documents, labelled + 2)
    assert (model.pending, model.dropped) == (3, 1)


@every_rule
def test_late_labels_are_learnt(rule):
    model = Clasher(4096, rule=rule, pending=50)
    topics = {"oil": "crude barrel opec", "grain": "wheat corn harvest"}
    for i in range(40):
        label = "oil" if i % 2 else "grain"
        model.observe(f"{topics[label]} noise{i}", id=i)
    for i in range(40):
        model.learn_later(i, {"oil" if i % 2 else "grain"})
    for label, words in topics.items():
        assert model.predict(words) == {label}


@every_rule
@pytest.mark.parametrize("threads", [1, 3])
def test_unlabelled_documents_of_a_stream_wait(rule, threads):
    """Those with labels do not, nor those without an id."""
    model = Clasher(128, rule=rule, max_labels=8, pending=20)
    truths = [None if i % 2 else labels for i, labels in enumerate(LABELS)]
    ids = [f"d{i}" if i != 3 else None for i in range(10)]
    model.learn_many(TEXTS, truths, ids, threads)
    assert (model.pending, model.documents) == (sum(known is None for known in truths) - 1, 10)
    model.learn_later("d5", LABELS[5])
    for missing in ("d0", "d3"):
        with pytest.raises(NotLearntError):
            model.learn_later(missing, {"oil"})


def test_predicting_remembers_nothing():
    model = taught(pending=4)
    before = state_bytes(model)
    model.predict("oil and gas")
    model.predict_many(UNSEEN)
    assert (state_bytes(model), model.pending) == (before, 0)


def test_a_document_that_does_not_wait():
    model = Clasher(64, max_labels=4, pending=2)
    model.observe("oil", id=1)
    with pytest.raises(NotLearntError, match=r"no document 2 waits for labels: it was not obser"):
        model.learn_later(2, {"x"})
    model.learn_later(1, {"x"})
    with pytest.raises(NotLearntError, match=r"or has got its labels$"):
        model.learn_later(1, {"x"})
    for i in range(5):
        model.observe(f"document {i}", id=f"d{i}")
    with pytest.raises(NotLearntError, match="or was dropped: 3 were, there is room for 2"):
        model.learn_later("d0", {"x"})
    with pytest.raises(NotLearntError, match=r"pending=N"):
        Clasher(64).learn_later(1, {"x"})


def test_late_labels_that_are_wrong_change_nothing():
    model = Clasher(64, max_labels=1, pending=2)
    model.learn("oil", {"oil"})
    model.observe("gas", id=1)
    before = state_bytes(model)
    with pytest.raises(LabelCapacityError):
        model.learn_later(1, {"gas"})
    with pytest.raises(LabelError, match="needs labels"):
        model.learn_later(1, None)
    with pytest.raises(LabelError):
        model.learn_later(1, "gas")
    assert state_bytes(model) == before
    model.learn_later(1, {"oil"})


def test_ids_need_room_and_one_each():
    with pytest.raises(SettingError, match="create it with pending=N"):
        Clasher(64).observe("oil", id=1)
    model = Clasher(64, max_labels=2, pending=2)
    with pytest.raises(SettingError, match="one for each of 2 documents"):
        model.observe_many(["oil", "gas"], [1])
    with pytest.raises(SettingError, match="text or an integer"):
        model.observe_many(["oil", "gas"], [1, 2.5])
    assert model.documents == 0
    model.observe_many(["oil", "gas"], [None, "d"])
    assert (model.documents, model.pending) == (2, 1)


# ── labels that were wrong ───────────────────────────────────────────────────────────────────────


def check_equal(ours, theirs, names):
    labels = len(theirs.labels)
    for name in names:
        mine, his = (getattr(dense(model), name) for model in (ours, theirs))
        if name == "rows":
            mine, his = mine[:, 0, :labels], his[:, 0, :labels]
        elif name == "together":
            mine, his = mine[:labels, :labels], his[:labels, :labels]
        elif name in ("counts", "norms", "scales"):
            mine, his = mine[:labels], his[:labels]
        np.testing.assert_allclose(mine, his, err_msg=name, **CLOSE)


@pytest.mark.parametrize("rule", ["centroid", "margin"])
@given(
    strategies.streams(st.one_of(strategies.complete_labels, st.none())),
    st.sampled_from(["count", "log"]),
    st.sampled_from(["l2", "none"]),
    st.data(),
)
@EXAMPLES
def test_unlearning_equals_never_having_learnt(rule, stream, tf, norm, data):
    """With the TF weighting: the sketch, the prototypes and the statistics are those without."""
    how = {"weighting": "tf", "tf": tf, "norm": norm}
    texts = as_text(stream)
    out = data.draw(st.sets(st.integers(0, len(texts) - 1)))
    model, without = a_model(rule, **how), a_model(rule, **how)
    for text, labels in texts:
        model.learn(text, labels)
        without.learn("", set() if labels is None else labels)  # the same numbers for labels
    for _, labels in texts:
        without.unlearn("", set() if labels is None else labels)
    assert not dense(without).rows[:, 0].any()
    assert without.documents == without.labelled == 0
    for i, (text, labels) in enumerate(texts):
        if i not in out:
            without.learn(text, labels)
    for i in data.draw(st.permutations(sorted(out))):
        model.unlearn(*texts[i])
    assert model.state.totals[DOCUMENTS] == without.state.totals[DOCUMENTS]
    assert model.state.totals[LABELLED] == without.state.totals[LABELLED]
    check_equal(model, without, ["frequencies", "counts", "together", "rows", "norms"])


@every_rule
@given(strategies.streams(strategies.any_labels), strategies.settings(), st.data())
@EXAMPLES
def test_unlearning_all_leaves_nothing_behind(rule, stream, how, data):
    """Whatever the rule, the weighting and the labels: nothing falls below zero."""
    model = a_model(rule, **how)
    texts = as_text(stream)
    for text, labels in texts:
        model.learn(text, labels)
    for i in data.draw(st.permutations(range(len(texts)))):
        try:
            model.unlearn(*texts[i])
        except NotLearntError:  # the mistake rule may not have fed it
            assert rule == "mistake"
            assume(False)
        state = dense(model)
        assert (state.counts >= 0).all()
        assert (state.together >= 0).all()
        assert (state.frequencies >= 0).all()
        assert np.isfinite(state.rows).all()
        if state.together.size:
            assert (state.together <= state.counts[:, None] + 1e-6).all()
    assert (model.documents, model.labelled) == (0, 0)
    assert not model.state.frequencies.any()
    if rule in ("centroid", "margin"):
        assert not dense(model).rows[:, 0].any()
        assert not dense(model).together.any()
        assert set(model.support.values()) <= {0}


def test_with_tfidf_the_document_is_weighed_as_of_today():
    """What stays behind is the difference of its weights then and now, a small part of it."""
    rng = np.random.default_rng(2)
    noise = [" ".join(f"w{n}" for n in rng.zipf(1.5, 8)) for _ in range(80)]
    model, without = a_model(dimensions=512), a_model(dimensions=512)
    for twin in (model, without):
        twin.learn_many(noise[:40], [{"a"} if i % 2 else {"b"} for i in range(40)])
    model.learn("w1 w2 tin price", {"a"})
    model.unlearn("w1 w2 tin price", {"a"})  # nothing came in between: exact
    check_equal(model, without, ["frequencies", "counts", "together", "rows", "norms"])
    model.learn("w1 w2 tin price", {"a"})
    for twin in (model, without):
        twin.observe_many(noise[40:])
    model.unlearn("w1 w2 tin price", {"a"})
    check_equal(model, without, ["frequencies", "counts", "together"])
    left = np.linalg.norm(dense(model).rows - dense(without).rows)  # of a vector of length 1
    assert 0.001 < left < 0.1


def test_a_label_whose_documents_are_unlearnt_is_not_ahead_of_the_stream():
    model = a_model()
    for text, label in (("oil prices", "oil"), ("gold mine", "gold"), ("wheat corn", "grain")):
        model.learn(text, {label})
    assert model.unseen == {"oil": 2, "gold": 1, "grain": 0}
    model.unlearn("wheat corn", {"grain"})
    model.unlearn("oil prices", {"oil"})
    assert model.unseen == {"oil": 0, "gold": 0, "grain": 0}


@every_rule
def test_unlearning_what_was_not_learnt_is_refused(rule):
    model = taught(rule)
    before = state_bytes(model)
    for text, labels, error, message in (
        ("zyx wvu", {"oil"}, NotLearntError, "never learnt: the model has not seen its words"),
        ("oil prices", {"oyl"}, LabelError, "no label 'oyl'; did you mean 'oil'"),
        ("oil prices", {"oil": True, "oyl": False}, LabelError, "no label 'oyl'"),
        ("oil prices", "oil", LabelError, "labels must be"),
    ):
        with pytest.raises(error, match=message):
            model.unlearn(text, labels)
    assert state_bytes(model) == before
    fresh = a_model(rule)
    with pytest.raises(NotLearntError, match="never learnt"):
        fresh.unlearn("", None)
    fresh.observe("oil")
    with pytest.raises(NotLearntError, match="no labelled document is left"):
        fresh.unlearn("oil", set())
    fresh.learn("oil", {"gas": False})
    with pytest.raises(NotLearntError, match="label 'gas' has no document left"):
        fresh.unlearn("oil", {"gas"})


@every_rule
def test_correcting_is_unlearning_and_learning(rule):
    model, by_hand = taught(rule), taught(rule)
    model.correct(TEXTS[0], LABELS[0], {"gold"})
    by_hand.unlearn(TEXTS[0], LABELS[0])
    by_hand.learn(TEXTS[0], {"gold"})
    assert state_bytes(model) == state_bytes(by_hand)
    assert model.documents == taught(rule).documents
    np.testing.assert_array_equal(model.state.frequencies, taught(rule).state.frequencies)


def test_a_correction_that_fails_changes_nothing():
    model = taught(max_labels=4)
    before = state_bytes(model)
    with pytest.raises(LabelCapacityError):
        model.correct(TEXTS[0], LABELS[0], {"fifth"})
    with pytest.raises(NotLearntError):
        model.correct("zyx", {"oil"}, {"gold"})
    assert state_bytes(model) == before


@pytest.mark.parametrize("rule", ["margin", "centroid", "perceptron"])
def test_corrections_help(rule):
    """A stream labelled wrongly, then corrected document by document."""
    model = Clasher(1024, rule=rule)
    texts = [f"{'crude barrel' if i % 2 else 'wheat corn'} w{i % 7}" for i in range(40)]
    wrong = [{"grain"} if i % 2 else {"oil"} for i in range(40)]
    model.learn_many(texts, wrong)
    assert model.predict("crude barrel") == {"grain"}
    for text, labels in zip(texts, wrong, strict=True):
        right = {"oil"} if labels == {"grain"} else {"grain"}
        model.correct(text, labels, right)
    assert model.predict("crude barrel") == {"oil"}
    assert model.predict("wheat corn") == {"grain"}


# ── labels that change ───────────────────────────────────────────────────────────────────────────


@every_rule
def test_a_renamed_label_is_the_same_label(rule):
    model, plain = taught(rule), taught(rule)
    predicted = model.predict_many(UNSEEN)
    model.rename_label("oil", "petroleum")
    assert [{"petroleum" if x == "oil" else x for x in s} for s in plain.predict_many(UNSEEN)] == (
        list(model.predict_many(UNSEEN))
    )
    assert list(predicted) == list(plain.predict_many(UNSEEN))  # given out before
    assert state_bytes(model) == state_bytes(plain)
    model.learn("crude", {"petroleum"})
    assert "oil" not in model.labels
    assert model.support["petroleum"] > plain.support["oil"] or rule == "mistake"


def test_invalid_new_names_are_refused():
    model = taught()
    for method in (model.rename_label, model.merge_labels):
        with pytest.raises(LabelError, match="no label 'grian'; did you mean 'grain'"):
            method("grian", "oil")
    with pytest.raises(LabelError, match="no label 'grian'; did you mean 'grain'"):
        model.retire_label("grian")
    with pytest.raises(LabelError, match="no label 'ghost'"):
        model.merge_labels("oil", "ghost")
    with pytest.raises(LabelError, match="there is a label 'oil' already; merge_labels"):
        model.rename_label("gold", "oil")
    with pytest.raises(LabelError, match="non-empty text"):
        model.rename_label("gold", "")
    with pytest.raises(LabelError, match="cannot be merged with itself"):
        model.merge_labels("oil", "oil")
    assert state_bytes(model) == state_bytes(taught())
