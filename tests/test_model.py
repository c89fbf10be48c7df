from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clasher.model
from clasher import Clasher, LabelSets
from clasher.errors import LabelCapacityError, LabelError
from tests import strategies
from tests.models import LABELS, RULES, TEXTS, UNSEEN, state_bytes, taught

EXAMPLES = settings(max_examples=10 if numba.config.DISABLE_JIT else 40)

every_rule = pytest.mark.parametrize("rule", RULES)


@every_rule
def test_predicting_changes_nothing(rule):
    model = taught(rule)
    before, labels = state_bytes(model), model.labels
    for text in UNSEEN:
        model.predict(text)
        model.probabilities(text)
        model.explain(text)
        model.explain(text, "gold")
    model.predict_many(UNSEEN)
    model.probabilities_many(UNSEEN)
    model.hash_many(UNSEEN)
    assert model.labels == labels
    assert state_bytes(model) == before


@every_rule
def test_learning_is_deterministic(rule):
    assert state_bytes(taught(rule)) == state_bytes(taught(rule))


# ── many and one ─────────────────────────────────────────────────────────────────────────────────


@every_rule
@given(strategies.streams(), strategies.settings(), st.data())
@EXAMPLES
def test_many_documents_are_one_after_the_other(rule, stream, how, data):
    texts = [strategies.text(words) for words, _ in stream]
    labels = [known for _, known in stream]
    many, singly = (Clasher(16, rule=rule, max_labels=16, **how) for _ in range(2))
    for part in data.draw(strategies.cuts(len(stream))):
        many.learn_many(pa.array(texts[part], pa.string()), LabelSets.of(labels[part]))
    for text, known in zip(texts, labels, strict=True):
        singly.learn(text, known)
    assert many.labels == singly.labels
    assert state_bytes(many) == state_bytes(singly)
    assert list(many.predict_many(texts)) == [singly.predict(text) for text in texts]
    rows = many.probabilities_many(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (len(texts), len(many.labels))
    for row, text in zip(rows, texts, strict=True):
        assert dict(zip(many.labels, row.tolist(), strict=True)) == singly.probabilities(text)


@every_rule
@pytest.mark.parametrize("size", [1, 3, 4])
def test_results_do_not_depend_on_the_batches(rule, size, monkeypatch):
    """Hashing runs ahead and predicting in parallel, batch by batch."""
    whole = taught(rule)
    predicted = whole.step_many(TEXTS, LABELS)
    answers = list(whole.predict_many(UNSEEN * 3)), whole.probabilities_many(UNSEEN * 3).tobytes()
    monkeypatch.setattr(clasher.model, "BATCH", size)
    cut = taught(rule)
    assert cut.step_many(TEXTS, LABELS) == predicted
    assert state_bytes(cut) == state_bytes(whole)
    assert (
        list(cut.predict_many(UNSEEN * 3)),
        cut.probabilities_many(UNSEEN * 3).tobytes(),
    ) == answers
    cut.observe_many(UNSEEN)
    whole.observe_many(UNSEEN)
    assert state_bytes(cut) == state_bytes(whole)


@every_rule
def test_hashed_ahead_is_the_same(rule):
    direct, ahead = taught(rule), taught(rule)
    assert direct.step_many(TEXTS, LABELS) == ahead.step_many(ahead.hash_many(TEXTS), LABELS)
    assert state_bytes(direct) == state_bytes(ahead)
    hashed = ahead.hash_many(UNSEEN)
    assert direct.predict_many(UNSEEN) == ahead.predict_many(hashed)
    assert np.array_equal(direct.probabilities_many(UNSEEN), ahead.probabilities_many(hashed))


@every_rule
def test_observing_is_learning_without_labels(rule):
    observed, learnt, many = taught(rule), taught(rule), taught(rule)
    for text in UNSEEN:
        observed.observe(text)
        learnt.learn(text, None)
    many.observe_many(UNSEEN)
    assert state_bytes(observed) == state_bytes(learnt) == state_bytes(many)
    assert observed.documents == 3 * len(TEXTS) + len(UNSEEN)
    assert observed.labelled == 3 * (len(TEXTS) - 1)


@every_rule
def test_several_threads_may_predict_at_once(rule):
    model = taught(rule)
    texts = (UNSEEN + TEXTS) * 4
    expected = [(model.predict(text), model.probabilities(text)) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        single = list(
            threads.map(lambda text: (model.predict(text), model.probabilities(text)), texts)
        )
        whole = list(threads.map(model.predict_many, [texts] * 8))
    assert single == expected
    assert all(list(sets) == [labels for labels, _ in expected] for sets in whole)


# ── what comes out ───────────────────────────────────────────────────────────────────────────────


@every_rule
@pytest.mark.parametrize("threshold", [0.2, 0.7])
def test_labels_above_the_threshold_are_predicted(rule, threshold):
    model = taught(rule, threshold=threshold, at_least_one=False)
    for text in TEXTS + UNSEEN:
        scores = model.probabilities(text)
        assert list(scores) == model.labels
        assert all(0 <= score <= 1 for score in scores.values())
        if model.predict(text):
            assert model.predict(text) == {name for name, s in scores.items() if s > threshold}
        else:
            assert text in ("", "unheard of") or max(scores.values()) <= threshold


@pytest.mark.parametrize("rule", ["margin", "perceptron"])
def test_at_least_one_label_is_predicted(rule):
    strict = taught(rule, threshold=0.999, at_least_one=False)
    lenient = taught(rule, threshold=0.999, at_least_one=True)
    assert not any(strict.predict_many(UNSEEN))
    for text in ("oil and wheat prices", "corn", "a gold mine of grain"):
        scores = lenient.probabilities(text)
        assert lenient.predict(text) == {max(scores, key=scores.get)}
    assert lenient.predict("") == set()


@pytest.mark.parametrize("rule", ["centroid", "mistake"])
def test_the_label_of_the_region_passes_any_threshold(rule):
    """All documents of a region carry its own label."""
    model = taught(rule, threshold=0.999, at_least_one=False)
    for text in ("oil and wheat prices", "corn", "a gold mine of grain"):
        assert model.explain(text).region in model.predict(text)


@every_rule
def test_a_label_without_documents_is_not_predicted(rule):
    model = Clasher(64, rule=rule, max_labels=4, threshold=1e-6)
    for _ in range(5):
        model.learn("oil price", {"ghost": False, "oil": True})
        model.learn("wheat price", {"wheat": True, "ghost": False})
    assert model.labels == ["ghost", "oil", "wheat"]
    assert "ghost" not in model.predict("oil price")
    assert model.predict("oil price")


@every_rule
def test_before_the_first_label(rule):
    model = Clasher(64, rule=rule, max_labels=4)
    assert model.predict("oil") == set()
    assert model.probabilities("oil") == {}
    assert list(model.predict_many(["oil", ""])) == [set(), set()]
    assert model.probabilities_many(["oil", ""]).shape == (2, 0)
    assert model.probabilities_many([]).shape == (0, 0)
    assert list(model.step_many([], [])) == []
    assert (model.documents, model.labelled, model.labels) == (0, 0, [])
    model.observe_many(["oil", "gas"])
    model.learn("nothing", set())
    assert (model.documents, model.labelled) == (3, 1)
    assert model.predict("oil") == set()


@pytest.mark.parametrize("rule", ["margin", "centroid", "perceptron"])
def test_support_counts_the_documents_of_each_label(rule):
    assert taught(rule, times=1).support == {"oil": 4, "corn": 2, "grain": 3, "gold": 2}


def test_thresholds():
    assert Clasher(16).threshold == 0.5
    assert Clasher(16, threshold=0.3).threshold == 0.3
    assert Clasher(16, rule="centroid").threshold == 0.5
    assert Clasher(16, rule="perceptron", threshold=0.8).threshold == 0.8


def test_the_threshold_of_the_margin_rule_is_learnt():
    model = Clasher(64, max_labels=4)
    texts = [f"{'oil' if i % 3 else 'wheat'} text {i % 5}" for i in range(1000)]
    labels = [
        {"oil"} if i % 3 else {"grain", "rare"} if i % 15 == 0 else {"grain"} for i in range(1000)
    ]
    model.learn_many(texts[:99], labels[:99])
    assert model.threshold == 0.5
    model.learn(texts[99], labels[99])
    early = model.threshold
    assert early != 0.5
    model.learn_many(texts[100:999], labels[100:999])
    before = model.threshold
    model.learn(texts[999], labels[999])
    assert model.threshold not in (0.5, early, before)
    fixed = Clasher(64, max_labels=4, threshold=0.4)
    fixed.learn_many(texts, labels)
    assert fixed.threshold == 0.4


def test_repr():
    assert repr(taught("centroid", times=1)) == (
        "<Clasher rule='centroid' dimensions=128 labels=4 documents=10>"
    )


@every_rule
def test_bytes_are_bounded_from_the_start(rule):
    model = Clasher(32, rule=rule, max_labels=100)
    bound = model.max_nbytes
    for i in range(100):
        assert model.nbytes <= bound
        model.learn(f"document {i}", {f"label {i}"})
    assert model.nbytes <= model.max_nbytes == bound
    with pytest.raises(LabelCapacityError, match="'label 100' would be number 101"):
        model.learn("one more", {"label 100"})
    assert (model.documents, len(model.labels)) == (100, 100)


def test_labels_given_out_are_a_copy():
    model = taught()
    model.labels.append("not mine")
    predictions = model.predict_many(TEXTS)
    model.learn("another", {"another"})
    assert "not mine" not in model.labels
    assert list(predictions) == list(taught().predict_many(TEXTS))


def test_bad_labels_are_refused_before_anything_is_learnt():
    model = taught()
    before = state_bytes(model)
    for bad in ("oil", 5, {"oil": "yes"}, [None], {""}):
        with pytest.raises(LabelError):
            model.learn("a text", bad)
    assert state_bytes(model) == before


@every_rule
def test_words_of_a_label_predict_it(rule):
    """Words that always go with a label bring it back."""
    model = Clasher(4096, rule=rule)
    topics = {"oil": "crude barrel opec", "grain": "wheat corn harvest", "metal": "gold tin zinc"}
    rng = np.random.default_rng(1)
    for _ in range(60):
        label = rng.choice(list(topics))
        words = rng.choice(topics[label].split(), 3)
        noise = [f"noise{n}" for n in rng.integers(0, 30, 2)]
        model.learn(" ".join([*words, *noise]), {str(label)})
    for label, words in topics.items():
        assert model.predict(words) == {label}
