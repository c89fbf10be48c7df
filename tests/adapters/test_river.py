import copy
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import compose, evaluate, feature_extraction, metrics, preprocessing

import clasher.adapters.river as adapter
from clasher import Clasher
from clasher.adapters.river import ClasherClassifier
from clasher.errors import LabelError, MissingExtraError, SettingError, TextError
from tests.adapters.river_streams import Music, news

pytestmark = pytest.mark.compiled

MEASURES = (
    lambda: metrics.multioutput.MicroAverage(metrics.F1()),
    lambda: metrics.multioutput.MacroAverage(metrics.F1()),
    lambda: metrics.multioutput.SampleAverage(metrics.Jaccard()),
    metrics.multioutput.ExactMatch,
)


def learnt(stream, **settings):
    model = ClasherClassifier(1024, **settings)
    for x, y in stream:
        model.learn_one(x, y)
    return model


def test_it_decides_as_the_model_does():
    model, own = ClasherClassifier(1024), Clasher(1024)
    for text, y in news(60):
        if own.labels:
            predicted = own.predict(text)
            assert model.predict_one(text) == {label: label in predicted for label in own.labels}
            scores = model.predict_proba_one(text)
            assert {label: p[True] for label, p in scores.items()} == own.probabilities(text)
            assert all(sum(p.values()) == pytest.approx(1) for p in scores.values())
        model.learn_one(text, y)
        own.learn(text, y)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("delay", [None, 5])
def test_progressive_validation(measure, delay):
    metric = measure()
    evaluate.progressive_val_score(news(150), ClasherClassifier(1024), metric, delay=delay)
    assert metric.get() > 0.8


def test_labels_that_appear_late_count_as_not_predicted():
    stream = [("wheat corn", {"grain": True})] * 3 + [("gold", {"grain": False, "metal": True})]
    metric = metrics.multioutput.PerOutput(metrics.Recall())
    evaluate.progressive_val_score(stream, ClasherClassifier(1024), metric)
    assert metric.get()["metal"].get() == 0.0
    model = learnt(stream[:3])
    assert dict(model.predict_one("gold")) == {"grain": True}
    assert model.predict_proba_one("gold")["metal"] == {False: 1.0, True: 0.0}


def test_a_pipeline_of_texts():
    words = feature_extraction.BagOfWords() | ClasherClassifier(1024, weighting="tfidf", tf="log")
    metric = metrics.multioutput.MicroAverage(metrics.F1())
    evaluate.progressive_val_score(news(150), words, metric)
    assert metric.get() > 0.8
    assert words.clone()["ClasherClassifier"].tf == "log"


def test_numbers_are_learnt():
    metric = metrics.multioutput.MicroAverage(metrics.F1())
    model = preprocessing.StandardScaler() | ClasherClassifier(1024)
    evaluate.progressive_val_score(Music().take(300), model, metric)
    assert metric.get() > 0.9


def test_counts_of_words_are_the_text():
    plain = {"weighting": "tfidf", "tf": "log", "rule": "centroid"}
    texts, counts = ClasherClassifier(1024, **plain), ClasherClassifier(1024, **plain)
    bag = feature_extraction.BagOfWords()
    for text, y in news(80):
        assert counts.predict_one(bag.transform_one(text)) == texts.predict_one(text)
        texts.learn_one(text, y)
        counts.learn_one(bag.transform_one(text), y)


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist, list])
def test_many_is_one_by_one(as_frame):
    stream = list(Music().take(80))
    one = learnt(stream[:60])
    many = ClasherClassifier(1024)
    for start in (0, 25):
        part = stream[start : start + 35][: 60 - start] if start else stream[:25]
        many.learn_many(as_frame([x for x, _ in part]), as_frame([y for _, y in part]))
    assert pickle.dumps(many) == pickle.dumps(one)
    X = as_frame([x for x, _ in stream[60:]])
    expected = [dict(one.predict_one(x)) for x, _ in stream[60:]]
    predicted, probable = many.predict_many(X), many.predict_proba_many(X)
    if isinstance(X, pd.DataFrame):
        assert predicted.index.equals(X.index)
        predicted, probable = predicted.to_dict("records"), probable.to_dict("records")
    elif isinstance(X, pl.DataFrame):
        predicted, probable = predicted.to_dicts(), probable.to_dicts()
    assert predicted == expected
    for row, (x, _) in zip(probable, stream[60:], strict=True):
        assert {name: p[True] for name, p in one.predict_proba_one(x).items()} == row


@pytest.mark.parametrize("column", [list, pd.Series, pl.Series, pa.array])
def test_columns_of_texts(column):
    stream = list(news(40))
    one = learnt(stream)
    many = ClasherClassifier(1024)
    many.learn_many(column([x for x, _ in stream]), [y for _, y in stream])
    assert pickle.dumps(many) == pickle.dumps(one)
    assert len(many.predict_many(column([x for x, _ in stream]))) == 40


def test_a_pipeline_of_batches():
    stream = list(Music().take(50))
    frame = pd.DataFrame([x for x, _ in stream], index=range(100, 150))
    model = compose.Pipeline(preprocessing.StandardScaler(), ClasherClassifier(1024))
    model.learn_many(frame, pd.DataFrame([y for _, y in stream]))
    predicted = model["ClasherClassifier"].predict_many(
        model["StandardScaler"].transform_many(frame)
    )
    assert predicted.shape == (50, 6)
    assert predicted.index.tolist() == frame.index.tolist()


def test_an_unfitted_classifier_predicts_nothing():
    model = ClasherClassifier(1024)
    assert model.predict_one("wheat") == {}
    assert model.predict_proba_one({"wheat": 1}) == {}
    assert model.predict_many(["wheat", "corn"]) == [{}, {}]
    model.learn_many([], [])
    assert model.model.documents == 0
    model.learn_one("wheat", None)
    assert (model.model.documents, model.predict_one("wheat")) == (1, {})


def test_copies_are_independent():
    model = learnt(news(30), words=True)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        before = pickle.dumps(model)
        assert pickle.dumps(other) == before
        other.learn_one("wheat", {"grain": True})
        assert pickle.dumps(model) == before
        assert other.model.documents == 31
    assert model.clone().model.documents == 0


def test_integers_for_labels():
    model = learnt([("wheat", {1: True, 20: False}), ("gold", {1: False, 20: True})] * 5)
    assert model.predict_one("wheat") == {1: True, 20: False}
    assert pickle.loads(pickle.dumps(model)).predict_one("gold") == {1: False, 20: True}
    assert model.predict_many(pd.Series(["gold"])).columns.tolist() == [1, 20]


def test_labels_that_are_not_named_or_not_known_stay_unknown():
    own = Clasher(1024)
    own.learn_many(["wheat", "gold", "oil"], [{"grain": True}, {"metal": True}, {"grain", "oil"}])
    model = ClasherClassifier(1024)
    frame = pd.DataFrame([{"grain": 1.0, "metal": None}, {"grain": None, "metal": 1.0}])
    model.learn_many(["wheat", "gold"], frame)
    model.learn_one("oil", {"grain", "oil"})
    assert model.model.probabilities("wheat gold") == own.probabilities("wheat gold")


@pytest.mark.parametrize(
    ("y", "problem"),
    [
        ({"grain": True, 3: False}, "label 3 is not text, as those before it"),
        ({"grain", 3.5}, r"a label must be text or an integer. Got 3.5"),
        ({"grain": "yes"}, "label 'grain' must be True, False or None"),
        ({True: True}, "a label must be text or an integer. Got True"),
        ("grain", "labels must be a mapping, a set or None. Got 'grain'"),
        ({1: True}, "label 1 is not text, as those before it; use str"),
    ],
)
def test_bad_labels_are_refused(y, problem):
    model = learnt([("wheat", {"grain": True})])
    before = pickle.dumps(model)
    with pytest.raises(LabelError, match=problem) as caught:
        model.learn_one("corn", y)
    assert "\n" not in str(caught.value)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("first", "then", "problem"),
    [
        ("wheat", {"wheat": 1}, "document 0 must be text, as the first one. Got dict instead."),
        ({"wheat": 1}, "wheat", "document 0 must be a mapping, as the first one."),
        ({"wheat": 1}, {"wheat": [1]}, "feature 'wheat' must be a number, text or None. Got list"),
        ({"wheat": 1}, {"wheat": float("inf")}, "must be a number of 32 bits at most, and finite"),
    ],
)
def test_documents_of_another_kind(first, then, problem):
    model = learnt([(first, {"grain": True})])
    for call in (model.predict_one, model.predict_proba_one):
        with pytest.raises(TextError, match=problem):
            call(then)
    with pytest.raises(TextError, match=problem):
        model.learn_one(then, {"grain": True})


def test_a_bad_batch_is_refused():
    with pytest.raises(TextError, match="a batch must be a data frame, a column or a list"):
        ClasherClassifier().learn_many("wheat", [{"grain"}])


def test_settings_are_checked_at_once():
    with pytest.raises(SettingError, match="The 'dimensions' parameter of Clasher must be"):
        ClasherClassifier(dimensions=0)
    with pytest.raises(SettingError, match="The 'weighting' parameter"):
        ClasherClassifier(weighting="heavy")


@pytest.mark.parametrize("found", ["0.15.0", "0.21.2"])
def test_an_old_river_is_refused(monkeypatch, found):
    monkeypatch.setattr(adapter, "version", lambda library: found)
    with pytest.raises(MissingExtraError, match=f"River {found} is too old, 0.22 is needed: pip"):
        adapter.check_river()


@pytest.mark.parametrize("found", ["0.22.0", "0.100.1", "1.0"])
def test_a_recent_river_is_accepted(monkeypatch, found):
    monkeypatch.setattr(adapter, "version", lambda library: found)
    adapter.check_river()


def test_spellings_of_a_name_are_one_label():
    model = ClasherClassifier(dimensions=1024)
    for name in ("\u00c9", "E\u0301", " \u00c9\u200b"):
        model.learn_one("oil prices", {name: True})
    assert list(model.predict_one("oil prices")) == ["\u00c9"]
    with pytest.raises(LabelError, match="True and False"):
        model.learn_one("oil prices", {"oil": True, "oil ": False})
