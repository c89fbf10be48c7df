"""Columns of labels of every library give the same sets."""

import numpy as np
import pyarrow as pa
import pytest

from clasher import LabelSets
from clasher.errors import LabelError
from clasher.labels import COMPLETE, PARTIAL, UNLABELLED
from support.environment import optional
from tests.test_labels import read, stated

pd, pl = optional("pandas", "test"), optional("polars", "test")

LISTS = [["oil", "gold"], [], ["gold", "grain", "gold"], ["漢字"]]

COLUMNS = {
    "tuples": lambda: [tuple(entry) for entry in LISTS],
    "frozen sets": lambda: [frozenset(entry) for entry in LISTS],
    "keys": lambda: [dict.fromkeys(entry).keys() for entry in LISTS],
    "generator": lambda: (entry for entry in LISTS),
    "numpy": lambda: np.array(LISTS, object),
    "list": lambda: pa.array(LISTS),
    "large_list": lambda: pa.array(LISTS, pa.large_list(pa.large_string())),
    "list_view": lambda: pa.array(LISTS, pa.list_view(pa.string())),
    "large_list_view": lambda: pa.array(LISTS, pa.large_list_view(pa.string_view())),
    "views": lambda: pa.array(LISTS, pa.list_(pa.string_view())),
    "dictionary": lambda: pa.array(LISTS, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "sliced": lambda: pa.array([["before"], *LISTS, ["after"]])[1:-1],
    "sliced view": lambda: pa.array([["before"], *LISTS], pa.list_view(pa.string()))[1:],
    "chunked": lambda: pa.chunked_array([LISTS[:1], LISTS[1:]]),
    "pandas": lambda: pd.Series(LISTS),
    "pandas sets": lambda: pd.Series([set(entry) for entry in LISTS]),
    "pandas Arrow": lambda: pd.Series(LISTS, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    "polars": lambda: pl.Series(LISTS),
    "polars categories": lambda: pl.Series(LISTS, dtype=pl.List(pl.Categorical)),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_all_columns_give_the_same_sets(column):
    sets = LabelSets.of(column())
    assert sets.names == ["gold", "oil", "grain", "漢字"]
    assert read(sets) == [stated(entry) for entry in LISTS]


MAPPINGS = [{"oil": True, "gold": False}, None, {"oil": False}]
BOOLEAN_MAP = pa.map_(pa.string(), pa.bool_())


@pytest.mark.parametrize(
    "column",
    [
        pa.array(MAPPINGS),
        pa.array([entry and list(entry.items()) for entry in MAPPINGS], BOOLEAN_MAP),
        pa.chunked_array([pa.array(MAPPINGS[:1]), pa.array(MAPPINGS[1:], pa.array(MAPPINGS).type)]),
        pd.Series(MAPPINGS),
        pd.Series([MAPPINGS[0], float("nan"), MAPPINGS[2]]),
        pd.Series(MAPPINGS, dtype=pd.ArrowDtype(pa.array(MAPPINGS).type)),
        pl.Series(MAPPINGS),
    ],
    ids=["struct", "map", "chunked", "pandas", "pandas NaN", "pandas Arrow", "polars"],
)
def test_columns_of_mappings(column):
    assert read(LabelSets.of(column)) == [stated(entry) for entry in MAPPINGS]


def test_a_pandas_column_may_mix_lists_and_mappings():
    assert read(LabelSets.of(pd.Series([["oil"], {"gold": False}, None]))) == [
        (COMPLETE, {"oil"}, set()), (PARTIAL, set(), {"gold"}), (UNLABELLED, set(), set()),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(2),
        [None, None],
        pa.array([None, None], pa.list_(pa.string())),
        pa.array([None, []], pa.list_(pa.null()))[:1],
    ],
)
def test_columns_without_labels(column):
    sets = LabelSets.of(column)
    assert set(sets.known.tolist()) == {UNLABELLED}
    assert list(sets) == [set()] * len(column)


def test_a_null_list_hides_its_values():
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"]), mask=pa.array([True, False])
    )
    assert read(LabelSets.of(lists)) == [(UNLABELLED, set(), set()), (COMPLETE, {"b"}, set())]


def test_equal_entries_of_a_dictionary_are_one_label():
    values = pa.DictionaryArray.from_arrays([0, 1], pa.array(["oil", "oil"]))
    assert LabelSets.of(pa.ListArray.from_arrays([0, 1, 2], values)).names == ["oil"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("oil", r"a sequence with one entry per document\. Got str instead"),
        (b"oil", r"a sequence with one entry per document\. Got bytes instead"),
        ({"oil": True}, r"a sequence with one entry per document\. Got dict instead"),
        (None, r"a sequence with one entry per document\. Got NoneType instead"),
        (5, r"a sequence with one entry per document\. Got int instead"),
        ([{"a"}, "oil"], r"document 1: labels must be .* Got 'oil' instead; write {'oil'}\."),
        ([b"oil"], r"document 0: labels must be .* Got b'oil' instead\.$"),
        ([{"a"}, 5], r"document 1: labels must be a set or list of text, .* Got 5 instead\.$"),
        ([{"a"}, {1}], r"document 1: a label must be non-empty text, .* Got 1 instead"),
        ([["a", None]], r"document 0: a label must be non-empty text, .* Got None instead"),
        ([{1: True}], r"document 0: a label must be non-empty text, .* Got 1 instead"),
        ([{"a"}, {""}], r"document 1: a label must be non-empty text, .* Got '' instead"),
        ([{"a"}, {"\ud800"}], r"document 1: .* without lone surrogates\. Got '\\ud800' instead"),
        ([{"a": None}], r"document 0: label 'a' must be True or False, .* Got None instead"),
        ([{"a": 1}], r"document 0: label 'a' must be True or False, .* Got 1 instead"),
        (pa.array([["a"], ["b", ""]]), r"document 1: a label must be non-empty text"),
        (pa.array([["a"], ["b", None]]), "document 1 has a null among its labels; drop it"),
        (pa.chunked_array([[["a"]], [["b"], [None]]]), "document 2 has a null among its labels"),
        (pa.array(["a|b"]), r"must hold lists of text\. Got string instead; split text into lists"),
        (pa.array([[1]]), r"must hold lists of text\. Got list<item: int64> instead"),
        (pd.Series(["a"]), r"must hold lists of text\. Got (large_)?string instead"),
        (pa.array([{"a": 1}]), r"document 0: label 'a' must be True or False"),
    ],
)
def test_bad_columns_of_labels_are_refused(labels, message):
    with pytest.raises(LabelError, match=message):
        LabelSets.of(labels)


def test_a_null_of_a_dictionary_is_no_label():
    values = pa.DictionaryArray.from_arrays([0, 1], pa.array(["oil", None]))
    with pytest.raises(LabelError, match="document 1 has a null among its labels"):
        LabelSets.of(pa.ListArray.from_arrays([0, 1, 2], values))
