import numba
import numpy as np
import pytest
from hypothesis import example, given, settings

from clasher import Analyzer, Clasher
from clasher.errors import LabelError
from support.reference import plain
from tests import strategies
from tests.models import RULES, TEXTS, UNSEEN, taught

EXAMPLES = settings(max_examples=15 if numba.config.DISABLE_JIT else 60)
LINEAR = ("margin", "perceptron")

every_rule = pytest.mark.parametrize("rule", RULES)


def total(explanation):
    return sum(weight for _, weight in explanation.words) + sum(explanation.other.values())


def check(model, text, label):
    """Check what holds for every explanation."""
    explanation = model.explain(text, label)
    probability = model.probabilities(text)[label]
    assert explanation.label == label
    assert explanation.predicted == (label in model.predict(text))
    assert explanation.probability == pytest.approx(probability, abs=1e-6)
    assert total(explanation) == pytest.approx(explanation.evidence, abs=1e-4, rel=1e-4)
    if model.settings.rule in LINEAR:
        assert 1 / (1 + np.exp(-explanation.evidence)) == pytest.approx(probability, abs=1e-6)
    else:
        assert explanation.evidence == explanation.similarity
        assert explanation.other == {}
    if model.settings.rule == "perceptron":
        assert (explanation.region, explanation.similarity) == (None, 0.0)
    elif explanation.region is not None:
        assert explanation.region in model.labels
        assert -1 - 1e-6 <= explanation.similarity <= 1 + 1e-6
    weights = [abs(weight) for _, weight in explanation.words]
    assert weights == sorted(weights, reverse=True)
    words = model._hasher.words(text)
    assert {word for word, _ in explanation.words} == {word.text for word in words}


@every_rule
@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_the_parts_make_the_evidence(rule, similarity):
    model = taught(rule, similarity=similarity)
    for text in TEXTS + UNSEEN:
        for label in model.labels:
            check(model, text, label)


RAW = {"weighting": "tf", "similarity": "cosine", "tf": "count", "norm": "l2"}


@every_rule
@given(strategies.streams(max_size=12), strategies.settings(), strategies.words)
@example([([1, 1, 1, 21], {"ale"})], RAW, [0, 0, 0, 1, 2])  # a cosine that is but rounding
@EXAMPLES
def test_the_parts_make_the_evidence_where_words_collide(rule, stream, how, words):
    model = Clasher(8, rule=rule, max_labels=8, **how)
    for own, labels in stream:
        model.learn(strategies.text(own), labels)
    for label in model.labels:
        check(model, strategies.text(words), label)


@every_rule
def test_the_best_label_is_explained_by_default(rule):
    model = taught(rule, times=8)
    for text in TEXTS + UNSEEN:
        explanation = model.explain(text)
        assert model.probabilities(text)[explanation.label] == max(
            model.probabilities(text).values()
        )
        assert explanation.predicted == bool(model.predict(text))


@every_rule
def test_a_label_without_a_document_is_not_the_best(rule):
    model = Clasher(64, rule=rule, max_labels=4)
    model.learn("wheat", {"ghost": False, "oil": True})
    assert model.labels == ["ghost", "oil"]
    assert model.explain("").label == "oil"
    assert model.explain("unheard of").label == "oil"
    assert model.explain("wheat", "ghost").label == "ghost"


@pytest.mark.parametrize("rule", ["margin", "centroid", "mistake"])
def test_the_region_is_the_nearest_prototype(rule):
    model = taught(rule)
    explanation = model.explain("gold mine", "oil")
    assert explanation.region == "gold"
    assert explanation.similarity > 0.5


def test_words_speak_for_and_against():
    model = taught("margin", times=20)
    words = dict(model.explain("wheat harvest of crude oil", "oil").words)
    assert words["oil"] > 0 > words["wheat"]
    assert model.explain("oil oil and", "oil").words[0].word == "oil"


def test_the_bias_and_the_region_are_not_words():
    explanation = taught("margin").explain("oil prices", "oil")
    assert explanation.other.keys() == {"bias", "region", "other labels"}
    assert taught("perceptron").explain("oil prices", "oil").other.keys() == {"bias"}


@every_rule
@pytest.mark.parametrize("text", ["", "\0 !", "x"])
def test_a_text_without_words(rule, text):
    explanation = taught(rule, analyzer=Analyzer()).explain(text, "oil")
    assert explanation.words == []
    assert explanation.region is None
    assert explanation.similarity == 0.0
    assert not explanation.predicted


def test_words_of_one_bucket_share_by_their_signed_counts():
    vocabulary = [f"word{i}" for i in range(40)]
    places = {word: plain.place(word, 0, 8) for word in vocabulary}
    one, other = next(
        (a, b)
        for a in vocabulary for b in vocabulary
        if a != b and places[a] == places[b]
    )  # fmt: skip
    against = next(w for w in vocabulary if places[w] == (places[one][0], -places[one][1]))
    model = Clasher(8, max_labels=2, analyzer=Analyzer())
    model.learn("something else", {"other"})
    for _ in range(3):
        model.learn(f"{one} text", {"mine"})
        model.learn("something else", {"other"})
    alone = dict(model.explain(f"{one} {one} {one}", "mine").words)[one]
    shared = dict(model.explain(f"{one} {one} {other}", "mine").words)
    assert alone != 0
    assert shared[one] == pytest.approx(2 / 3 * alone)
    assert shared[other] == pytest.approx(1 / 3 * alone)
    opposed = dict(model.explain(f"{one} {one} {against}", "mine").words)
    assert opposed[one] == pytest.approx(-2 * opposed[against])
    assert dict(model.explain(f"{one} {against}", "mine").words) == {one: 0.0, against: 0.0}


def test_an_unknown_label_suggests_the_near_one():
    model = taught()
    with pytest.raises(
        LabelError, match=r"^the model knows no label 'gian'; did you mean 'grain'\?"
    ):
        model.explain("oil", "gian")
    with pytest.raises(LabelError, match=r"^the model knows no label 'quartz'$"):
        model.explain("oil", "quartz")


def test_there_is_nothing_to_explain_before_the_first_label():
    with pytest.raises(LabelError, match="the model knows no label"):
        Clasher(16, max_labels=2).explain("oil")


def test_huge_evidence_does_not_overflow():
    model = Clasher(16, rule="perceptron", tf="count", norm="none", weighting="tf", max_labels=2)
    model.learn("oil " * 100, {"oil"})
    assert model.explain("oil " * 1000, "oil").probability == 1.0
    model.learn("oil " * 300, set())
    explanation = model.explain("oil " * 1000, "oil")
    assert explanation.evidence < -1000
    assert explanation.probability == model.probabilities("oil " * 1000)["oil"] == 0.0


def test_shown_as_text():
    model = taught("centroid")
    lines = str(model.explain("gold mine", "gold")).splitlines()
    assert lines[0].startswith("gold: predicted, probability 1.000, evidence +0.")
    assert [line.split()[-1] for line in lines[1:]] == [
        word for word, _ in model.explain("gold mine", "gold").words
    ]
    margin = str(taught("margin").explain("gold mine", "oil"))
    assert margin.startswith("oil: not predicted, probability 0.")
    assert "(bias)" in margin
    assert "(region)" in margin
    assert "no region" in str(taught("perceptron").explain("gold", "oil"))


@pytest.mark.parametrize("text", [None, 5, ["oil"]])
def test_only_text_is_explained(text):
    with pytest.raises(TypeError, match="a document must be text"):
        taught(times=1).explain(text)


def test_spans_show_the_words_where_they_are_written():
    model = taught()
    text = "Öl, OIL and wheat; oil again"
    explanation = model.explain(text, "oil")
    assert explanation.spans == sorted(explanation.spans)
    assert "OIL" in {text[span.start : span.stop] for span in explanation.spans}
    spoken = sum(span.evidence for span in explanation.spans)
    assert spoken == pytest.approx(sum(weight for _, weight in explanation.words))
