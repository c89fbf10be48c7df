import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import memory
from clasher.bounds import CountMin, Decision, Spread, TfIdfSpread
from clasher.distortion import Sample
from clasher.errors import SettingError
from clasher.planning import Planner
from clasher.settings import Settings

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


def test_without_a_sample_the_theorems_speak_of_term_frequencies():
    size = Planner(Settings(max_labels=100), 0.95).size(2**16)
    found = lines(size)
    assert found["lengths", "second moments"].guaranteed == pytest.approx(Spread(2**16, 0.95).error)
    assert found["counts", "Theorem 2"].guaranteed == CountMin(2**16).error
    assert found["decisions", "Lemma 2"].guaranteed == Decision(2**16, 100, 0.95).margin
    assert all(line.measured is None for line in found.values())
    assert size.distortion is None
    assert ("idf", "Lemma 1") not in found


def test_with_a_sample_every_line_has_its_measure():
    sample = Sample(TEXTS)
    found = lines(Planner(Settings(max_labels=3), sample=sample).size(2**12))
    for (what, _), line in found.items():
        assert (line.measured is None) == (what == "decisions")
    assert found["lengths", "Theorem 1"].guaranteed is None  # a word stands out in every document
    assert found["products", "Eq. 8"].guaranteed is None
    assert found["decisions", "Lemma 2"].guaranteed is None
    assert found["lengths", "Proposition 1"].guaranteed is None
    spread = TfIdfSpread(2**12, sample.rarity, 0.9)
    assert found["lengths", "second moments"].guaranteed == spread.error


def test_term_frequencies_have_no_idf():
    planner = Planner(Settings(max_labels=3), sample=Sample(TEXTS, idf=False))
    size = planner.size(2**12)
    assert "idf" not in {line.what for line in size.guarantees} | size.expected.keys()
    assert "idf" not in {need.what for need in planner.needs(0.1)}


def test_an_error_asks_for_a_size():
    planner = Planner(Settings(max_labels=10))
    wanted = Spread.for_error(0.05).dimensions
    assert wanted <= planner.sufficient(0.05) < 2 * wanted
    assert planner.sufficient(0.99) == 32
    needs = {(need.what, need.by): need for need in planner.needs(0.05)}
    assert needs["lengths", "second moments"].dimensions == wanted
    assert needs["counts", "Theorem 2"].dimensions == math.ceil(math.e / 0.05)
    assert needs["counts", "Theorem 2"].depth == 3
    assert needs["decisions", "Lemma 2"].dimensions is not None


def test_a_sample_asks_for_more():
    plain, measured = (Planner(Settings(max_labels=10), sample=s) for s in (None, Sample(TEXTS)))
    assert measured.sufficient(0.05) > plain.sufficient(0.05)
    needs = {(need.what, need.by): need for need in measured.needs(0.05)}
    assert needs["lengths", "Theorem 1"].dimensions is None
    assert needs["decisions", "Lemma 2"].dimensions is None
    assert needs["lengths", "Proposition 1"].dimensions > 10**9


@pytest.mark.parametrize("confidence", [0.7, 1.0, -1, math.nan])
def test_confidence_out_of_range(confidence):
    with pytest.raises(SettingError, match=r"must be a number between 0.7 and 1\."):
        Planner(Settings(), confidence)


@pytest.mark.parametrize("error", [0, 1, math.nan])
def test_error_out_of_range(error):
    with pytest.raises(SettingError, match="'error' parameter of a plan must be a number between"):
        Planner(Settings()).sufficient(error)


def test_an_error_no_model_can_have():
    with pytest.raises(SettingError, match="more than the 1,073,741,824 there can be"):
        Planner(Settings()).sufficient(1e-7)
