"""Features, compared with the same documents as text and with plain sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Analyzer, Clasher
from clasher.errors import SettingError, TextError
from clasher.kernels.hashing import absorb, place
from clasher.text.hashing import Hasher, hash_features

FEATURES = Analyzer(features=True)
NUMBERS = st.floats(-1e6, 1e6, width=32)


def hasher(dimensions=64, **given):
    return Hasher(dimensions, analyzer=FEATURES, **given)


def as_sums(hashed, document=0):
    inside = slice(hashed.indptr[document], hashed.indptr[document + 1])
    return dict(zip(hashed.buckets[inside].tolist(), hashed.counts[inside].tolist(), strict=True))


def plain_sums(features, maker):
    """Add signed values to buckets, in the order of the hashes of names."""
    placed = []
    for name, value in features.items():
        key = maker.initial
        for character in name:
            key = np.uint64(absorb(key, ord(character)))
        placed.append((int(key), np.float32(value)))
    sums = {}
    for key, value in sorted(placed):
        if value:
            bucket, sign = place(np.uint64(key), maker.dimensions)
            sums[int(bucket)] = float(
                np.float32(sums.get(int(bucket), 0)) + value * np.float32(sign)
            )
    return sums


@given(st.lists(st.dictionaries(st.text(max_size=5), NUMBERS, max_size=12), max_size=5))
def test_values_are_summed_in_their_buckets(documents):
    maker = hasher()
    hashed = hash_features(maker, documents)
    assert [as_sums(hashed, at) for at in range(len(documents))] == [
        plain_sums(document, maker) for document in documents
    ]


@given(st.permutations(list(enumerate("abcdefgh"))))
def test_the_order_of_features_does_not_matter(pairs):
    features = {name: number / 7 for number, name in pairs}
    expected = hash_features(hasher(4), [dict(sorted(features.items()))])
    hashed = hash_features(hasher(4), [features])
    for mine, theirs in zip(hashed[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_counts_are_words():
    text = "wheat corn wheat 42 größe"
    counts = {"wheat": 2, "corn": 1, "42": 1, "größe": 1}
    of_text = Hasher(1024, seed=3).hash_one(text)
    assert as_sums(hash_features(hasher(1024, seed=3), [counts])) == as_sums(of_text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 0, "b": False, "c": None, "d": float("nan"), "e": np.nan}, {}),
        ({"a": True, "b": np.bool_(True), "c": np.float64(2)}, {"a": 1.0, "b": 1, "c": 2}),
        ({"colour": "red"}, {"colour=red": 1}),
        ({7: 2, ("a", "b"): 1}, {"7": 2, "('a', 'b')": 1}),
        ({"A": 1}, {"A": 1.0}),
    ],
)
def test_meaning_of_values(one, other):
    assert as_sums(hash_features(hasher(), [one])) == as_sums(hash_features(hasher(), [other]))


def test_names_are_taken_as_they_are():
    upper, lower = (hash_features(hasher(2**20), [{name: 1}]) for name in "Aa")
    assert upper.buckets.tolist() != lower.buckets.tolist()


def test_names_can_be_kept():
    model = Clasher(1024, weighting="tf", words=True, analyzer=FEATURES)
    documents = [{"wheat": 2, "price": 1}, {"gold": 2, "price": 1}] * 5
    model.learn_many(model.hash_features(documents), [{"grain"}, {"metal"}] * 5)
    assert [word for word, _ in model.top_words("grain", 1)] == ["wheat"]


def test_first_features_do_not_weigh_more():
    """First words of a text do with this rule."""
    model = Clasher(2**20, rule="margin", weighting="tf", tf="count", analyzer=FEATURES)
    names = [f"name{number}" for number in range(200)]
    document = model.hash_features([dict.fromkeys(names, 1.0)])
    assert len(document.buckets) == len(names)
    model.learn_many(document, [{"grain"}])
    scores = model.probabilities_many(model.hash_features([{name: 1.0} for name in names]))
    np.testing.assert_allclose(scores, scores[0, 0], rtol=1e-6)


def test_a_model_file_tells_features_from_text(tmp_path):
    model = Clasher(1024, weighting="tf", analyzer=FEATURES)
    model.learn_many(model.hash_features([{"wheat": 1}]), [{"grain"}])
    model.save(tmp_path / "model")
    read = Clasher.load(tmp_path / "model")
    assert read.settings == model.settings
    assert read.predict_many(read.hash_features([{"wheat": 1}]))[0] == {"grain"}
    assert "features" not in Analyzer().to_dict()


@pytest.mark.parametrize(
    ("documents", "problem"),
    [
        (["wheat"], "document 0 must be a mapping of features to values. Got str instead."),
        ([{}, {"a": [1]}], "document 1: feature 'a' must be a number, text or None. Got list"),
        ([{"a": 1e39}], "feature 'a' must be a number of 32 bits at most, and finite. Got 1e"),
        ([{"a": -float("inf")}], "at most, and finite. Got -inf instead."),
        ([{"a": 1j}], "must be a number, text or None. Got complex instead."),
    ],
)
def test_bad_features_are_refused(documents, problem):
    with pytest.raises(TextError, match=problem.replace("+", r"\+")):
        hash_features(hasher(), documents)


def test_text_and_features_do_not_mix():
    of_text, of_features = Clasher(1024), Clasher(1024, analyzer=FEATURES)
    with pytest.raises(TextError, match="the model learns from text, not from features; make one"):
        of_text.hash_features([{"wheat": 1}])
    for call in (of_features.predict, of_features._hasher.words, of_features.observe):
        with pytest.raises(TextError, match="the model learns from features, not from text"):
            call("wheat")
    with pytest.raises(SettingError, match="hashed with other dimensions, another seed or another"):
        of_text.predict_many(of_features.hash_features([{"wheat": 1}]))
