import os
import subprocess
import sys

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Clasher, LabelSets
from clasher.errors import LabelCapacityError, LabelError
from clasher.kernels.state import LABELS
from clasher.label_columns import COMPLETE, PARTIAL, UNLABELLED
from clasher.labels import LabelIndex
from tests.models import RULES, state_bytes

EXAMPLES = settings(max_examples=40 if numba.config.DISABLE_JIT else 150)
names = st.text(min_size=1, max_size=4)
some_names = st.sets(st.sampled_from(["oil", "gold", "grain", "漢字", "a b|c"]), max_size=3)
any_labels = st.one_of(
    some_names,
    some_names.map(list),
    st.lists(st.sampled_from(["oil", "gold"]), max_size=3),
    st.dictionaries(st.sampled_from(["oil", "gold", "tin"]), st.booleans()),
    st.none(),
    st.sets(names, max_size=2),
)


def stated(labels):
    """What one document's labels say: how much is known, which hold and which do not."""
    if labels is None:
        return UNLABELLED, set(), set()
    if isinstance(labels, dict):
        return PARTIAL, {k for k, v in labels.items() if v}, {k for k, v in labels.items() if not v}
    return COMPLETE, set(labels), set()


def read(sets):
    """The same from label sets."""
    rows = []
    for d in range(len(sets)):
        own = slice(sets.indptr[d], sets.indptr[d + 1])
        pairs = {
            (sets.names[i], bool(y)) for i, y in zip(sets.ids[own], sets.yes[own], strict=True)
        }
        rows.append(
            (int(sets.known[d]), {n for n, y in pairs if y}, {n for n, y in pairs if not y})
        )
    return rows


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(any_labels, max_size=6))
@EXAMPLES
def test_three_states_are_read(labels):
    sets = LabelSets.of(labels)
    assert read(sets) == [stated(entry) for entry in labels]
    assert list(sets) == [yes for _, yes, _ in map(stated, labels)]
    assert LabelSets.of(sets) is sets


@given(st.lists(st.one_of(some_names, st.none(), st.sets(names, max_size=2)), max_size=6))
@EXAMPLES
def test_arrow_round_trip(labels):
    sets = LabelSets.of(labels)
    arrow = sets.to_arrow()
    assert arrow.is_null().to_pylist() == [entry is None for entry in labels]
    again = LabelSets.of(arrow)
    assert read(again) == read(sets)
    assert again.names == sets.names
    assert again.to_arrow() == arrow


@given(st.lists(any_labels, max_size=6), st.data())
@EXAMPLES
def test_numbers_do_not_depend_on_the_order_within_a_document(labels, data):
    """They follow the document a name first appears in, then the text."""
    shuffled = [
        entry
        if entry is None
        else dict(data.draw(st.permutations(list(entry.items()))))
        if isinstance(entry, dict)
        else data.draw(st.permutations(list(entry)))
        for entry in labels
    ]
    order = []
    for entry in labels:
        order += sorted(set(entry or ()) - set(order))
    assert LabelSets.of(labels).names == LabelSets.of(shuffled).names == order


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
def test_what_is_not_labels_is_refused(labels, message):
    with pytest.raises(LabelError, match=message):
        LabelSets.of(labels)


def test_a_null_of_a_dictionary_is_no_label():
    values = pa.DictionaryArray.from_arrays([0, 1], pa.array(["oil", None]))
    with pytest.raises(LabelError, match="document 1 has a null among its labels"):
        LabelSets.of(pa.ListArray.from_arrays([0, 1, 2], values))


# ── label sets as a sequence ─────────────────────────────────────────────────────────────────────


@given(st.lists(any_labels, max_size=6), st.integers(-7, 7), st.integers(-7, 7))
@EXAMPLES
def test_slices_are_those_of_a_list(labels, start, stop):
    sets = LabelSets.of(labels)
    part = sets[start:stop]
    assert read(part) == read(sets)[start:stop]
    assert list(part) == list(sets)[start:stop]
    assert part.documents.tolist() == np.repeat(range(len(part)), np.diff(part.indptr)).tolist()


@given(st.lists(st.lists(any_labels, max_size=4), max_size=4))
@EXAMPLES
def test_joined_parts_are_the_whole(parts):
    whole = LabelSets.join([LabelSets.of(part) for part in parts])
    assert read(whole) == [stated(entry) for part in parts for entry in part]
    sliced = LabelSets.join([whole[:2], whole[2:]])
    assert read(sliced) == read(whole)


def test_one_document_of_many():
    sets = LabelSets.of([{"a"}, {"b": True, "c": False}, None])
    assert (sets[0], sets[-2], sets[2]) == ({"a"}, {"b"}, set())
    with pytest.raises(IndexError):
        sets[3]
    with pytest.raises(LabelError, match="step of 1 only"):
        sets[::2]


def test_equality():
    sets = LabelSets.of([{"a", "b"}, set()])
    assert sets == [{"a", "b"}, set()]
    assert sets == LabelSets.of([["b", "a"], None])
    assert sets != [{"a", "b"}]
    assert sets != [{"a"}, set()]
    assert sets != "ab"
    assert sets != 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(sets)


def test_repr_shows_the_first_sets():
    assert repr(LabelSets.of([["a"], None])) == "LabelSets([{'a'}, set()], documents=2)"
    assert repr(LabelSets.of([["a"]] * 5)) == ("LabelSets([{'a'}, {'a'}, {'a'}, …], documents=5)")


def test_unlabelled():
    sets = LabelSets.unlabelled(3)
    assert read(sets) == [(UNLABELLED, set(), set())] * 3
    assert sets.to_arrow().to_pylist() == [None] * 3


# ── the index ────────────────────────────────────────────────────────────────────────────────────


def test_adopted_labels_are_sorted_and_each_once():
    index = LabelIndex(8, ["oil", "gold"])
    adopted = index.adopt(LabelSets.of([["tin", "gold", "oil", "gold"], None, {"oil": False}]))
    assert index.names == ["oil", "gold", "tin"]
    assert adopted.ids.tolist() == [0, 1, 2, 0]
    assert adopted.indptr.tolist() == [0, 3, 3, 4]
    assert adopted.yes.tolist() == [True, True, True, False]
    assert adopted.known.tolist() == [COMPLETE, UNLABELLED, PARTIAL]


def test_new_labels_are_numbered_by_document_and_text_whatever_their_numbers_were():
    names = ["z", "y", "x", "unused", "z"]
    sets = LabelSets(names, np.array([1, 2, 0, 4]), np.array([0, 2, 3, 4]))
    index = LabelIndex(8)
    index.adopt(sets)
    assert index.names == ["x", "y", "z"]


def test_a_full_index_says_what_to_do():
    index = LabelIndex(2, ["oil"])
    with pytest.raises(
        LabelCapacityError,
        match=r"label 'tin' would be number 3, and max_labels is 2; raise max_labels, or set "
        r"on_full='evict' to give up the longest unseen label",
    ):
        index.adopt(LabelSets.of([{"gold"}, {"tin", "zinc"}]))
    assert index.names == ["oil"]
    assert index.has_room(LabelSets.of([{"gold"}, {"oil"}]))
    assert not index.has_room(LabelSets.of([{"gold"}, {"tin"}]))


@pytest.mark.parametrize("use", ["learn_many", "step_many"])
@pytest.mark.parametrize("on_full", ["error", "evict"])
def test_a_batch_that_does_not_fit_changes_nothing(use, on_full):
    model = Clasher(64, max_labels=3, on_full=on_full)
    model.learn_many(["oil", "gold mine", "oil rig"], [{"oil"}, {"gold"}, {"oil"}])
    before, labels = state_bytes(model), model.labels
    texts = ["one more", "too many", "labels"]
    with pytest.raises(LabelCapacityError, match="max_labels is 3; raise max_labels"):
        getattr(model, use)(texts, [{"tin"}, {"a", "b", "c", "d"}, {"zinc"}])
    assert model.labels == labels
    assert state_bytes(model) == before


def test_documents_and_labels_must_be_as_many():
    model = Clasher(64, max_labels=3)
    with pytest.raises(LabelError, match="Got 2 documents and 1 entries of labels"):
        model.learn_many(["a", "b"], [{"oil"}])
    with pytest.raises(LabelError, match="every document needs an entry of labels"):
        model.step_many(model.hash_many(["a"]), [])
    assert model.documents == 0


# ── eviction ─────────────────────────────────────────────────────────────────────────────────────


def evicting(rule="margin", max_labels=2, dimensions=64):
    return Clasher(dimensions, rule=rule, max_labels=max_labels, on_full="evict")


def label_state(model, number):
    """All that the state knows of one label."""
    state = model._state
    return {
        "rows": state.rows[:, :, number],
        "counts": state.counts[number],
        "norms": state.norms[number],
        "scales": state.scales[number],
        "with": state.together[number] if state.together.size else 0,
        "of": state.together[:, number] if state.together.size else 0,
        "seen": state.seen[number],
        "bias": state.bias[:, number],
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_longest_unseen_label_goes(rule):
    model = evicting(rule, max_labels=3)
    for label in ["a", "b", "c", "a"]:
        model.learn(f"about {label}", {label})
    model.learn("about d", {"d"})
    assert model.labels == ["a", "d", "c"]
    model.learn("nothing of c", {"c": False})  # spoken of, so seen
    model.learn("about e", {"e"})
    assert model.labels == ["e", "d", "c"]


@pytest.mark.parametrize("rule", RULES)
def test_an_evicted_label_leaves_no_trace(rule):
    """Its number starts anew as if it had never been given away."""
    model = evicting(rule, max_labels=2)
    fresh = Clasher(64, rule=rule, max_labels=2)
    for _ in range(4):
        model.learn("oil prices and wheat prices", {"oil", "wheat"})
        model.learn("wheat harvest", {"wheat"})
        model.learn("oil rig prices", {"oil"})
    model.learn("wheat", {"wheat"})
    unused = label_state(fresh, 0)
    model.learn("", {"gold": False})  # takes the number of oil, and teaches no weight
    assert model.labels == ["gold", "wheat"]
    for name, value in label_state(model, 0).items():
        if name not in ("seen", "bias"):
            np.testing.assert_array_equal(value, unused[name], err_msg=name)
    fresh.learn("", {"gold": False})
    np.testing.assert_array_equal(label_state(model, 0)["bias"], label_state(fresh, 0)["bias"])


@pytest.mark.parametrize("rule", RULES)
def test_labels_of_the_document_are_not_evicted(rule):
    model = evicting(rule, max_labels=3)
    for label in ["a", "b", "c"]:
        model.learn(f"about {label}", {label})
    model.learn("about two", {"a", "d"})  # a is the longest unseen, but of this document
    assert model.labels == ["a", "d", "c"]
    model.learn("about three", ["e", "f", "c"])
    assert sorted(model.labels) == ["c", "e", "f"]


def test_too_many_labels_in_one_document():
    model = evicting(max_labels=2)
    model.learn("about a", {"a"})
    before = state_bytes(model)
    message = "document 0 has 3 labels, and max_labels is 2; raise max_labels"
    with pytest.raises(LabelCapacityError, match=message):
        model.learn("too many", {"x", "y", "z"})
    assert (model.labels, state_bytes(model)) == (["a"], before)
    model.learn("three times two", ["x", "y", "x", "y", "x"])
    assert sorted(model.labels) == ["x", "y"]


@pytest.mark.parametrize("rule", RULES)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["oil", "gas", "corn", "tea"]), max_size=3).map(" ".join),
            st.one_of(
                st.sets(st.sampled_from("abcdef"), max_size=2),
                st.dictionaries(st.sampled_from("abcdef"), st.booleans(), max_size=2),
                st.none(),
            ),
        ),
        max_size=10,
    ),
    st.integers(1, 4),
)
@settings(max_examples=15 if numba.config.DISABLE_JIT else 50)
def test_evicting_does_not_depend_on_how_the_stream_is_cut(rule, stream, cut):
    texts, labels = [text for text, _ in stream], [known for _, known in stream]
    whole, parts, singly = (evicting(rule, 2, 16) for _ in range(3))
    predicted = list(whole.step_many(texts, labels))
    by_parts = []
    for at in range(0, len(texts), cut):
        by_parts += parts.step_many(texts[at : at + cut], labels[at : at + cut])
    one_by_one = []
    for text, known in stream:
        one_by_one.append(singly.predict(text))
        singly.learn(text, known)
    assert predicted == by_parts == one_by_one
    assert whole.labels == parts.labels == singly.labels
    assert state_bytes(whole) == state_bytes(parts) == state_bytes(singly)
    assert whole._state.totals[LABELS] == len(whole.labels) <= 2


def test_memory_stays_bounded_while_labels_come_and_go():
    model = evicting("centroid", max_labels=40, dimensions=32)
    sizes = set()
    for i in range(200):
        model.learn(f"word{i} again", {f"label{i}", f"other{i % 7}"})
        sizes.add(model.nbytes)
        assert len(model.labels) <= 40
    assert sizes == {model.max_nbytes, min(sizes)}
    assert f"label{199}" in model.labels


# ── hiding, renaming, removing ───────────────────────────────────────────────────────────────────


@given(st.lists(st.tuples(any_labels, st.booleans()), max_size=6))
def test_hidden_documents_are_unlabelled(documents):
    labels, kept = [known for known, _ in documents], [keep for _, keep in documents]
    shown = LabelSets.of(labels).only(np.array(kept, np.bool_))
    expected = LabelSets.of(
        [known if keep else None for known, keep in zip(labels, kept, strict=True)]
    )
    assert list(shown) == list(expected)
    assert shown.known.tolist() == expected.known.tolist()
    assert shown.indptr.tolist() == expected.indptr.tolist()
    assert shown.yes.tolist() == expected.yes.tolist()


def test_a_label_that_was_meant_is_named():
    index = LabelIndex(4, ["wheat", "gold"])
    assert index.number("gold") == 1
    with pytest.raises(LabelError, match="the model knows no label 'whaet'; did you mean 'wheat'"):
        index.number("whaet")
    with pytest.raises(LabelError, match=r"the model knows no label 'xyz'$"):
        index.number("xyz")


def test_renaming_and_removing_leave_lists_given_out_alone():
    index = LabelIndex(4, ["wheat", "gold", "tin"])
    given_out = index.names
    index.rename("wheat", "grain")
    index.rename("tin", "tin")
    assert index.names == ["grain", "gold", "tin"]
    index.remove(0)
    assert (index.names, index.numbers) == (["tin", "gold"], {"tin": 0, "gold": 1})
    index.remove(1)
    assert index.names == ["tin"]
    assert given_out == ["wheat", "gold", "tin"]
    for bad, message in (("", "non-empty text"), (5, "non-empty text"), ("gold", "merge_labels")):
        other = LabelIndex(4, ["tin", "gold"])
        with pytest.raises(LabelError, match=message):
            other.rename("tin", bad)
        assert other.names == ["tin", "gold"]


# ── the same everywhere ──────────────────────────────────────────────────────────────────────────

SCRIPT = """
import sys
from clasher import Clasher
model = Clasher(64, max_labels=32)
names = ["oil", "gold", "grain", "tin", "zinc", "lead", "corn", "wheat"]
for i in range(12):
    model.learn(f"text number {i} on {names[i % 8]}", set(names[i % 5 : i % 5 + 4]))
model.learn_many(["a text", "another"], [set(names), frozenset({"new", "fresh", "late"})])
model.save(sys.argv[1])
"""


def test_the_hash_seed_of_python_changes_nothing(tmp_path):
    files = [tmp_path / "one", tmp_path / "other"]
    for seed, path in zip("12", files, strict=True):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", SCRIPT, path], check=True, env=environment)
    assert files[0].read_bytes() == files[1].read_bytes()
