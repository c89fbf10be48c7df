import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import SettingError
from clasher.learning import memory
from clasher.settings import Settings
from clasher.theory import CountMin, Decision, Norms, Spread, TfIdfSpread
from clasher.theory.distortion import Sample
from clasher.theory.plan import Planner

TEXTS = [f"word{i} word{i % 7} word{i % 3} common" for i in range(40)]


@given(
    st.integers(10**5, 10**13),
    st.integers(1, 5000),
    st.sampled_from(["margin", "centroid", "perceptron"]),
)
def test_the_proposal_is_the_largest_that_fits(limit, labels, rule):
    settings = Settings(max_labels=labels, rule=rule)
    planner = Planner(settings)
    if planner.nbytes(2) > limit:
        with pytest.raises(SettingError, match="are too few for a model of"):
            planner.fitting(limit)
        return
    found = planner.fitting(limit)
    assert found.bit_count() == 1
    assert planner.nbytes(found) <= limit
    assert found == 2**30 or planner.nbytes(2 * found) > limit


def test_memory_is_what_a_model_takes():
    planner = Planner(Settings(max_labels=40))
    settings = Settings(dimensions=512, max_labels=40)
    assert planner.nbytes(512) == memory.nbytes(settings, 40)
    assert planner.size(512).nbytes == planner.nbytes(512)


def test_neighbours_stay_in_range():
    planner = Planner(Settings(max_labels=1))
    assert [size.dimensions for size in planner.sizes(2)] == [2, 4, 8]
    assert [size.dimensions for size in planner.sizes(2**30)] == [2**28, 2**29, 2**30]
    assert [size.dimensions for size in planner.sizes(1000)] == [250, 500, 1000, 2000, 4000]


def lines(size):
    return {(line.what, line.by): line for line in size.guarantees}


PAPER = {"rule": "centroid", "tf": "count", "norm": "none", "max_labels": 10}
TF = PAPER | {"weighting": "tf"}
EUCLIDEAN = TF | {"similarity": "euclidean"}


def planned(given, texts=None, confidence=0.9):
    settings = Settings(**{"max_labels": 10} | given)
    sample = None if texts is None else Sample.of(texts, settings)
    return Planner(settings, confidence, sample)


def reasons(given, texts=None, dimensions=2**20):
    return {k: line.why for k, line in lines(planned(given, texts).size(dimensions)).items()}


def test_term_frequencies_have_guarantees_without_a_sample():
    size = planned(EUCLIDEAN, confidence=0.95).size(2**16)
    found = lines(size)
    assert found["lengths", "second moments"].guaranteed == pytest.approx(Spread(2**16, 0.95).error)
    assert found["products", "second moments"].guaranteed == pytest.approx(
        Spread(2**16, 0.95).error
    )
    assert found["counts", "Theorem 2"].guaranteed == CountMin(2**16).error
    decision = Decision(2**16, 10, 0.95)
    assert found["decisions", "second moments"].guaranteed == decision.by_second_moments
    assert all(line.measured is None for line in found.values())
    assert size.distortion is None
    assert ("idf", "Lemma 1") not in found


@pytest.mark.parametrize("texts", [None, TEXTS])
def test_the_default_model_has_no_guarantee_for_geometry(texts):
    """Logarithms, IDF, first words and cosines: no theorem covers them."""
    found = lines(planned({}, texts).size(2**20))
    for (what, _), line in found.items():
        if what in ("lengths", "products", "cosines", "decisions"):
            assert line.guaranteed is None
            assert line.why
    assert found["counts", "Theorem 2"].guaranteed == CountMin(2**20).error
    assert planned({}, texts).size(2**20).expected.keys() <= {"counts", "idf"}


@pytest.mark.parametrize(
    ("given", "texts", "line", "why"),
    [
        ({}, None, ("lengths", "second moments"), "tf=log"),
        ({"tf": "count"}, TEXTS, ("lengths", "second moments"), "weighs the first words more"),
        (PAPER, None, ("lengths", "second moments"), "give a STREAM"),
        (PAPER | {"half_life": 100}, TEXTS, ("lengths", "second moments"), "fade"),
        (PAPER | {"half_life": 100}, TEXTS, ("idf", "Eq. 22"), "fade"),
        (PAPER | {"weighting": "chi2"}, TEXTS, ("lengths", "second moments"), "labels"),
        (TF | {"weighting": "given"}, None, ("counts", "Theorem 2"), "no word is hashed"),
        (PAPER, TEXTS, ("lengths", "Theorem 1"), "covers TF, not TF-IDF"),
        (TF, TEXTS, ("lengths", "Theorem 1"), "Eq. 6"),
        (TF, None, ("lengths", "Theorem 1"), "Eq. 6"),
        (TF, TEXTS, ("products", "Eq. 8"), "Eq. 6"),
        (PAPER, TEXTS, ("lengths", "Proposition 1"), "gaps"),
        (PAPER, TEXTS, ("decisions", "second moments"), "TF-IDF"),
        (TF, TEXTS, ("decisions", "second moments"), "Euclidean"),
        (EUCLIDEAN | {"norm": "l2"}, TEXTS, ("decisions", "second moments"), "norm=l2"),
        (EUCLIDEAN | {"rule": "mistake"}, TEXTS, ("decisions", "second moments"), "mistake rule"),
        (EUCLIDEAN | {"rule": "margin"}, TEXTS, ("decisions", "second moments"), "first words"),
        (EUCLIDEAN, TEXTS, ("decisions", "Lemma 2"), "prototypes"),
    ],
)
def test_a_result_that_does_not_cover_the_model_says_which_premise_fails(given, texts, line, why):
    assert why in reasons(given, texts)[line]


@pytest.mark.parametrize(
    ("given", "texts", "line"),
    [
        (TF, None, ("lengths", "second moments")),
        (TF | {"norm": "l2"}, TEXTS, ("cosines", "second moments")),
        (PAPER, TEXTS, ("lengths", "second moments")),
        (PAPER | {"depth": 3}, TEXTS, ("idf", "Eq. 22")),
        (EUCLIDEAN, TEXTS, ("decisions", "second moments")),
    ],
)
def test_a_result_that_covers_the_model_is_printed(given, texts, line):
    assert reasons(given, texts)[line] is None


def test_with_a_sample_every_line_has_its_measure():
    sample = Sample.of(TEXTS, Settings(**PAPER))
    found = lines(planned(PAPER, TEXTS).size(2**12))
    for (what, _), line in found.items():
        assert (line.measured is None) == (what == "decisions")
    spread = TfIdfSpread(2**12, sample.rarity, 0.9)
    assert found["lengths", "second moments"].guaranteed == spread.error


def test_theorem_1_is_about_the_documents_that_meet_its_condition():
    """One document in 50 has enough words for Eq. 6: the guarantee covers that one."""
    room = Norms(64, 0.9).largest_weight
    long = " ".join(f"word{i}" for i in range(math.ceil(room**-2) + 1))
    planner = planned(TF, [*(f"one two{i}" for i in range(49)), long])
    line = lines(planner.size(64))["lengths", "Theorem 1"]
    assert line.share == pytest.approx(1 / 50)
    assert line.guaranteed == Norms(64, 0.9).error
    errors = planner.size(64).distortion.lengths.each
    assert line.measured == errors[-1] <= line.guaranteed
    assert lines(planner.size(2**16))["lengths", "Theorem 1"].guaranteed is None


def test_a_sample_of_another_model_is_refused():
    with pytest.raises(SettingError, match=r"Sample\.of"):
        Planner(Settings(), sample=Sample(TEXTS))


def test_term_frequencies_have_no_idf():
    planner = planned(TF, TEXTS)
    size = planner.size(2**12)
    assert "idf" not in {line.what for line in size.guarantees} | size.expected.keys()
    assert "idf" not in {need.what for need in planner.needs(0.1)}


def test_an_error_needs_a_size():
    planner = planned(EUCLIDEAN)
    expected = Spread.for_error(0.05).dimensions
    assert expected <= planner.sufficient(0.05) < 2 * expected
    assert planner.guaranteed
    assert planner.sufficient(0.99) == 32
    needs = {(need.what, need.by): need for need in planner.needs(0.05)}
    assert needs["lengths", "second moments"].dimensions == expected
    assert needs["counts", "Theorem 2"].dimensions == math.ceil(math.e / 0.05)
    assert needs["counts", "Theorem 2"].depth == 3
    assert needs["lengths", "Theorem 1"].dimensions is None
    assert "Eq. 6" in needs["lengths", "Theorem 1"].why


def test_tfidf_needs_more_dimensions():
    assert planned(PAPER, TEXTS).sufficient(0.05) > planned(TF).sufficient(0.05)
    needs = {(need.what, need.by): need for need in planned(PAPER, TEXTS).needs(0.05)}
    assert needs["lengths", "Theorem 1"].dimensions is None
    assert needs["decisions", "Lemma 2"].dimensions is None
    assert needs["lengths", "Proposition 1"].dimensions is None


@pytest.mark.parametrize("given", [{}, PAPER, {"tf": "count", "weighting": "tf"}])
def test_an_error_without_a_bound_needs_a_stream(given):
    with pytest.raises(SettingError, match=r"no theorem bounds .* give a STREAM"):
        planned(given).sufficient(0.1)


@pytest.mark.parametrize("error", [0.5, 0.1, 0.02])
def test_without_a_bound_the_size_is_measured(error):
    planner = planned({}, TEXTS)
    found = planner.sufficient(error)
    assert not planner.guaranteed
    assert found.bit_count() == 1
    assert planner.size(found).distortion.lengths.quantile(0.9) <= error
    assert found == 2 or planner.size(found // 2).distortion.lengths.quantile(0.9) > error


def test_an_error_that_the_sample_exceeds(monkeypatch):
    monkeypatch.setattr("clasher.theory.plan.MEASURED_FROM", 4)
    monkeypatch.setattr("clasher.theory.plan.MOST_MEASURED", 8)
    with pytest.raises(SettingError, match=r"exceeds an error of 0\.001 even with 8 dimensions"):
        planned({}, TEXTS).sufficient(0.001)


@pytest.mark.parametrize("confidence", [0.7, 1.0, -1, math.nan])
def test_confidence_out_of_range(confidence):
    with pytest.raises(SettingError, match=r"must be a number between 0.7 and 1\."):
        Planner(Settings(), confidence)


@pytest.mark.parametrize("error", [0, 1, math.nan])
def test_error_out_of_range(error):
    with pytest.raises(SettingError, match="'error' parameter of a plan must be a number between"):
        planned(TF).sufficient(error)


def test_an_error_no_model_can_have():
    with pytest.raises(SettingError, match="more than the possible 1,073,741,824"):
        planned(TF).sufficient(1e-7)
