import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Clasher, LabelSets
from clasher.errors import LabelCapacityError, LabelError
from clasher.labels import COMPLETE, PARTIAL, UNLABELLED, LabelIndex, Rankings
from clasher.text.label_names import normal_name
from tests.models import state_bytes

EXAMPLES = settings(max_examples=40 if numba.config.DISABLE_JIT else 150)
names = st.text(min_size=1, max_size=4).map(normal_name).filter(bool)
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
    """Return how much is known of one document's labels, which it has and which not."""
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
    """Names are numbered by first document, then by text."""
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


def test_numbered_labels_are_sorted_and_distinct():
    index = LabelIndex(8, ["oil", "gold"])
    sets = LabelSets.of([["tin", "gold", "oil", "gold"], None, {"oil": False}])
    index.extend(index.unknown(sets))
    numbered = index.translate(sets)
    assert index.names == ["oil", "gold", "tin"]
    assert numbered.ids.tolist() == [0, 1, 2, 0]
    assert numbered.indptr.tolist() == [0, 3, 3, 4]
    assert numbered.yes.tolist() == [True, True, True, False]
    assert numbered.known.tolist() == [COMPLETE, UNLABELLED, PARTIAL]


def test_new_labels_are_numbered_by_document_and_text_whatever_their_numbers_were():
    names = ["z", "y", "x", "unused", "z"]
    sets = LabelSets(names, np.array([1, 2, 0, 4]), np.array([0, 2, 3, 4]))
    assert LabelIndex(8).unknown(sets) == ["x", "y", "z"]


def test_a_full_index_says_what_to_do():
    index = LabelIndex(2, ["oil"])
    with pytest.raises(
        LabelCapacityError,
        match=r"label 'tin' would be number 3, and max_labels is 2; raise max_labels, or set "
        r"on_full='evict' to evict the label unseen for longest",
    ):
        index.check(LabelSets.of([{"gold"}, {"tin", "zinc"}]))
    index.check(LabelSets.of([{"gold"}, {"oil"}]))
    assert index.names == ["oil"]


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


def test_the_nearest_label_is_suggested():
    index = LabelIndex(4, ["wheat", "gold"])
    assert index.number("gold") == 1
    with pytest.raises(LabelError, match="the model knows no label 'whaet'; did you mean 'wheat'"):
        index.number("whaet")
    with pytest.raises(LabelError, match=r"the model knows no label 'xyz'$"):
        index.number("xyz")


def test_renaming_and_removing_do_not_change_earlier_lists():
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


# ── rankings ─────────────────────────────────────────────────────────────────────────────────────


ranking = st.lists(st.sampled_from(["oil", "gold", "tin", "漢字"]), unique=True)


@given(st.lists(ranking, max_size=6), st.integers(0, 6))
@EXAMPLES
def test_rankings_keep_their_order(lists, cut):
    rankings = Rankings.of(lists)
    assert rankings == lists
    assert [rankings[d] for d in range(len(rankings))] == lists
    assert rankings.to_arrow().to_pylist() == lists
    assert Rankings.of(rankings.to_arrow()) == lists
    assert rankings[cut:] == lists[cut:]
    assert Rankings.join([rankings[:cut], Rankings.of(lists[cut:])]) == lists
    assert rankings != [*lists, []]


def test_rankings_are_read_from_numbers():
    rankings = Rankings.numbered(["a", "b", "c"], np.array([[2, 0], [1, -1], [-1, -1]], np.int32))
    assert rankings == [["c", "a"], ["b"], []]
    assert repr(rankings) == "Rankings([['c', 'a'], ['b'], []], documents=3)"
    other = Rankings.numbered(["c", "a"], np.array([[1]], np.int32))
    assert Rankings.join([rankings, other]) == [["c", "a"], ["b"], [], ["a"]]
    assert Rankings.numbered([], np.full((2, 1), -1, np.int32)) == [[], []]


def test_rankings_may_be_missing():
    assert Rankings.of([None, ["oil"], ("gold", "oil")]) == [[], ["oil"], ["gold", "oil"]]


@pytest.mark.parametrize("wrong", [{"oil"}, {"oil": True}, "oil", 3])
def test_a_ranking_has_an_order(wrong):
    with pytest.raises(LabelError, match="document 1: a ranking must be a list of labels"):
        Rankings.of([["oil"], wrong])


def test_rankings_and_documents_go_together():
    with pytest.raises(LabelError, match="3 documents and 1 entries"):
        Rankings.of([["oil"]], 3)
    with pytest.raises(LabelError, match="labels of many documents must be a sequence"):
        Rankings.of(3)


def test_many_lists_are_read_like_few():
    few = [["oil", "gold"], None, [], {"tin"}, ("gold", "gold", " oil "), ["漢字"]] * 9
    many = few * 3
    assert len(few) < 100 <= len(many)
    read, pieces = LabelSets.of(many), LabelSets.join([LabelSets.of(few)] * 3)
    assert read.names == pieces.names
    for name in ("ids", "indptr", "yes", "known"):
        assert getattr(read, name).tolist() == getattr(pieces, name).tolist()


@pytest.mark.parametrize("bad", [["oil", None], ["oil", 1], [b"oil"], ["\ud800"], [""], "oil", 1])
def test_errors_in_many_lists_are_those_of_few(bad):
    errors = []
    for good in (1, 200):
        with pytest.raises(LabelError) as error:
            LabelSets.of([["oil"]] * good + [bad])
        errors.append(str(error.value).replace(f"document {good}", "document"))
    assert errors[0] == errors[1]


@EXAMPLES
@given(st.lists(any_labels, max_size=5))
def test_labels_of_a_document_are_numbered_in_order_and_once(documents):
    sets, index = LabelSets.of(documents), LabelIndex(1000, ["tin", "gold"])
    index.extend(index.unknown(sets))
    numbered = index.translate(sets)
    assert numbered == sets
    for at in range(len(sets)):
        inside = slice(numbered.indptr[at], numbered.indptr[at + 1])
        own, given_ids = numbered.ids[inside].tolist(), sets.ids[sets.indptr[at] :]
        named = [index.numbers[sets.names[i]] for i in given_ids[: np.diff(sets.indptr)[at]]]
        assert own == sorted(set(named))
        first = [named.index(label) + sets.indptr[at] for label in own]
        assert numbered.yes[inside].tolist() == sets.yes[first].tolist()
