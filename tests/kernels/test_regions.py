"""Documents that are vectors already."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import SettingError
from tests.strategies import norms, similarities, streams, text

M = 16
linear_in_counts = st.sampled_from(["centroid", "mistake", "perceptron"])


@given(streams(), linear_in_counts, similarities, norms)
def test_weights_that_are_counts_give_the_model_of_counts(stream, rule, similarity, norm):
    texts, labels = [text(document) for document, _ in stream], [own for _, own in stream]
    how = {"rule": rule, "similarity": similarity, "norm": norm, "max_labels": 8}
    counting = Clasher(M, weighting="tf", tf="count", **how)
    counting.learn_many(texts, labels)
    hashed = counting.hash_many(texts)
    model = Clasher(M, weighting="given", **how)
    rows = model.take_rows(hashed.indptr, hashed.buckets, hashed.counts)
    model.learn_many(rows, labels)
    assert model.probabilities_many(rows).tobytes() == counting.probabilities_many(texts).tobytes()
    assert model.predict_many(rows) == counting.predict_many(texts)


@given(st.permutations(range(5)))
def test_the_order_of_buckets_is_no_lead(order):
    """First words of a text weigh more with the margin rule; first columns of a matrix do not."""
    weights = np.arange(1.0, 6.0)
    model = Clasher(8, weighting="given")
    for shuffled in (list(range(5)), list(order)):
        rows = model.take_rows([0, 5], shuffled, weights[shuffled])
        model.learn_many(rows, [{"a"}])
    scores = [
        model.probabilities_many(model.take_rows([0, 5], own, weights[list(own)]))[0, 0]
        for own in (range(5), order)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("indptr", "buckets", "weights", "what"),
    [
        ([], [], [], "'indptr' parameter of take_rows"),
        ([1, 2], [0, 1], [1, 1], "'indptr' parameter"),
        ([0, 3], [0, 1], [1, 1], "'indptr' parameter"),
        ([0, 2, 1, 2], [0, 1], [1, 1], "'indptr' parameter"),
        ([0, 2], [0, 1], [1], "'weights' parameter"),
        ([0, 2], [0, 1], [1, np.nan], "'weights' parameter"),
        ([0, 2], [0, M], [1, 1], "'buckets' parameter"),
        ([0, 2], [-1, 0], [1, 1], "'buckets' parameter"),
        ([0, 2], [3, 3], [1, 1], "each once in a document"),
        ([0, 3], [3, 1, 3], [1, 1, 1], "each once in a document"),
    ],
)
def test_what_kernels_could_not_bear_is_refused(indptr, buckets, weights, what):
    with pytest.raises(SettingError, match=what):
        Clasher(M).take_rows(indptr, buckets, weights)


def test_the_same_bucket_in_two_documents_is_no_double():
    assert Clasher(M).take_rows([0, 2, 4], [3, 1, 1, 3], [1.0] * 4).documents == 2


def test_given_documents_have_no_words():
    with pytest.raises(SettingError, match="'words' parameter of Clasher must be False"):
        Clasher(M, weighting="given", words=True)
