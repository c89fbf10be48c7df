"""ClasherClassifier agrees with its model."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from clasher import Analyzer, Clasher
from clasher.adapters.sklearn import ClasherClassifier, HashedTfidfVectorizer
from clasher.errors import LabelCapacityError, LabelError, SettingError, TextError
from tests.strategies import any_labels, rules, text, words

M = 64
NEWS = ["wheat and corn", "crude oil", "corn harvest", "oil and gas"] * 6
TOPICS = ["grain", "fuel", "grain", "fuel"] * 6
SETS = [{"grain", "wheat"}, {"fuel"}, {"grain"}, {"fuel", "gas"}] * 6
streams = st.lists(st.tuples(words, any_labels), min_size=1, max_size=20)


def matrix_of(sets):
    return MultiLabelBinarizer().fit_transform(sets)


# ── what it learns is what the model learns ──────────────────────────────────────────────────


@given(streams, rules)
def test_on_text_it_is_the_model(stream, rule):
    texts, labels = [text(document) for document, _ in stream], [own for _, own in stream]
    model = Clasher(M, rule=rule, max_labels=8)
    model.learn_many(texts, labels)
    classifier = ClasherClassifier(M, rule=rule, max_labels=8).fit(texts, labels)
    assert classifier.classes_.tolist() == sorted(model.labels)
    assert classifier.predict(texts).tolist() == list(model.predict_many(texts))
    columns = [model.labels.index(label) for label in classifier.classes_]
    expected = model.probabilities_many(texts)[:, columns]
    np.testing.assert_array_equal(classifier.predict_proba(texts), expected)
    decisions = classifier.decision_function(texts) > 0
    chosen = [set(classifier.classes_[row]) for row in decisions]
    assert chosen == list(model.predict_many(texts))


@given(streams)
def test_on_its_vectors_it_agrees_with_the_model_on_texts(stream):
    """Equal up to rounding: sums have another order."""
    texts, labels = [text(document) for document, _ in stream], [own for _, own in stream]
    how = {"norm": "none", "weighting": "tf"}
    model = Clasher(4096, max_labels=8, **how)
    model.learn_many(texts, labels)
    vectorizer = HashedTfidfVectorizer(4096, lead=True, analyzer=Analyzer.rich(), **how)
    classifier = ClasherClassifier(norm="none", max_labels=8)
    classifier.partial_fit(vectorizer.partial_fit_transform(texts), labels)
    found = classifier.predict_proba(vectorizer.transform(texts))
    columns = [model.labels.index(label) for label in classifier.classes_]
    np.testing.assert_allclose(found, model.probabilities_many(texts)[:, columns], atol=1e-4)


def test_a_pipeline_learns_a_stream_as_the_model_does():
    model = Clasher(4096, max_labels=8)
    model.learn_many(NEWS, SETS)
    vectorizer = HashedTfidfVectorizer(4096, lead=True, analyzer=Analyzer.rich())
    classifier = ClasherClassifier(max_labels=8)
    for start in range(0, len(NEWS), 5):
        part = slice(start, start + 5)
        classifier.partial_fit(vectorizer.partial_fit_transform(NEWS[part]), SETS[part])
    found = classifier.predict(vectorizer.transform(NEWS))
    assert found.tolist() == list(model.predict_many(NEWS))


@pytest.mark.parametrize("norm", ["l2", "none"])
def test_dense_and_sparse_are_the_same(norm):
    X = np.random.default_rng(0).normal(size=(50, 6)) * (np.arange(300).reshape(50, 6) % 3 > 0)
    y = (X.sum(axis=1) > 0).astype(int)
    scores = [
        ClasherClassifier(norm=norm).fit(form, y).predict_proba(form)
        for form in (X, csr_matrix(X), pd.DataFrame(X, columns=list("abcdef")))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


# ── the forms of y ───────────────────────────────────────────────────────────────────────────


def test_one_label_per_document():
    classifier = ClasherClassifier(M).fit(NEWS, TOPICS)
    assert classifier.predict(["corn", "oil"]).tolist() == ["grain", "fuel"]
    np.testing.assert_allclose(classifier.predict_proba(NEWS).sum(axis=1), 1.0)
    assert classifier.decision_function(["corn", "oil"]).shape == (2,)
    assert (classifier.decision_function(["corn", "oil"]) > 0).tolist() == [True, False]
    assert classifier.score(NEWS, TOPICS) == 1.0


def test_labels_that_appear_later():
    classifier = ClasherClassifier(M).partial_fit(NEWS, TOPICS)
    classifier.partial_fit(["gold and silver"] * 6, ["metal"] * 6)
    assert classifier.classes_.tolist() == ["fuel", "grain", "metal"]
    assert classifier.predict(["silver", "corn"]).tolist() == ["metal", "grain"]
    assert classifier.decision_function(["silver"]).shape == (1, 3)
    declared = ClasherClassifier(M).partial_fit(NEWS, TOPICS, classes=["metal", "fuel", "grain"])
    assert declared.classes_.tolist() == ["fuel", "grain", "metal"]
    assert declared.predict_proba(["silver"])[0, 2] < 1e-30


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, lambda y: np.asarray(y).tolist()])
def test_indicator_matrices(form):
    y = matrix_of(SETS)
    classifier = ClasherClassifier(M).fit(NEWS, form(y))
    found = classifier.predict(NEWS)
    assert issparse(found) == issparse(form(y))
    dense = found.toarray() if issparse(found) else found
    np.testing.assert_array_equal(dense, y)
    np.testing.assert_array_equal(classifier.decision_function(NEWS) > 0, y)
    assert classifier.score(NEWS, y) == 1.0
    wider = np.hstack([y, np.ones((len(y), 1), int)])
    assert classifier.partial_fit(NEWS, wider).classes_.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(LabelError, match="y has 4 columns, and had 5 before"):
        classifier.partial_fit(NEWS, y)


def test_sets_of_labels():
    classifier = ClasherClassifier(M).fit(NEWS, SETS)
    assert classifier.predict(NEWS[:4]).tolist() == SETS[:4]
    assert classifier.score(NEWS, SETS) == 1.0
    assert classifier.score(NEWS[:2], [{"fuel"}, {"fuel"}], sample_weight=[1, 3]) == 0.75
    as_lists = ClasherClassifier(M).fit(NEWS, [sorted(own) for own in SETS])
    np.testing.assert_array_equal(as_lists.predict_proba(NEWS), classifier.predict_proba(NEWS))
    numbers = [{len(label) for label in own} for own in SETS]
    assert ClasherClassifier(M).fit(NEWS, numbers).predict(NEWS).tolist() == numbers
    partial = ClasherClassifier(M).fit(NEWS[:3], [{"grain": True, "gas": False}, None, {"grain"}])
    assert partial.classes_.tolist() == ["gas", "grain"]


# ── what is refused ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (["a", 1, "b", 2], "labels must be of one kind. Got text .* and integers"),
        ([{"a"}, {1}, {"b"}, {2}], "labels must be of one kind. Got text .* and integers"),
        ([{"a"}, "b", {"a"}, {"b"}], "'b' among sets; write {'b'}"),
        ([[0, 2], [1, 0], [1, 0], [1, 1]], "Unknown label type: a matrix of labels"),
        ([0.5, 1.5, 2.5, 3.5], "Unknown label type"),
        (["a", "b"], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_are_refused(y, what):
    with pytest.raises(ValueError, match=what):
        ClasherClassifier(M).fit(NEWS[:4], y)


def test_labels_of_another_kind_than_before():
    classifier = ClasherClassifier(M).fit(NEWS, TOPICS)
    with pytest.raises(LabelError, match=r"labels were text so far .* now are integers"):
        classifier.partial_fit(NEWS[:2], [1, 2])
    with pytest.raises(LabelError, match="y is sets of labels, and was one label per document"):
        classifier.partial_fit(NEWS[:2], [{"grain"}, {"fuel"}])
    assert classifier.model_.documents == len(NEWS)


def test_wrong_use_is_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ClasherClassifier().predict(NEWS)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ClasherClassifier().score(NEWS, SETS)
    with pytest.raises(SettingError, match="'epochs' parameter of ClasherClassifier"):
        ClasherClassifier(epochs=0).fit(NEWS, TOPICS)
    with pytest.raises(SettingError, match="'rule' parameter"):
        ClasherClassifier(rule="guess").fit(NEWS, TOPICS)
    with pytest.raises(SettingError, match="must be one of 'text', the columns of X"):
        ClasherClassifier(column="body").fit(pd.DataFrame({"text": NEWS}), TOPICS)
    with pytest.raises(TextError, match=r"fitted with 2 features\. Got text"):
        ClasherClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1]).predict(["corn"])
    with pytest.raises(LabelCapacityError, match="max_labels is 1"):
        ClasherClassifier(M, max_labels=1).fit(NEWS, TOPICS)


# ── in company ───────────────────────────────────────────────────────────────────────────────


def test_pipelines_cross_validation_and_searches():
    pipeline = make_pipeline(HashedTfidfVectorizer(512), ClasherClassifier())
    assert pipeline.fit(NEWS, TOPICS).score(NEWS, TOPICS) == 1.0
    assert cross_val_score(pipeline, NEWS, TOPICS, cv=3).mean() == 1.0
    assert cross_val_score(ClasherClassifier(M), NEWS, SETS, cv=3).mean() == 1.0
    assert cross_val_predict(pipeline, NEWS, SETS, cv=3).tolist() == SETS
    search = GridSearchCV(
        pipeline,
        {
            "hashedtfidfvectorizer__dimensions": np.array([2, 512]),
            "hashedtfidfvectorizer__analyzer": [None, Analyzer.rich()],
            "clasherclassifier__rule": ["margin", "centroid"],
        },
        cv=2,
    ).fit(NEWS, TOPICS)
    assert search.best_params_["hashedtfidfvectorizer__dimensions"] == 512
    chain = ClassifierChain(ClasherClassifier()).fit(np.eye(4), np.eye(4, dtype=int))
    assert chain.predict(np.eye(4)).shape == (4, 4)


def test_clones_are_unfitted_and_pickles_go_on():
    classifier = ClasherClassifier(M, words=True, analyzer=Analyzer.rich()).fit(NEWS, SETS)
    assert not hasattr(clone(classifier), "model_")
    assert clone(classifier).get_params() == classifier.get_params()
    back = pickle.loads(pickle.dumps(classifier))
    for one in (classifier, back):
        one.partial_fit(["gold and silver"], [{"metal"}])
    np.testing.assert_array_equal(back.predict_proba(NEWS), classifier.predict_proba(NEWS))
    assert back.model_.top_words("grain") == classifier.model_.top_words("grain")


def test_a_detector_watches_features_too():
    X = np.random.default_rng(0).normal(size=(4000, 5))
    y = (X[:, 0] > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    classifier = ClasherClassifier(detector="window").fit(X, y)
    assert classifier.model_.alarms


def test_spellings_of_a_name_are_one_class():
    texts = ["oil prices", "gold prices", "oil rises"]
    model = ClasherClassifier(dimensions=1024).fit(texts, ["oil", "gold", "oil "])
    assert model.classes_.tolist() == ["gold", "oil"]
    model = ClasherClassifier(dimensions=1024).fit(
        texts, [{"oil"}, {"E\u0301"}, {"\u00c9", "oil "}]
    )
    assert model.classes_.tolist() == ["oil", "\u00c9"]
    with pytest.raises(LabelError, match="visible"):
        ClasherClassifier(dimensions=1024).fit(texts, ["oil", "gold", "\u200b"])
