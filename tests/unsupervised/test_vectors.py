"""HashedTfidf against Algorithm 3 written out plainly."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Analyzer, Clasher, HashedTfidf
from clasher.errors import MissingExtraError, SettingError
from clasher.text.hashing import Hasher
from tests.strategies import cuts, label_free_weightings, norms, text, tfs, words

M = 32
streams = st.lists(words, min_size=1, max_size=12)


def plain(documents, weighting, tf, norm):
    """Algorithm 3 over a stream: the weights of each document, {bucket: weight}."""
    hasher = Hasher(M)
    frequencies, made = dict.fromkeys(range(M), 0), []
    for n, document in enumerate(documents):
        x = {}
        for word in hasher.words(text(document)):
            x[word.bucket] = x.get(word.bucket, 0) + word.sign
        for bucket, count in x.items():
            if tf == "log" and count:
                x[bucket] = math.copysign(1 + math.log(abs(count)), count)
            if weighting == "tfidf":
                x[bucket] *= math.log((n + 1) / (frequencies[bucket] + 1))
        length = math.sqrt(sum(weight**2 for weight in x.values()))
        if norm == "l2" and length:
            x = {bucket: weight / length for bucket, weight in x.items()}
        made.append(x)
        for bucket in x:
            frequencies[bucket] += 1
    return made


def dense(rows):
    return np.array([[row.get(bucket, 0.0) for bucket in range(M)] for row in rows])


@given(streams, label_free_weightings, tfs, norms)
def test_weights_equal_those_of_algorithm_3(documents, weighting, tf, norm):
    vectors = HashedTfidf(M, weighting=weighting, tf=tf, norm=norm)
    found = vectors.step_arrays(map(text, documents)).to_dense(M)
    np.testing.assert_allclose(found, dense(plain(documents, weighting, tf, norm)), atol=1e-5)
    assert vectors.documents == len(documents)


@given(streams, words)
def test_transform_weights_a_document_as_the_next_one(documents, last):
    vectors = HashedTfidf(M).partial_fit([text(document) for document in documents])
    found = vectors.to_dense([text(last)])
    expected = dense(plain([*documents, last], "tfidf", "log", "l2"))[-1:]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert vectors.documents == len(documents)


@given(st.data(), streams)
def test_weights_do_not_depend_on_batches(data, documents):
    texts = [text(document) for document in documents]
    whole, parts = HashedTfidf(M), HashedTfidf(M)
    expected = whole.step_arrays(texts)
    found = [parts.step_arrays(texts[cut]) for cut in data.draw(cuts(len(texts)))]
    assert np.concatenate([part.weights for part in found]).tobytes() == expected.weights.tobytes()


def test_sparse_and_dense_agree():
    vectors = HashedTfidf(M).partial_fit(["wheat corn", "corn oil", "oil and gas"])
    texts = ["wheat oil wheat", "", "nothing known", "corn"]
    sparse = vectors.transform(texts)
    assert sparse.shape == (4, M)
    assert sparse.has_canonical_format
    assert (sparse.data != 0).all()
    np.testing.assert_array_equal(sparse.toarray(), vectors.to_dense(texts))
    assert vectors.transform([]).shape == (0, M)


def test_fit_transform_continues():
    vectors, other = HashedTfidf(M), HashedTfidf(M)
    texts = ["wheat corn", "corn oil", "oil wheat"]
    first, second = vectors.fit_transform(texts[:1]), vectors.fit_transform(texts[1:])
    whole = other.fit_transform(texts).toarray()
    np.testing.assert_array_equal(np.vstack([first.toarray(), second.toarray()]), whole)
    assert not first.nnz  # all words of the first document are in all documents
    assert second.nnz


def test_a_model_gives_the_same_weights(tmp_path):
    """A model file without labels; the word statistics of one with labels."""
    texts = ["wheat corn", "corn oil", "oil and gas", "gas and wheat"]
    model = Clasher(M, max_labels=8, analyzer=Analyzer())
    model.learn_many(texts, [{"a"}, {"b"}, {"a", "c"}, None])
    model.save(tmp_path / "model")
    vectors = HashedTfidf.load(tmp_path / "model")
    assert vectors.documents == 4
    expected = HashedTfidf(M).partial_fit(texts).to_dense(["wheat oil gas"])
    np.testing.assert_array_equal(vectors.to_dense(["wheat oil gas"]), expected)
    vectors.save(tmp_path / "words")
    empty = Clasher.load(tmp_path / "words")
    assert (empty.labels, empty.labelled, empty.documents) == ([], 0, 4)
    empty.learn("wheat", {"grain"})
    assert empty.predict("wheat") == {"grain"}


def test_saving_keeps_everything(tmp_path):
    vectors = HashedTfidf(M, tf="count", norm="none", seed=3, analyzer=Analyzer(min_length=3))
    vectors.partial_fit(["wheat corn", "corn oil"])
    vectors.save(tmp_path / "words")
    back = HashedTfidf.load(tmp_path / "words")
    assert back.settings == vectors.settings
    assert back.nbytes == vectors.nbytes
    back.partial_fit(["corn gas"]).save(tmp_path / "later")
    vectors.partial_fit(["corn gas"]).save(tmp_path / "other")
    assert (tmp_path / "later").read_bytes() == (tmp_path / "other").read_bytes()


def test_memory_is_that_of_the_sketch():
    vectors = HashedTfidf(1000)
    before = vectors.nbytes
    assert before < 11_000
    vectors.partial_fit([f"word{i} and word{i + 1}" for i in range(200)])
    assert vectors.nbytes == before


def test_documents_may_be_hashed_ahead():
    vectors = HashedTfidf(M).partial_fit(["wheat corn", "oil"])
    hashed = vectors.hash_many(["corn oil"])
    assert (
        vectors.to_arrays(hashed).weights.tolist()
        == vectors.to_arrays(["corn oil"]).weights.tolist()
    )
    with pytest.raises(SettingError, match="hashed with other dimensions"):
        vectors.partial_fit(HashedTfidf(M * 2).hash_many(["corn"]))


def test_arrays_need_no_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    vectors = HashedTfidf(M).partial_fit(["wheat", "corn"])
    with pytest.raises(MissingExtraError, match=r"clasher\[sparse\]"):
        vectors.transform(["wheat"])
    assert vectors.to_dense(["wheat"]).any()


def test_properties_and_repr():
    assert repr(HashedTfidf(M)) == "<HashedTfidf dimensions=32 documents=0>"


@pytest.mark.parametrize("wrong", [{"dimensions": 1}, {"tf": "x"}, {"norm": "x"}, {"seed": -1}])
def test_settings_out_of_range(wrong):
    with pytest.raises(SettingError, match=f"{next(iter(wrong))!r} parameter"):
        HashedTfidf(**wrong)


def test_weightings_that_need_labels_are_refused():
    with pytest.raises(SettingError, match="'weighting' parameter of HashedTfidf must be 'tfidf'"):
        HashedTfidf(weighting="chi2")
