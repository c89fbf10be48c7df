"""The vectorizer gives the vectors of the model."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import SGDClassifier

from clasher import Analyzer, Clasher, HashedTfidf
from clasher.adapters.sklearn import HashedTfidfVectorizer
from clasher.errors import SettingError, TextError
from clasher.kernels.sketch import weigh
from clasher.learning.memory import work_for
from clasher.text.hashing import Hasher
from tests.strategies import cuts, label_free_weightings, norms, text, tfs, words

M = 32
NEWS = ["wheat and corn", "corn and oil", "oil and gas", "gas and wheat and corn"]
streams = st.lists(words, min_size=1, max_size=12)


def embedded(model, document):
    """Return the vector of a document in a model."""
    hashed = model.hash_many([document])
    work = work_for(model._state, hashed)
    used = hashed.buckets, hashed.counts, hashed.words.places, hashed.words.keys
    weigh(model._state, model._setting, *used, work)
    row = np.zeros(model.settings.dimensions, np.float32)
    row[hashed.buckets] = work.x[: len(hashed.buckets)]
    return row


@given(streams, words, label_free_weightings, tfs, norms, st.sampled_from(["margin", "centroid"]))
def test_vectors_are_those_of_the_model(documents, last, weighting, tf, norm, rule):
    how = {"weighting": weighting, "tf": tf, "norm": norm}
    texts, analyzer = [text(document) for document in documents], Analyzer(min_length=1, pairs=5)
    model = Clasher(M, rule=rule, analyzer=analyzer, max_labels=8, **how)
    vectorizer = HashedTfidfVectorizer(M, analyzer=analyzer, lead=rule == "margin", **how)
    rows = []
    for document in texts:
        rows.append(embedded(model, document))
        model.learn(document, {"any"})
    streamed = vectorizer.partial_fit_transform(texts)
    np.testing.assert_array_equal(streamed.toarray(), rows)
    found = vectorizer.transform([text(last)]).toarray()[0]
    np.testing.assert_array_equal(found, embedded(model, text(last)))


@given(st.data(), streams)
def test_however_a_stream_is_cut_the_vectors_are_the_same(data, documents):
    texts = [text(document) for document in documents]
    whole, parts = HashedTfidfVectorizer(M), HashedTfidfVectorizer(M)
    expected = whole.partial_fit_transform(texts).toarray()
    found = [parts.partial_fit_transform(texts[cut]) for cut in data.draw(cuts(len(texts)))]
    np.testing.assert_array_equal(np.vstack([part.toarray() for part in found]), expected)


@given(streams)
def test_counts_made_elsewhere_are_weighed_the_same(documents):
    texts = [text(document) for document in documents]
    hashed = Hasher(M).hash_many(texts)
    counts = csr_array((hashed.counts, hashed.buckets, hashed.indptr), shape=(len(texts), M))
    counts.data += (counts.data == 0) * 1.0  # a matrix has no zeros that count
    vectors = HashedTfidf(M)
    given_counts = vectors.take_rows(counts.indptr, counts.indices, counts.data)
    expected = vectors.partial_fit(given_counts).to_dense(given_counts)
    for matrix in (counts, csr_matrix(counts), counts.toarray()):
        found = HashedTfidfVectorizer().fit_transform(matrix).toarray()
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_idf_is_that_of_scikit_learn_without_its_one():
    """ln((n + 1) / (df + 1)): TfidfTransformer adds 1, so that no word weighs nothing."""
    counts = HashingVectorizer(n_features=64, norm=None).transform(NEWS)
    ours = HashedTfidfVectorizer(tf="count", norm="none").fit_transform(counts)
    theirs = TfidfTransformer(norm=None).fit(counts)
    expected = counts.toarray() * (theirs.idf_ - 1.0)
    np.testing.assert_allclose(ours.toarray(), expected, atol=1e-6)


def test_fit_starts_from_scratch_and_partial_fit_continues():
    vectorizer = HashedTfidfVectorizer(M).fit(NEWS)
    assert vectorizer.fit(NEWS[:2]).vectors_.documents == 2
    assert vectorizer.partial_fit(NEWS[2:]).vectors_.documents == 4
    whole = HashedTfidfVectorizer(M)
    expected = whole.fit_transform(NEWS).toarray()
    np.testing.assert_array_equal(vectorizer.transform(NEWS).toarray(), expected)


def test_sparse_matrices_are_of_the_kind_that_scikit_learn_gives():
    assert isinstance(HashedTfidfVectorizer(M).fit_transform(NEWS), csr_matrix)
    if "sparse_interface" in sklearn.get_config():
        with sklearn.config_context(sparse_interface="sparray"):
            assert isinstance(HashedTfidfVectorizer(M).fit_transform(NEWS), csr_array)


def test_solvers_that_want_32_bits_take_the_vectors():
    X = HashedTfidfVectorizer(M).fit_transform(NEWS)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert SGDClassifier(random_state=0).fit(X, [0, 1, 1, 0]).predict(X).shape == (4,)


def test_names_of_buckets_and_words():
    vectorizer = HashedTfidfVectorizer(1024, words=True).fit(NEWS)
    names = vectorizer.get_feature_names_out()
    bucket = next(word.bucket for word in Hasher(1024).words("wheat"))
    assert len(set(names)) == 1024
    assert names[bucket] == f"bucket{bucket}:wheat"
    assert {name.partition(":")[2] for name in names} == {"", "wheat", "corn", "and", "oil", "gas"}
    plain = HashedTfidfVectorizer(4).fit(NEWS).get_feature_names_out()
    assert plain.tolist() == ["bucket0", "bucket1", "bucket2", "bucket3"]
    frame = pd.DataFrame({"wheat": [1.0, 0.0], "oil": [0.0, 2.0]})
    own = HashedTfidfVectorizer().fit(frame).get_feature_names_out()
    assert own.tolist() == ["wheat", "oil"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_come_out(library):
    vectorizer = HashedTfidfVectorizer(8, sparse_output=False).set_output(transform=library)
    frame = vectorizer.fit_transform(NEWS)
    assert isinstance(frame, {"pandas": pd, "polars": pl}[library].DataFrame)
    assert list(frame.columns) == vectorizer.get_feature_names_out().tolist()
    expected = clone(vectorizer).set_output(transform="default").fit_transform(NEWS)
    np.testing.assert_array_equal(frame.to_numpy(), expected)


COLUMNS = {
    "list": list(NEWS),
    "iterator": None,
    "array": np.array(NEWS),
    "objects": np.array(NEWS, object),
    "series": pd.Series(NEWS),
    "polars": pl.Series(NEWS),
    "arrow": pa.array(NEWS),
    "chunks": pa.chunked_array([NEWS[:1], NEWS[1:]]),
    "frame of one column": pd.DataFrame({"text": NEWS}),
}


@pytest.mark.parametrize("form", COLUMNS)
def test_all_forms_of_text(form):
    column = iter(NEWS) if form == "iterator" else COLUMNS[form]
    expected = HashedTfidfVectorizer(M).fit_transform(NEWS).toarray()
    np.testing.assert_array_equal(
        HashedTfidfVectorizer(M).fit_transform(column).toarray(), expected
    )


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_a_table(table):
    news = table({"title": ["a", "b", "c", "d"], "text": NEWS})
    expected = HashedTfidfVectorizer(M).fit_transform(NEWS).toarray()
    found = HashedTfidfVectorizer(M, column="text").fit_transform(news).toarray()
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(SettingError, match="must be one of 'title', 'text', the columns of X"):
        HashedTfidfVectorizer(M, column="body").fit(news)
    with pytest.raises(SettingError, match=r"name the one .* HashedTfidfVectorizer\(column='tit"):
        HashedTfidfVectorizer(M).fit(news)
    with pytest.raises(SettingError, match="None, or X a table with a column 'text'"):
        HashedTfidfVectorizer(M, column="text").fit(NEWS)


@pytest.mark.parametrize("how", [{"lead": True, "words": True}, {"analyzer": Analyzer.rich()}])
def test_pickling_keeps_everything(how):
    vectorizer = HashedTfidfVectorizer(M, **how).fit(NEWS[:2])
    back = pickle.loads(pickle.dumps(vectorizer))
    for one in (vectorizer, back):
        one.partial_fit(NEWS[2:])
    first, second = (one.transform(NEWS).toarray() for one in (vectorizer, back))
    np.testing.assert_array_equal(first, second)
    assert back.get_feature_names_out().tolist() == vectorizer.get_feature_names_out().tolist()
    assert pickle.loads(pickle.dumps(HashedTfidfVectorizer(M))).get_params()["dimensions"] == M


def test_bad_input_is_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        HashedTfidfVectorizer().transform(NEWS)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        HashedTfidfVectorizer().get_feature_names_out()
    with pytest.raises(TextError, match="wrap it in a list"):
        HashedTfidfVectorizer().fit("wheat")
    with pytest.raises(SettingError, match=r"'lead' parameter .* must be False for a matrix"):
        HashedTfidfVectorizer(lead=True).fit([[1.0, 2.0]])
    with pytest.raises(SettingError, match="'weighting' parameter"):
        HashedTfidfVectorizer(weighting="chi2").fit(NEWS)
    with pytest.raises(TextError, match=r"fitted with 2 features\. Got text instead"):
        HashedTfidfVectorizer().fit([[1.0, 2.0]]).transform(NEWS)
    with pytest.raises(TextError, match="must be text"):
        HashedTfidfVectorizer(M).fit(NEWS).transform([[1.0, 2.0]])


def test_no_documents_are_no_rows_and_numbers_of_numpy_are_numbers():
    assert HashedTfidfVectorizer(np.int64(M)).fit(NEWS).transform([]).shape == (0, M)


def test_matrices_given_are_left_as_they_are():
    unsorted = csr_matrix(([1.0, 2.0, 0.0], [1, 0, 1], [0, 2, 3]), shape=(2, 2))
    before = [array.copy() for array in (unsorted.data, unsorted.indices, unsorted.indptr)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HashedTfidfVectorizer().fit_transform(unsorted)
    for own, kept in zip((unsorted.data, unsorted.indices, unsorted.indptr), before, strict=True):
        np.testing.assert_array_equal(own, kept)
