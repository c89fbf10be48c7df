"""Streams in which documents may carry no label: an empty set, not an unknown one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from clasher import Clasher
from clasher.learning.merge import Sketch
from clasher.runtime import deltas

LINEAR = pytest.mark.parametrize("rule", ["margin", "perceptron"])
NONSENSE = "qwzx vbnmk plokij"
TOPICS = {
    "oil": "crude barrel opec refinery drilling petroleum rig wells",
    "grain": "wheat corn harvest maize silo crop bushel soy",
    "metal": "gold silver copper mine ore zinc smelter ingot",
}


def news(documents: int, empty: float, seed: int = 0) -> tuple[list[str], list[set[str]]]:
    """Stories with one topic each; the given part of them is about something else."""
    draw = random.Random(seed)
    texts, labels = [], []
    for _ in range(documents):
        topic = None if draw.random() < empty else draw.choice(sorted(TOPICS))
        own = TOPICS[topic].split() if topic else [f"other{draw.randrange(200)}" for _ in range(8)]
        common = [f"common{draw.randrange(50)}" for _ in range(6)]
        texts.append(" ".join(draw.choices(own, k=3) + common))
        labels.append({topic} if topic else set())
    return texts, labels


def model_of(rule: str, **settings: Any) -> Clasher:
    return Clasher(**{"dimensions": 2048, "rule": rule, "max_labels": 8, **settings})


def wrong(predicted: Any, labels: list[set[str]]) -> int:
    """Labels that were predicted but false, or true but not predicted."""
    return sum(len(found ^ own) for found, own in zip(predicted, labels, strict=True))


@LINEAR
@pytest.mark.parametrize("empty", [0.5, 0.95])
def test_documents_may_be_without_a_label(rule, empty):
    """Nearly as few errors as with ``at_least_one=False``."""
    texts, labels = news(600, empty)
    learnt, never = model_of(rule), model_of(rule, at_least_one=False)
    errors = wrong(learnt.step_many(texts, labels), labels)
    assert errors <= wrong(never.step_many(texts, labels), labels) + 15
    always = model_of(rule, at_least_one=True)
    assert errors < wrong(always.step_many(texts, labels), labels) / 2
    assert (learnt.predict(NONSENSE), always.predict(NONSENSE) == set()) == (set(), False)


@LINEAR
def test_every_document_gets_a_label_where_every_document_has_one(rule):
    texts, labels = news(400, 0)
    learnt, always = model_of(rule), model_of(rule, at_least_one=True)
    assert list(learnt.step_many(texts, labels)) == list(always.step_many(texts, labels))
    assert learnt.predict(NONSENSE) == always.predict(NONSENSE) != set()


@LINEAR
def test_a_stream_may_change(rule):
    """Labels are no longer given, and are given again."""
    model = model_of(rule)
    model.learn_many(*news(300, 0))
    assert model.predict(NONSENSE)
    model.learn_many(*news(300, 0.9, seed=1))
    assert not model.predict(NONSENSE)
    texts, labels = news(300, 0.9, seed=2)
    never = model_of(rule, at_least_one=False)
    never.learn_many(*news(600, 0.45))
    assert wrong(model.predict_many(texts), labels) <= wrong(never.predict_many(texts), labels) + 10


@LINEAR
def test_labels_that_are_unknown_do_not_make_a_document_empty(rule):
    texts, labels = news(100, 0)
    model = model_of(rule)
    model.learn_many(texts, labels)
    model.learn_many([f"rumours of {n}" for n in range(50)], [{"oil": False}] * 50)
    assert model.predict(NONSENSE)
    every = dict.fromkeys(TOPICS, False)
    model.learn_many([f"rumours of {n}" for n in range(150)], [every] * 150)
    assert not model.predict(NONSENSE)


def test_the_rules_of_the_paper_always_predict_a_label():
    """Its rules always find a label: all documents of a region carry the region's own."""
    texts, labels = news(200, 0.5)
    for rule in ("centroid", "mistake"):
        models = [model_of(rule, at_least_one=each) for each in (None, True, False)]
        found = [list(model.step_many(texts, labels)) for model in models]
        assert found[0] == found[1] == found[2]


@LINEAR
def test_parts_of_a_stream_learn_it_too(rule):
    halves = [model_of(rule) for _ in range(2)]
    for seed, model in enumerate(halves):
        model.learn_many(*news(150, 0.9, seed))
    halves[0].merge(halves[1])
    assert not halves[0].predict(NONSENSE)

    threads = model_of(rule)
    threads.learn_many(*news(300, 0.9), threads=2)
    assert not threads.predict(NONSENSE)

    model = model_of(rule)
    model.learn_many(*news(150, 0))
    assert model.predict(NONSENSE)
    before = Sketch.of(model.state)
    part = deltas.begin(model, before)
    part.learn_many(*news(300, 0.9, seed=1))
    model.add_difference(deltas.difference(part, model, before))
    assert not model.predict(NONSENSE)


@LINEAR
def test_a_model_file_remembers_it(rule, tmp_path):
    model = model_of(rule)
    model.learn_many(*news(200, 0.9))
    model.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert not loaded.predict(NONSENSE)
    texts, labels = news(100, 0.2, seed=3)
    assert list(loaded.step_many(texts, labels)) == list(model.step_many(texts, labels))
