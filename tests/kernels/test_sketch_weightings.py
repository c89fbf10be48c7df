"""Weightings that use labels: formulas, their online version, and properties."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Analyzer, Clasher, Settings
from clasher.kernels import classes, weightings
from clasher.kernels.regions import COUNT_LIMIT, scale_label
from clasher.kernels.state import LABELLED
from clasher.learning import memory
from clasher.settings import MEASURES
from support.environment import optional
from support.reference import weightings as plain
from tests import strategies
from tests.models import LABELS, RULES, TEXTS, UNSEEN, dense, state_bytes, taught

every_measure = pytest.mark.parametrize("weighting", MEASURES)
every_rule = pytest.mark.parametrize("rule", RULES)


# ── the formulas ─────────────────────────────────────────────────────────────────────────────────

some = st.integers(0, 30)
tables = st.builds(plain.Table, st.integers(1, 30), some, some, some)


@pytest.mark.parametrize("weighting", plain.STATISTICS)
@given(table=tables)
def test_statistics_are_those_of_the_four_counts(weighting, table):
    own, with_word = table.A + table.B, table.A + table.C
    found = weightings.statistic(
        MEASURES[weighting], float(table.N), own / table.N, with_word / table.N, table.A / own
    )
    assert found == pytest.approx(plain.STATISTICS[weighting][0](table), rel=1e-6, abs=1e-6)


@pytest.fixture(scope="module")
def stats():
    """Import the tests of SciPy."""
    return optional("scipy.stats", "sparse")


@given(table=st.builds(plain.Table, *[st.integers(1, 50)] * 4))
def test_plain_statistics_are_those_of_others(stats, table):
    cells = [[table.A, table.B], [table.C, table.D]]
    chi2 = stats.chi2_contingency(cells, correction=False).statistic
    assert plain.chi_squared(table) == pytest.approx(chi2)
    g = stats.chi2_contingency(cells, correction=False, lambda_="log-likelihood").statistic
    assert plain.evidence_of_information(table) == pytest.approx(g, abs=1e-9)
    prior = (table.A + table.B) / table.N  # Gini's is χ² weighed by the label's variance
    gini = 2 * prior * (1 - prior) * chi2
    assert plain.evidence_of_gini(table) == pytest.approx(gini, abs=1e-9)


@pytest.mark.parametrize("weighting", ["chi2", "ig", "or", "gini"])
def test_a_word_that_is_equally_frequent_everywhere_says_nothing(weighting):
    statistic = plain.STATISTICS[weighting][0]
    assert statistic(plain.Table(10, 30, 20, 60)) == pytest.approx(0, abs=0.05)
    assert statistic(plain.Table(40, 0, 80, 0)) == pytest.approx(0, abs=1)


def test_a_word_that_is_the_label_tells_all():
    table = plain.Table(20, 0, 0, 60)
    assert plain.chi_squared(table) == pytest.approx(80)
    assert plain.decrease(plain.entropy, table) == pytest.approx(plain.entropy(20, 60))
    assert plain.decrease(plain.impurity, table) == pytest.approx(2 * 1 / 4 * 3 / 4)


rates = st.floats(0, 1)


@every_measure
@given(documents=st.integers(1, 2**40), prior=rates, share=rates, rate=rates)
def test_statistics_of_counts_that_contradict_each_other_are_still_sane(
    weighting, documents, prior, share, rate
):
    """Counts may contradict each other after forgetting, or with partial labels."""
    if weighting in plain.STATISTICS:
        found = weightings.statistic(MEASURES[weighting], float(documents), prior, share, rate)
        assert 0 <= found < math.inf


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────


@given(st.integers(1, 10**9))
def test_words_are_updated_after_growing_by_a_quarter_at_most(documents):
    assert classes.is_due(float(documents)) == plain.is_due(documents)
    step = 2 ** max(documents.bit_length() - 3, 0)
    later = (documents // step + 1) * step
    assert plain.is_due(later)
    assert later <= max(documents + 1, documents * 5 / 4)


@every_rule
@every_measure
def test_predicting_changes_nothing(rule, weighting):
    model = taught(rule, weighting=weighting)
    before = state_bytes(model)
    model.predict_many(UNSEEN), model.probabilities(TEXTS[0]), model.explain(TEXTS[0])
    assert state_bytes(model) == before


@every_measure
@given(stream=strategies.streams())
def test_factors_are_finite_and_at_least_one(weighting, stream):
    model = Clasher(16, weighting=weighting, max_labels=16)
    for words, labels in stream:
        model.learn(strategies.text(words), labels)
        factors = factors_of(model)
        assert np.isfinite(factors).all()
        assert (factors >= 1).all()


@every_measure
def test_before_any_label_words_are_weighed_as_without(weighting):
    """Unlabelled documents change the sketch only, and the first label changes little."""
    model = Clasher(64, weighting=weighting, max_labels=8)
    model.observe_many(TEXTS)
    assert factors_of(model).tolist() == [1.0] * 64
    model.learn("gold", {"gold"})
    assert (factors_of(model) < 2).all()


@every_measure
def test_what_is_kept_is_near_the_exact_formula(weighting):
    """Hundreds of documents per word, so that words are not updated each time."""
    draw, exact = random.Random(weighting), plain.Classes()
    model = Clasher(2**15, weighting=weighting, max_labels=8, rule="centroid")
    for _ in range(1500):
        topic = draw.randrange(4)
        words = {draw.randrange(20) + 20 * draw.choice([topic, topic, 4]) for _ in range(8)}
        labels = {strategies.NAMES[topic], draw.choice(strategies.NAMES)}
        model.learn(strategies.text(sorted(words)), labels)
        exact.count(words, labels)
    words = sorted(exact.with_word)
    assert min(exact.with_word.values()) > 60
    hashed = model.hash_many([strategies.text([word]) for word in words])
    assert len(set(hashed.buckets.tolist())) == len(words)
    online = factors_of(model)[hashed.buckets]
    batch = [plain.batch_factor(weighting, exact, len(model.labels), word) for word in words]
    assert np.abs(online - batch).mean() < 0.05 * np.mean(batch)
    if weighting != "icf":  # where all words come with all labels
        assert np.corrcoef(online, batch)[0, 1] > 0.98


def factors_of(model: Clasher) -> np.ndarray:
    """Return the factor of every bucket for the next document."""
    state, measure = model._state, MEASURES[model.settings.weighting]
    labels, labelled = float(len(model.labels)), float(state.totals[LABELLED])
    return np.array([weightings.factor(kept, measure, labels, labelled) for kept in state.terms[1]])


# ── what is counted ──────────────────────────────────────────────────────────────────────────────


@every_rule
def test_labels_denied_or_unknown_add_nothing(rule):
    model = Clasher(64, rule=rule, weighting="ig", max_labels=8)
    model.learn("gold mine", {"gold": True, "oil": False})
    model.learn("gold oil", {"oil": True})
    model.learn("gold gas", None)
    members = dict(zip(model.labels, model._state.members[0].tolist(), strict=False))
    assert members == {"gold": 1, "oil": 1}
    gold = model.hash_many(["gold"]).buckets[0]
    assert dense(model).classes[gold, :2].tolist() == [1, 1]
    assert model._state.terms[0, gold] == 2


@every_measure
def test_a_label_is_halved_before_single_precision_ends(weighting, monkeypatch):
    """After some four million documents, rates and priors stay."""
    model = taught("centroid", weighting=weighting)
    state = model._state
    factor = (COUNT_LIMIT - 1) / state.members[0, 0]
    scale_label(state.classes, state.pool, 0, np.float32(factor))
    state.members[0, 0] *= factor
    rates = dense(model).classes[:, 0] / state.members[0, 0]
    documents = state.members[1, 0]
    for _ in range(4):
        model.learn("", {model.labels[0]: True})
    assert COUNT_LIMIT / 2 <= state.members[0, 0] < COUNT_LIMIT / 2 + 4
    assert state.members[1, 0] == documents + 4
    np.testing.assert_allclose(dense(model).classes[:, 0] / state.members[0, 0], rates, rtol=1e-5)


@every_measure
def test_a_label_that_is_given_up_takes_its_counts_along(weighting):
    model = Clasher(64, weighting=weighting, max_labels=2, on_full="evict", analyzer=Analyzer())
    model.learn_many(TEXTS, [{"a"}] * len(TEXTS))
    model.learn("gold mine", {"b"})
    model.learn("gold mine", {"c"})
    assert sorted(model.labels) == ["b", "c"]
    state, c = dense(model), model.labels.index("c")
    assert state.classes[:, c].sum() == 2
    if weighting == "icf":
        assert state.terms[1].tolist() == (state.classes > 0).sum(axis=1).tolist()
    assert state.members[:, c].tolist() == [1, 1]


@every_rule
def test_icf_knows_at_any_time_which_labels_words_came_with(rule):
    model = taught(rule, weighting="icf")

    def check():
        seen = (dense(model).classes > 0).sum(axis=1)
        assert model._state.terms[1].tolist() == seen.tolist()

    check()
    model.unlearn(TEXTS[1], LABELS[1])
    check()
    model.merge_labels("corn", "grain")
    check()
    model.retire_label("oil")
    check()
    model.merge(taught(rule, weighting="icf"))
    check()


@every_rule
def test_there_is_no_memory_for_what_is_not_asked_for(rule):
    for weighting in ("tf", "tfidf"):
        state = memory.allocate(Settings(dimensions=64, rule=rule, weighting=weighting))
        assert state.classes.size == state.members.size == state.terms.size == 0
    without = memory.fixed_bytes(Settings(dimensions=64, rule=rule), 32)
    for weighting in MEASURES:
        settings = Settings(dimensions=64, rule=rule, weighting=weighting)
        more = 4 * 4 * 64 + 8 * 2 * 32 + 8 * 2 * 64
        assert memory.fixed_bytes(settings, 32) == without + more


@every_rule
@every_measure
def test_growing_saving_and_loading_keep_it_all(rule, weighting, tmp_path):
    model = taught(rule, weighting=weighting, max_labels=200)
    model.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert state_bytes(loaded) == state_bytes(model)
    loaded._state = memory.grow(loaded._state, loaded.settings, 100)
    loaded.learn_many(TEXTS, LABELS)
    model.learn_many(TEXTS, LABELS)
    assert loaded.probabilities("oil and corn") == model.probabilities("oil and corn")


@every_measure
def test_words_of_one_label_weigh_more_than_words_of_all(weighting):
    model = Clasher(1024, weighting=weighting, max_labels=8, analyzer=Analyzer())
    for _ in range(20):
        for topic in ("wheat", "gold", "oil"):
            model.learn(f"the price of {topic}", {topic})
    the, gold = model.hash_many(["the gold"]).buckets
    factors = factors_of(model)
    assert factors[gold] > factors[the]
