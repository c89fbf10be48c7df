"""The sketch of document frequencies keeps Theorem 2 at any depth."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import SettingError
from clasher.kernels.hashing import place, row_bucket
from clasher.kernels.sketch import estimate, take_logs
from clasher.learning import memory
from support.reference import plain
from tests import strategies
from tests.models import TEXTS, UNSEEN, state_bytes, taught

deep = pytest.mark.parametrize(
    ("depth", "conservative"), [(2, False), (4, False), (2, True), (4, True)]
)


def estimates(model: Clasher, words: list[str]) -> np.ndarray:
    """Return the sketch's estimate of each word's document frequency."""
    hashed = model.hash_many(words)
    if model.settings.depth == 1:
        return model._state.frequencies[0, hashed.buckets]
    work = memory.work_for(model._state, hashed)
    found = []
    for at in range(len(words)):
        one = hashed.part(at, at + 1)
        estimate(model._state, one.buckets, one.words.places, one.words.keys, work)
        found.append(float(work.estimates[0]))
    return np.array(found)


def zipfian(seed: int, documents: int = 60) -> list[list[int]]:
    """Draw documents of ten words: some words are frequent, most are rare."""
    random = np.random.default_rng(seed)
    return (np.minimum(random.zipf(1.3, (documents, 10)), 300) - 1).tolist()


def document_frequencies(stream: list[list[int]]) -> Counter[int]:
    return Counter(word for document in stream for word in set(document))


def taught_by(stream: list[list[int]], dimensions: int, **settings) -> Clasher:
    model = Clasher(dimensions, rule="centroid", max_labels=1, **settings)
    model.observe_many([strategies.text(document) for document in stream])
    return model


def errors(stream: list[list[int]], dimensions: int, **settings) -> np.ndarray:
    """Return the overestimate of each word's document frequency."""
    model = taught_by(stream, dimensions, **settings)
    truth = document_frequencies(stream)
    found = estimates(model, [strategies.text([word]) for word in truth])
    return found - np.array(list(truth.values()))


# ── the frozen hash ──────────────────────────────────────────────────────────────────────────────

FROZEN = [  # word, seed, row, bucket of 65536
    ("wheat", 0, 0, 1272), ("wheat", 0, 1, 28244),
    ("wheat", 0, 2, 33895), ("wheat", 0, 15, 4523),
    ("grain", 0, 1, 34235), ("grain", 7, 1, 15425),
    ("小麦", 0, 1, 30469), ("☂", 2**63 - 1, 3, 11837),
]  # fmt: skip


@pytest.mark.parametrize(("word", "seed", "row", "bucket"), FROZEN)
def test_buckets_in_further_rows_never_change(word, seed, row, bucket):
    assert plain.row_bucket(word, row, seed, 65536) == bucket
    assert row_bucket(np.uint64(plain.key(word, seed)), row, 65536) == bucket


@given(st.integers(0, 2**64 - 1), st.integers(0, 15), st.integers(2, 2**30))
def test_rows_have_buckets_of_their_own(key, row, dimensions):
    bucket = row_bucket(np.uint64(key), row, dimensions)
    assert 0 <= bucket < dimensions
    assert row_bucket(np.uint64(key), 0, dimensions) == place(np.uint64(key), dimensions)[0]


def test_words_that_collide_in_one_row_part_in_another():
    keys = [np.uint64(plain.key(f"word{i}", 0)) for i in range(2000)]
    rows = [[int(row_bucket(key, row, 64)) for key in keys] for row in range(4)]
    for one in range(4):
        for other in range(one):
            pairs = Counter(zip(rows[one], rows[other], strict=True))
            alike = sum(n * (n - 1) // 2 for n in pairs.values())
            assert alike == pytest.approx(2000 * 1999 / 2 / 64**2, rel=0.2)


# ── the guarantees ───────────────────────────────────────────────────────────────────────────────

documents = st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=20)


@given(documents, st.integers(1, 5), st.booleans(), st.integers(0, 3))
def test_no_word_is_underestimated(stream, depth, conservative, seed):
    found = errors(stream, 8, depth=depth, conservative=conservative, seed=seed)
    assert (found >= 0).all()


@given(documents, st.integers(2, 5), st.integers(0, 3))
def test_a_conservative_sketch_never_has_the_larger_error(stream, depth, seed):
    usual = errors(stream, 8, depth=depth, seed=seed)
    careful = errors(stream, 8, depth=depth, conservative=True, seed=seed)
    assert (careful <= usual).all()


@given(documents, st.integers(1, 4), st.integers(0, 3))
def test_more_rows_never_have_the_larger_error(stream, depth, seed):
    """The first rows are the same, so the minimum over more rows cannot be higher."""
    fewer, more = (errors(stream, 8, depth=rows, seed=seed) for rows in (depth, depth + 1))
    assert (more <= fewer).all()


def test_the_mean_error_is_within_its_bound():
    """In one row a word is overestimated by ‖f‖₁ / m on average, and by less in several."""
    m, means = 64, {1: [], 2: [], 4: []}
    bounds = []
    for seed in range(40):
        stream = zipfian(seed)
        bounds.append(sum(document_frequencies(stream).values()) / m)
        for depth, found in means.items():
            found.append(errors(stream, m, depth=depth, seed=seed).mean())
    assert np.mean(means[1]) <= np.mean(bounds)
    assert np.mean(means[2]) < 0.7 * np.mean(means[1])
    assert np.mean(means[4]) < 0.7 * np.mean(means[2])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_large_errors_are_as_rare_as_theorem_2_says(depth):
    """With m = ⌈e/ε⌉, an error beyond ε‖f‖₁ has a probability below e^−depth."""
    m, beyond, words = 32, 0, 0
    for seed in range(40):
        stream = zipfian(1000 + seed)
        limit = np.e / m * sum(document_frequencies(stream).values())
        found = errors(stream, m, depth=depth, seed=seed)
        beyond, words = beyond + (found > limit).sum(), words + len(found)
    assert beyond / words <= np.exp(-depth)


# ── in a model ───────────────────────────────────────────────────────────────────────────────────


@deep
def test_each_counter_is_raised_once_per_document(depth, conservative):
    model = Clasher(2, depth=depth, conservative=conservative, max_labels=1)
    model.observe(" ".join(f"word{i}" for i in range(50)))
    assert model._state.frequencies.tolist() == [[1.0, 1.0]] * depth


@deep
def test_predicting_changes_nothing(depth, conservative):
    model = taught(depth=depth, conservative=conservative)
    before = state_bytes(model)
    model.predict_many(UNSEEN), model.probabilities(TEXTS[0]), model.explain(TEXTS[0])
    assert state_bytes(model) == before


@deep
def test_saving_and_going_on(depth, conservative, tmp_path):
    model = taught(depth=depth, conservative=conservative)
    model.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert state_bytes(loaded) == state_bytes(model)
    for one in (model, loaded):
        one.learn("corn and gold", {"corn"})
    assert state_bytes(loaded) == state_bytes(model)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_bytes_are_known_in_advance(depth):
    model = taught(depth=depth)
    fixed = [memory.fixed_bytes(one.settings, 16) for one in (model, taught())]
    assert fixed[0] - fixed[1] == (depth - 1) * 128 * 8


def test_words_are_needed():
    hashed = Clasher(128, max_labels=8).hash_many(TEXTS)
    with pytest.raises(SettingError, match="without their words"):
        taught(depth=2).predict_many(hashed)


def test_further_rows_part_a_rare_word_from_a_frequent_one():
    """Words share four buckets with a frequent one; further rows tell them apart."""
    flat, tall = (Clasher(4, depth=depth, max_labels=2, norm="none") for depth in (1, 8))
    for model in (flat, tall):
        model.observe_many([strategies.text([word]) for word in range(8)] + ["w0"] * 50)
    truth = dict.fromkeys(range(1, 8), 1) | {0: 51}
    words = [strategies.text([word]) for word in truth]
    assert estimates(tall, words).sum() < estimates(flat, words).sum()
    assert estimates(tall, ["w0"]) >= 51


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20))
def test_logarithms_are_those_of_numpy(numbers):
    values = np.array(numbers)
    take_logs(values, np.empty(len(numbers)))
    np.testing.assert_allclose(values, np.log(numbers), rtol=1e-15, atol=1e-15)
