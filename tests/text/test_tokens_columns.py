"""Columns of text of every library give the same words."""

import numpy as np
import pyarrow as pa
import pytest

from clasher import Clasher
from clasher.errors import TextError
from clasher.text.hashing import Hasher
from clasher.text.tokens import as_buffers
from support.environment import optional

pd, pl = optional("pandas", "test"), optional("polars", "test")

DOCUMENTS = ["Oil prices", "", "wheat ☂ 漢字", "ümlaut", "oil oil"]

COLUMNS = {
    "list": lambda t: t,
    "tuple": tuple,
    "generator": lambda t: (text for text in t),
    "dictionary keys": dict.fromkeys,
    "numpy text": np.array,
    "numpy objects": lambda t: np.array(t, object),
    "numpy strings": lambda t: np.array(t, np.dtypes.StringDType()),
    "string": pa.array,
    "large_string": lambda t: pa.array(t, pa.large_string()),
    "string_view": lambda t: pa.array(t, pa.string_view()),
    "sliced": lambda t: pa.array(["before", None, *t, "after"])[2:-1],
    "sliced large": lambda t: pa.array(["before", *t], pa.large_string())[1:],
    "sliced view": lambda t: pa.array(["before", *t], pa.string_view())[1:],
    "chunked": lambda t: pa.chunked_array([t[:1], [], t[1:3], t[3:]]),
    "chunked slice": lambda t: pa.chunked_array([["before"], t[:2], t[2:]])[1:],
    "one chunk": lambda t: pa.chunked_array([t]),
    "dictionary": lambda t: pa.array(t).dictionary_encode(),
    "large dictionary": lambda t: pa.array(t, pa.large_string()).dictionary_encode(),
    "chunks with their dictionaries": lambda t: pa.chunked_array(
        [pa.array(t[:3]).dictionary_encode(), pa.array(t[3:]).dictionary_encode()]
    ),
    "pandas str": lambda t: pd.Series(t, dtype="str"),
    "pandas objects": lambda t: pd.Series(t, dtype=object),
    "pandas Arrow": lambda t: pd.Series(t, dtype=pd.ArrowDtype(pa.large_string())),
    "pandas category": lambda t: pd.Series(t, dtype="category"),
    "pandas filtered": lambda t: pd.Series([*t, "no"])[lambda s: s != "no"],
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars slice": lambda t: pl.Series(["before", *t]).slice(1),
    "polars categories": lambda t: pl.Series(t, dtype=pl.Categorical),
    "Arrow array protocol": lambda t: OnlyArrowArray(pa.array(t)),
    "Arrow extension": lambda t: pa.ExtensionArray.from_storage(
        pa.opaque(pa.string(), "text", "test"), pa.array(t)
    ),
}


class OnlyArrowArray:
    """A column that only has the Arrow interface."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_all_columns_give_the_same_words(column):
    hasher = Hasher(512)
    expected = hasher.hash_many(DOCUMENTS)
    hashed = hasher.hash_many(column(DOCUMENTS))
    for mine, theirs in zip(hashed[:3], expected[:3], strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize(
    "empty",
    [
        [],
        pa.array([], pa.string()),
        pa.array([], pa.large_string()),
        pa.chunked_array([], pa.string()),
        pa.Array.from_buffers(pa.string(), 0, [None, None, pa.py_buffer(b"")]),
        pa.array([]),
        pd.Series([], dtype=object),
        pl.Series([], dtype=pl.String),
    ],
)
def test_no_documents(empty):
    assert as_buffers(empty).documents == 0
    assert list(Clasher(16, max_labels=2).predict_many(empty)) == []


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", 1], r"document 1 must be text \(str\)\. Got int instead"),
        ([None], r"document 0 must be text \(str\)\. Got NoneType instead"),
        (["a", b"b"], r"document 1 must be text \(str\)\. Got bytes instead"),
        (np.array(["a", 2.5], object), r"document 1 must be text \(str\)\. Got float instead"),
        (pd.Series(["a", "b", 1], dtype=object), r"document 2 must be text"),
        (pa.array(["a", None]), "document 1 is null; drop it, or give it an empty text"),
        (pa.chunked_array([["a"], ["b", None]]), "document 2 is null"),
        (pa.array([None, "a", "b", None])[1:], "document 2 is null"),
        (pa.nulls(2), "document 0 is null"),
        (pa.array(["a", None]).dictionary_encode(), "document 1 is null"),
        (pa.DictionaryArray.from_arrays([0, 1], pa.array(["a", None])), "document 1 is null"),
        (pd.Series(["a", None]), "document 1 is null"),
        (pl.Series(["a", None]), "document 1 is null"),
        (pa.array([1, 2]), r"a column of documents must hold text\. Got int64 instead"),
        (pa.array([b"a"]), r"must hold text\. Got binary instead"),
        (pa.array([1]).dictionary_encode(), r"must hold text\. Got dictionary<values=int64"),
        (pd.DataFrame({"a": ["b"]}), r"a table with the columns 'a'; take one"),
        ("one text", r"must be a sequence of text\. Got str instead; wrap it in a list"),
        (b"one text", r"must be a sequence of text\. Got bytes instead\.$"),
        (None, r"must be a sequence of text\. Got NoneType instead"),
        (5, r"must be a sequence of text\. Got int instead"),
    ],
)
def test_a_column_that_is_not_text_is_refused(column, message):
    with pytest.raises(TextError, match=message):
        as_buffers(column)


@pytest.mark.parametrize("bad", [None, 1, b"oil", ["oil"]])
def test_one_document_must_be_text(bad):
    model = Clasher(16, max_labels=2)
    with pytest.raises(TextError, match=r"a document must be text \(str\)\. Got"):
        model.predict(bad)


def test_lone_surrogates_in_a_pandas_column():
    hashed = Hasher(64).hash_many(pd.Series(["oil\ud800gas", "x"], dtype=object))
    assert np.array_equal(hashed.buckets, Hasher(64).hash_one("oil gas").buckets)
