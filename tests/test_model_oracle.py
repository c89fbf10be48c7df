"""The model against the oracle: the same predictions, scores and state after every document."""

from __future__ import annotations

import functools
import random
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from clasher import Analyzer, Clasher
from clasher.kernels import margin, sketch
from clasher.kernels.state import BINS, RULES
from clasher.learning.memory import values
from support.reference import plain
from support.reference.margin import LearntThreshold, MarginClasher, Tuning, reference
from support.reference.near_ties import gap
from support.reference.paper import (
    LearntFloor,
    LinearClasher,
    PerceptronClasher,
    Reference,
    sigmoid,
)
from tests import strategies
from tests.models import state_bytes

SHARP = 1e-3  # decisions closer than this are left to single precision
EXAMPLES = settings(deadline=None, max_examples=20 if numba.config.DISABLE_JIT else 150)
TUNING = {
    "step": float(margin.STEP),
    "floor": float(margin.FLOOR),
    "cut": margin.SLACK,
    "rare": margin.RARE,
    "bias_step": margin.BIAS_STEP,
    "bias_floor": margin.BIAS_FLOOR,
    "bias_start": margin.BIAS_START,
    "shared_step": margin.SHARED_STEP,
    "shared_floor": margin.SHARED_FLOOR,
    "shared_start": margin.SHARED_START,
    "lead_end": len(sketch.LEAD),
    "lowest": margin.LOWEST,
    "highest": margin.LOWEST + (BINS - 2) * margin.BIN,
    "bin_width": margin.BIN,
    "period": margin.EVERY,
    "early": margin.EARLY,
    "fade": margin.FADE,
    "odds_start": margin.ODDS_START,
    "odds_trust": margin.ODDS_TRUST,
    "odds_steps": margin.ODDS_STEPS,
    "least_slope": margin.LEAST_SLOPE,
}
"""The margin rule's constants as they are tuned: its equations are what is compared."""
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


@functools.cache
def vocabulary(dimensions: int, words: int, depth: int) -> list[tuple[int, ...]]:
    """Bucket and sign of each word number, from hashing the words alone, and further cells."""
    texts = [strategies.text([word]) for word in range(words)]
    hashed = Clasher(dimensions, max_labels=1).hash_many(texts)
    assert np.array_equal(hashed.indptr, np.arange(words + 1))
    rows = [
        [plain.row_bucket(text, row, 0, dimensions) for text in texts] for row in range(1, depth)
    ]
    signs = hashed.counts.astype(int).tolist()
    return list(zip(hashed.buckets.tolist(), signs, *rows, strict=True))


class Twins:
    """A model and its oracle, shown the same documents."""

    def __init__(
        self, rule: str, dimensions: int = strategies.BUCKETS, words: int = strategies.WORDS,
        **how: Any,
    ) -> None:  # fmt: skip
        self.model = Clasher(dimensions, rule=rule, max_labels=16, analyzer=Analyzer(), **how)
        self.oracle = reference(rule, **how, **(TUNING if rule == "margin" else {}))
        self.vocabulary = vocabulary(dimensions, words, how.get("depth", 1))

    def hashed(self, words: list[int]) -> list[tuple[int, ...]]:
        return [self.vocabulary[word] for word in words]

    def is_sharp(self, words: list[int]) -> bool:
        """Whether no decision on the document hangs on rounding."""
        return gap(self.oracle, self.hashed(words)) > SHARP

    def predict_alike(self, words: list[int]) -> None:
        text, document = strategies.text(words), self.hashed(words)
        assert self.model.labels == self.oracle.labels
        assert self.model.predict(text) == self.oracle.predict(document)
        assert self.model.probabilities(text) == pytest.approx(
            self.oracle.probabilities(document), rel=1e-3, abs=1e-4
        )

    def step_alike(self, words: list[int], labels: Any) -> None:
        predicted = self.model.step_many([strategies.text(words)], [labels])
        assert predicted[0] == self.oracle.step(self.hashed(words), labels)

    def check_state(self) -> None:
        check_counters(self.model, self.oracle)
        if self.oracle.classes is not None:
            check_classes(self.model, self.oracle)
        if isinstance(self.oracle, LinearClasher):
            check_weights(self.model, self.oracle)
            check_bests(self.model, self.oracle)
        if not isinstance(self.oracle, PerceptronClasher):
            check_regions(self.model, self.oracle)
        if isinstance(self.oracle, MarginClasher):
            check_shared(self.model, self.oracle)


def table(oracle: Reference, vectors: dict[str, dict[int, float]], dimensions: int) -> np.ndarray:
    """Sparse vectors by label → an array [bucket, label]."""
    out = np.zeros((dimensions, len(oracle.labels)))
    for j, label in enumerate(oracle.labels):
        for k, value in vectors[label].items():
            out[k, j] = value
    return out


def check_counters(model: Clasher, oracle: Reference) -> None:
    assert (model.documents, model.labelled) == (oracle.sketch.n, oracle.labelled)
    C = [[row[k] for k in range(model.settings.dimensions)] for row in oracle.sketch.rows]
    assert model.state.frequencies.tolist() == C
    n = [oracle.documents_of(j) for j in oracle.labels]
    assert model.state.counts[: len(n)].tolist() == n
    assert model.state.clock.tolist() == [oracle.sketch.n, 1.0]


def check_classes(model: Clasher, oracle: Reference) -> None:
    """A_k and N_k exactly, whatever the rule fed; and what is kept of them."""
    labels, state, classes = oracle.labels, model.state, oracle.classes
    buckets = range(model.settings.dimensions)
    A = [[classes.with_both[k][j] for j in labels] for k in buckets]
    np.testing.assert_array_equal(values(state, "classes", len(labels))[0], A)
    N = [classes.with_label[j] for j in labels]
    np.testing.assert_array_equal(state.members[:, : len(labels)], [N, N])
    assert state.terms[0].tolist() == [classes.with_word[k] for k in buckets]
    log = classes.weighting not in (
        "icf",
        "icsdf",
    )  # which keep the factor, the model what is in it
    kept = [classes.kept.get(k, float(log)) - log for k in buckets]
    np.testing.assert_allclose(state.terms[1], kept, rtol=1e-9, atol=1e-9)


def check_regions(model: Clasher, oracle: Reference) -> None:
    labels, state = oracle.labels, model.state
    n = np.maximum(state.counts[: len(labels)], 1)
    p = table(oracle, oracle.regions.p, model.settings.dimensions)
    sums = values(state, "rows", len(labels))[0]
    np.testing.assert_allclose(sums / n, p, **TOLERANCE)
    F = [[float(oracle.regions.F[i, j]) for j in labels] for i in labels]
    together = values(state, "together", len(labels))[0, : len(labels)] / n[:, None]
    np.testing.assert_allclose(together, np.reshape(F, together.shape), **TOLERANCE)


def check_weights(model: Clasher, oracle: LinearClasher) -> None:
    labels, state = oracle.labels, model.state
    w = table(oracle, oracle.w, model.settings.dimensions)
    np.testing.assert_allclose(values(state, "rows", len(labels))[-1], w, **TOLERANCE)
    b = [oracle.b[j] for j in labels]
    np.testing.assert_allclose(state.bias[0, : len(labels)], b, **TOLERANCE)


def check_bests(model: Clasher, oracle: LinearClasher) -> None:
    if oracle.at_least_one is not None:  # the floor is not used, and near ties may differ
        return
    empty, true = model.state.bests
    assert (empty.tolist(), true.tolist()) == (oracle.best.empty, oracle.best.true)
    assert model.state.floor[0] == pytest.approx(oracle.best.value)


def check_shared(model: Clasher, oracle: MarginClasher) -> None:
    labels, state = oracle.labels, model.state
    buckets = range(model.settings.dimensions)
    G = [oracle.G.get(k, 0.0) for k in buckets]
    np.testing.assert_allclose(state.squares, G, **TOLERANCE)
    Gb = [oracle.Gb[j] for j in labels]
    np.testing.assert_allclose(state.bias[1, : len(labels)], Gb, **TOLERANCE)
    np.testing.assert_allclose(state.shared, [oracle.a, oracle.Ga], **TOLERANCE)


def check_margins(model: Clasher, oracle: MarginClasher) -> None:
    """The histograms, up to a handful of scores that round into the next bin."""
    false, true = model.state.margins
    np.testing.assert_allclose(np.cumsum(true), np.cumsum(oracle.learnt.true), atol=2)
    np.testing.assert_allclose(
        np.cumsum(false[:0:-1]), np.cumsum(oracle.learnt.false[:0:-1]), atol=2
    )


@pytest.mark.parametrize("rule", RULES)
@given(strategies.streams(), strategies.settings())
@EXAMPLES
def test_model_equals_oracle(rule, stream, how):
    twins = Twins(rule, **how)
    followed = 0
    for words, labels in stream:
        if not twins.is_sharp(words):
            break
        twins.predict_alike(words)
        twins.step_alike(words, labels)
        twins.check_state()
        followed += 1
    event(f"followed to the end: {followed == len(stream)}")


@pytest.mark.parametrize("rule", RULES)
@given(strategies.streams(), strategies.deep_settings())
@EXAMPLES
def test_model_with_a_deep_sketch_equals_oracle(rule, stream, how):
    twins = Twins(rule, **how)
    for words, labels in stream:
        if not twins.is_sharp(words):
            break
        twins.predict_alike(words)
        twins.step_alike(words, labels)
        twins.check_state()


@pytest.mark.parametrize("rule", RULES)
@given(
    strategies.streams(),
    strategies.settings(),
    st.sampled_from([0.1, 0.3, 0.7, 0.9]),
    st.sampled_from([True, False, None]),
)
@EXAMPLES
def test_model_equals_oracle_at_any_threshold(rule, stream, how, threshold, at_least_one):
    twins = Twins(rule, threshold=threshold, at_least_one=at_least_one, **how)
    for words, labels in stream:
        if not twins.is_sharp(words):
            break
        twins.step_alike(words, labels)
    twins.check_state()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("weighting", strategies.WEIGHTINGS)
def test_model_equals_oracle_on_a_longer_stream(rule, similarity, weighting):
    """Enough words that near ties are rare: most of the stream is followed."""
    twins = Twins(rule, dimensions=256, words=200, similarity=similarity, weighting=weighting)
    draw = random.Random(f"{rule} {similarity} {weighting}")
    sharp = 0
    for words, labels in topical_stream(draw, documents=120):
        if not twins.is_sharp(words):
            continue
        twins.predict_alike(words)
        twins.step_alike(words, labels)
        sharp += 1
    twins.check_state()
    assert sharp > 50


@pytest.mark.compiled
def test_threshold_is_learnt_as_in_the_oracle():
    twins = Twins("margin", dimensions=256, words=200)
    draw = random.Random(3)
    cuts = set()
    for words, labels in topical_stream(draw, documents=4200):
        twins.step_alike(words, labels)
        learnt = twins.oracle.learnt
        assert twins.model.threshold == pytest.approx(
            sigmoid(learnt.log_odds(learnt.value)), abs=1e-3
        )
        cuts.add(round(twins.model.threshold, 6))
    check_margins(twins.model, twins.oracle)
    assert len(cuts) > 2


histograms = st.lists(st.integers(0, 3), min_size=BINS, max_size=BINS)


@given(true=histograms, false=histograms)
@EXAMPLES
def test_best_edge_equals_oracle(true, false):
    oracle = LearntThreshold(Tuning(**TUNING))
    oracle.true, oracle.false = [float(count) for count in true], [float(count) for count in false]
    best = margin.best_cut(np.array([false, true], np.float64), oracle.value)
    oracle.choose()
    assert best == pytest.approx(oracle.value, abs=1e-9)


@given(true=histograms, empty=histograms)
@EXAMPLES
def test_floor_equals_oracle(true, empty):
    oracle = LearntFloor()
    oracle.true, oracle.empty = [float(count) for count in true], [float(count) for count in empty]
    floor = margin.best_floor(np.array([empty, true], np.float64))
    oracle.choose()
    assert floor == pytest.approx(oracle.value, abs=1e-9)


def topical_stream(draw: random.Random, documents: int) -> list[tuple[list[int], Any]]:
    """Documents of 6 to 12 words, most of them about their labels; one in six without labels."""
    stream = []
    for _ in range(documents):
        names = draw.sample(strategies.NAMES, draw.choice([0, 1, 1, 1, 2, 2]))
        topics = [strategies.NAMES.index(name) for name in names] or [4]
        words = [
            40 * draw.choice(topics) + draw.randrange(40)
            if draw.random() < 0.7
            else draw.randrange(200)
            for _ in range(draw.randint(6, 12))
        ]
        states = {name: name in names for name in draw.sample(strategies.NAMES, 2)}
        stream.append((words, draw.choice([set(names)] * 4 + [states, None])))
    return stream


@pytest.mark.parametrize("rule", RULES)
@given(strategies.streams(), strategies.settings() | strategies.deep_settings(), st.data())
@EXAMPLES
def test_state_does_not_depend_on_how_the_stream_is_cut(rule, stream, how, data):
    texts = [strategies.text(words) for words, _ in stream]
    labels = [known for _, known in stream]
    whole = Clasher(16, rule=rule, max_labels=16, **how)
    singly = Clasher(16, rule=rule, max_labels=16, **how)
    parts = Clasher(16, rule=rule, max_labels=16, **how)
    predicted = list(whole.step_many(texts, labels))
    by_parts: list[set[str]] = []
    for part in data.draw(strategies.cuts(len(stream))):
        by_parts += parts.step_many(parts.hash_many(texts[part]), labels[part])
    one_by_one = []
    for text, known in zip(texts, labels, strict=True):
        one_by_one.append(singly.predict(text))
        singly.learn(text, known)
    assert predicted == by_parts == one_by_one
    assert whole.labels == parts.labels == singly.labels
    assert state_bytes(whole) == state_bytes(parts) == state_bytes(singly)
