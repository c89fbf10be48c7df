"""The calculators of the theorems: both directions agree, and the bounds hold."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import SettingError
from clasher.text.hashing import Hasher
from clasher.theory import (
    CountMin,
    Decision,
    Idf,
    Norms,
    Products,
    Spread,
    TestError,
    TfIdf,
    TfIdfSpread,
)
from clasher.theory.bounds import STEEPEST, largest_weight
from tests.strategies import text, words

SEEDS = 300

sizes = st.integers(1, 2**40)
confidences = st.floats(0.71, 0.999)
errors = st.floats(1e-4, 0.99)

# ── both directions ──────────────────────────────────────────────────────────────────────────────

BOTH_WAYS = {
    "Norms": (lambda m, p: Norms(m, p), lambda e, p: Norms.for_error(e, p)),
    "Products": (lambda m, p: Products(m, p), lambda e, p: Products.for_error(e, p)),
    "Spread": (lambda m, p: Spread(m, p), lambda e, p: Spread.for_error(e, p)),
    "CountMin": (lambda m, p: CountMin(m), lambda e, p: CountMin.for_error(e)),
    "Idf": (lambda m, p: Idf(m, 5000.0, 3.0), lambda e, p: Idf.for_error(e, 5000.0, 3.0)),
    "TfIdf": (lambda m, p: TfIdf(m, 2.0), lambda e, p: TfIdf.for_error(e, 2.0)),
    "TfIdfSpread": (
        lambda m, p: TfIdfSpread(m, 300.0, p), lambda e, p: TfIdfSpread.for_error(e, 300.0, p)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOTH_WAYS)
@given(sizes, confidences)
def test_a_size_comes_back_from_its_error(name, dimensions, confidence):
    at, for_error = BOTH_WAYS[name]
    error = at(dimensions, confidence).error
    assume(error is not None and 1e-6 < error < 100)
    assert for_error(error, confidence).dimensions == pytest.approx(dimensions, rel=1e-9, abs=0.1)


@pytest.mark.parametrize("name", BOTH_WAYS)
@given(errors, confidences)
def test_the_size_for_an_error_is_the_least(name, error, confidence):
    at, for_error = BOTH_WAYS[name]
    found = for_error(error, confidence)
    assert found.error <= error * (1 + 1e-9)
    if found.dimensions > 1:
        less = at(found.dimensions - 1, confidence).error
        assert less is None or less > error * (1 - 1e-9)


@pytest.mark.parametrize("name", BOTH_WAYS)
@given(sizes, sizes, confidences)
def test_more_dimensions_never_promise_less(name, one, other, confidence):
    at, _ = BOTH_WAYS[name]
    small, large = (at(m, confidence).error for m in sorted([one, other]))
    assert small is None or large <= small


@given(sizes, st.integers(1, 10**6), confidences)
def test_the_margin_of_a_decision_comes_back(dimensions, labels, confidence):
    bound = Decision(dimensions, labels, confidence)
    assume(bound.margin is not None and bound.margin > 1e-6)
    back = Decision.for_margin(bound.margin, labels, confidence)
    assert back.dimensions == pytest.approx(dimensions, rel=1e-9, abs=0.1)


@given(st.floats(0.01, 0.29), st.integers(1, 10**4), st.floats(0.01, 0.9))
def test_proposition_2_is_lemma_2_solved_for_its_confidence(change, labels, relative):
    margin = 2.0 * relative  # D² = 2
    by_error = TestError.for_change(change, labels, margin)
    by_margin = Decision.for_margin(by_error.relative_margin, labels, 1.0 - change)
    assert by_error.dimensions == pytest.approx(by_margin.dimensions, rel=1e-9)
    assert by_error.change == pytest.approx(change, rel=0.05)
    assert by_error.change <= change * (1 + 1e-9)


def test_depth_follows_from_the_confidence():
    assert [CountMin.for_error(0.01, p).depth for p in (0.5, 0.63, 0.64, 0.9, 0.99)] == [
        1, 1, 2, 3, 5
    ]  # fmt: skip
    for depth in (1, 2, 7):
        assert CountMin.for_error(0.01, CountMin(9, depth).confidence).depth == depth


# ── the paper's figures ──────────────────────────────────────────────────────────────────────────


def test_theorem_1_asks_for_what_the_paper_prints():
    delta, error = 0.05, 0.2
    bound = Norms.for_error(error, 1.0 - 3 * delta)
    assert bound.dimensions == math.ceil(12 * error**-2 * math.log(1 / delta))
    room = error / math.log(1 / delta) / math.log(bound.dimensions / delta) ** 2 / 16
    assert largest_weight(error, delta, bound.dimensions) ** 2 == pytest.approx(room)


def test_documents_with_dominant_words_have_no_guarantee():
    bound = Norms.for_error(0.2, 0.9)
    room = largest_weight(0.2, bound.delta, bound.dimensions)
    assert Norms.for_error(0.2, 0.9, room) == Norms(bound.dimensions, 0.9, room)
    assert Norms.for_error(0.2, 0.9, room * 1.01) is None
    assert Norms(bound.dimensions, 0.9, room).error == pytest.approx(0.2, rel=1e-3)
    assert Norms(2**20, 0.9, weight=0.2).largest_weight is None
    assert Products.for_error(0.2, 0.9, weight=0.2) is None


def test_proposition_1_needs_the_dimensions_of_the_paper():
    delta, error, total = 0.05, 0.5, 30.0
    bound = TfIdf.for_error(error, total, (1 - math.exp(-1)) * (1 - 3 * delta))
    assert bound.dimensions == math.ceil(588 * total**4 * error**-2 * math.log(1 / delta))
    assert TfIdf(bound.dimensions, total, bound.confidence).largest_weight < 1e-3
    assert TfIdf(1000, total).largest_weight is None


def test_lemma_2_needs_the_dimensions_of_the_paper():
    labels, doubt, margin = 50, 0.05, 0.3
    bound = Decision.for_margin(margin, labels, 1 - doubt)
    m = math.ceil(48 * margin**-2 * math.log(3 * labels / doubt))
    assert bound.dimensions == m
    c = 32 / bound.margin * math.log(3 * labels / doubt) * math.log(3 * m * labels / doubt) ** 2
    assert bound.largest_weight == pytest.approx(1 / math.sqrt(c))
    assert Decision(100, labels).margin is None
    assert Decision(100, labels).largest_weight is None
    assert Decision(2**30, labels).by_second_moments == pytest.approx(
        math.sqrt(8 * labels / (2**30 * 0.05))
    )


def test_proposition_2_adds_up():
    bound = TestError(2**21, labels=20, margin=0.1, below=0.3, original=0.2)
    assert bound.bound == pytest.approx(0.2 + 0.7 * bound.change + 0.3)
    assert TestError(2**21, 20, 0.1, below=0.9, original=0.9).bound == 1.0
    assert TestError(10, 20, 0.1).bound is None


@given(st.floats(0, 1e6), st.floats(1, 1e6), st.integers(1, 2**30))
def test_lemma_1_as_stated_is_the_looser_one(total, frequency, dimensions):
    bound = Idf(dimensions, total, frequency)
    assert bound.expected <= bound.error <= bound.stated


def test_the_square_of_a_logarithm_is_below_its_line():
    t = np.geomspace(1e-9, 1e9, 100_000)
    assert (np.log1p(t) ** 2 <= STEEPEST * t).all()


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Norms(0), "'dimensions' parameter of Norms must be an integer of at least 1"),
        (lambda: Norms(2.0), "'dimensions' parameter of Norms"),
        (lambda: Norms(9, 0.7), "'confidence' parameter of Norms must be a number between 0.7 and"),
        (lambda: Norms(9, weight=-1), "'weight' parameter of Norms must be a number of at least 0"),
        (lambda: Norms.for_error(1.0), "'error' parameter of Norms must be a number between"),
        (lambda: Norms.for_error(math.nan), "'error' parameter of Norms"),
        (lambda: Products(9, 0.4), "'confidence' parameter of Products"),
        (lambda: Products.for_error(0), "'error' parameter of Products"),
        (lambda: Spread(True), "'dimensions' parameter of Spread"),
        (lambda: Spread.for_error("1"), "'error' parameter of Spread"),
        (lambda: CountMin(9, 0), "'depth' parameter of CountMin"),
        (lambda: CountMin.for_error(0.1, 1.0), "'confidence' parameter of CountMin"),
        (lambda: CountMin(9).overcount(-1), "'total' parameter of CountMin"),
        (lambda: Idf(9, math.inf), "'total' parameter of Idf"),
        (lambda: Idf(9, 9, 0), "'frequency' parameter of Idf"),
        (lambda: TfIdf(9, 0.5), "'total' parameter of TfIdf must be a number of at least 1"),
        (lambda: TfIdf(9, 9, 0.9), "'confidence' parameter of TfIdf .* between 0.4425 and 0.6321"),
        (lambda: TfIdfSpread(9, -1), "'rarity' parameter of TfIdfSpread"),
        (lambda: Decision(9, 0), "'labels' parameter of Decision"),
        (lambda: Decision.for_margin(1.5, 9), "'margin' parameter of Decision"),
        (lambda: TestError(9, 9, 3.0), "'margin' parameter of TestError .* between 0 and 2"),
        (lambda: TestError(9, 9, 0.1, below=2), "'below' parameter of TestError"),
        (lambda: TestError.for_change(0.5, 9, 0.1), "'change' parameter of TestError"),
    ],
)
def test_bad_parameters_name_their_range(make, sentence):
    with pytest.raises(SettingError, match=sentence):
        make()


# ── what comes true ──────────────────────────────────────────────────────────────────────────────


@given(st.lists(words, min_size=1, max_size=15), st.integers(2, 40), st.integers(0, 1000))
def test_a_sketch_never_underestimates(documents, dimensions, seed):
    model = Clasher(dimensions, seed=seed, rule="centroid", max_labels=1)
    model.observe_many([text(document) for document in documents])
    hasher = Hasher(dimensions, seed)
    for word in {word for document in documents for word in document}:
        frequency = sum(word in document for document in documents)
        (found,) = hasher.words(text([word]))
        assert model._state.frequencies[0, found.bucket] >= frequency


DOCUMENTS = [[(7 * d + 3 * w * w) % 31 for w in range(9)] for d in range(10)]
TEXTS = [text(document) for document in DOCUMENTS]
BUCKETS = 16


def hashed_counts(seed):
    """Documents under many hash functions: signed counts in dense rows, and frequencies."""
    hashed = Hasher(BUCKETS, seed).hash_many(TEXTS)
    rows = np.zeros((len(TEXTS), BUCKETS))
    for row in range(len(TEXTS)):
        inside = slice(hashed.indptr[row], hashed.indptr[row + 1])
        rows[row, hashed.buckets[inside]] = hashed.counts[inside]
    return rows, np.bincount(hashed.buckets, minlength=BUCKETS)


@pytest.fixture(scope="module")
def draws():
    """Return hashed counts of documents and frequencies of buckets, for many seeds."""
    drawn = [hashed_counts(seed) for seed in range(SEEDS)]
    return np.array([rows for rows, _ in drawn]), np.array([counts for _, counts in drawn])


def exact_counts():
    return np.array([np.bincount(document, minlength=31) for document in DOCUMENTS], float)


def within(values, expected, errors=5.0):
    """Tell whether the mean of draws is within some standard errors of the expected one."""
    deviation = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    return np.abs(values.mean(axis=0) - expected) <= errors * deviation + 1e-9


def test_lengths_and_products_are_unbiased(draws):
    rows, _ = draws
    products = np.einsum("sim,sjm->sij", rows, rows)
    exact = exact_counts() @ exact_counts().T
    assert within(products, exact).all()


def test_lengths_and_products_have_the_predicted_variance(draws):
    rows, _ = draws
    exact = exact_counts()
    products = np.einsum("sim,sjm->sij", rows, rows)
    lengths = np.sqrt((exact**2).sum(axis=1))
    relative = (products - exact @ exact.T) / np.outer(lengths, lengths)
    variance = relative.var(axis=0)
    assert (variance <= 2 / BUCKETS * 1.5).all()  # a sample of 300 may exceed it by a little
    fourth = (exact**4).sum(axis=1) / (exact**2).sum(axis=1) ** 2
    assert np.diag(variance) == pytest.approx(2 / BUCKETS * (1 - fourth), rel=0.4)
    for confidence in (0.5, 0.8, 0.9):
        inside = np.abs(relative) <= Spread(BUCKETS, confidence).error
        assert (inside.mean(axis=0) >= confidence).all()


def word_draws(draws):
    """Return the estimated frequency of each word, for many seeds."""
    _, counts = draws
    present = sorted({word for document in DOCUMENTS for word in document})
    buckets = np.array(
        [[Hasher(BUCKETS, seed).words(text([w]))[0].bucket for w in present] for seed in range(100)]
    )
    frequencies = np.array([sum(word in d for d in DOCUMENTS) for word in present])
    return np.take_along_axis(counts[:100], buckets, axis=1), frequencies


def test_the_mean_overcount_of_a_sketch_is_bounded(draws):
    estimates, frequencies = word_draws(draws)
    total = int(frequencies.sum())
    over = estimates - frequencies
    assert (over >= 0).all()
    deviation = over.std(axis=0, ddof=1) / math.sqrt(len(over))
    bound = np.array([CountMin(BUCKETS).mean_overcount(total, int(f)) for f in frequencies])
    assert (over.mean(axis=0) <= bound + 4 * deviation).all()
    assert over.mean() <= total / BUCKETS
    inside = over <= CountMin(BUCKETS).overcount(total)
    assert (inside.mean(axis=0) >= CountMin(BUCKETS).confidence).all()


def test_the_idf_of_a_sketch_is_bounded(draws):
    estimates, frequencies = word_draws(draws)
    total = int(frequencies.sum())
    shift = np.log(estimates / frequencies)
    for word, frequency in enumerate(frequencies.tolist()):
        bound = Idf(BUCKETS, total, frequency)
        assert (shift[:, word] <= bound.error).mean() >= bound.confidence
        assert shift[:, word].mean() <= bound.expected


def test_hashed_tfidf_is_bounded(draws):
    rows, counts = draws
    exact = exact_counts()
    frequencies = np.maximum((exact > 0).sum(axis=0), 1)
    total = int((exact > 0).sum())
    weights = exact * np.log(len(exact) / frequencies)
    idf = np.log(len(exact) / np.maximum(counts, 1))
    squared = (weights**2).sum(axis=1)
    errors = np.abs(((rows * idf[:, None]) ** 2).sum(axis=2) / squared - 1)
    rarity = (exact**2 * (total / frequencies - 1)).sum(axis=1) / squared
    for document, rho in enumerate(rarity.tolist()):
        bound = TfIdfSpread(BUCKETS, rho, 0.8)
        assert (errors[:, document] <= bound.error).mean() >= 0.8
        assert errors[:, document].mean() <= bound.mean_error


def test_theorem_1_holds_for_documents_that_meet_eq_6():
    bound = Norms(256, confidence=0.85)
    words_needed = math.ceil(bound.largest_weight**-2)
    random = np.random.default_rng(0)
    outside = 0
    for _ in range(100):
        signs = random.choice([-1.0, 1.0], words_needed)
        buckets = random.integers(0, 256, words_needed)
        length = (np.bincount(buckets, signs, 256) ** 2).sum() / words_needed
        outside += abs(length - 1.0) > bound.error
    assert words_needed > 5_000
    assert outside <= 100 * (1 - bound.confidence)
