"""Names and parents of labels, and what vocabularies refuse."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import (
    LabelError,
    SettingError,
    TermError,
    UnknownLabelError,
)
from clasher.labels import COMPLETE, PARTIAL, UNLABELLED, LabelSets
from clasher.metrics import Metrics
from clasher.vocabulary import Term, Vocabulary, readable, with_ancestors
from tests.terms import nasty, plain, vocabularies

CROPS = Vocabulary(
    [
        Term("commodity", "Commodity"),
        Term("food", "Food"),
        Term("grain", "Grain", ["cereals", "corn and the like"], ["commodity"]),
        Term("wheat", "Wheat", parents=["grain", "food"]),
        Term("durum", "Durum wheat", parents=["wheat"]),
    ]
)


# The collection


def test_a_vocabulary_reads_like_a_dict():
    assert list(CROPS) == ["commodity", "food", "grain", "wheat", "durum"]
    assert len(CROPS) == 5
    assert "grain" in CROPS
    assert " grain\u200b" in CROPS  # any spelling of the same normal form
    assert "gold" not in CROPS
    assert 5 not in CROPS
    assert CROPS["grain"].name == "Grain"
    assert CROPS.get("gold") is None
    assert CROPS.get("gold", 5) == 5
    assert dict(CROPS)["wheat"].parents == ("grain", "food")
    with pytest.raises(KeyError, match="the vocabulary has no label 'gold'; add a term for it"):
        CROPS["gold"]


def test_names_begin_with_the_preferred_one():
    assert CROPS.name_of("grain") == "Grain"
    assert CROPS.names_of("grain") == ("Grain", "cereals", "corn and the like")
    assert CROPS.name_of("crude_oil") == "crude oil"
    assert CROPS.names_of("crude_oil") == ("crude oil",)


def test_ancestors_are_sorted_by_distance():
    assert CROPS.ancestors("durum") == ("wheat", "grain", "food", "commodity")
    assert CROPS.ancestors("commodity") == ()
    assert CROPS.ancestors("gold") == ()
    assert CROPS.with_ancestors(["wheat", "gold"]) == {
        "wheat",
        "grain",
        "food",
        "commodity",
        "gold",
    }
    assert CROPS.with_ancestors([]) == set()


def test_labels_and_names_are_normalised():
    term = Term(" cafe\u0301\u200b", "Two\n words ", ["a\tb", "Two words", "a b"], ["x", "x "])
    assert term == Term("café", "Two words", ["a b"], ["x"])
    assert term.label == "café"
    assert term.alternatives == ("a b",)
    assert Vocabulary([Term("café")]) == Vocabulary([Term("cafe\u0301")])


def test_only_a_closed_vocabulary_refuses_labels():
    assert CROPS.check(" gold ") == "gold"
    assert not CROPS.closed
    closed = Vocabulary(CROPS.values(), closed=True)
    assert closed.closed
    assert closed.check("grain ") == "grain"
    with pytest.raises(UnknownLabelError, match="has no label 'gold'"):
        closed.check("gold")
    for vocabulary in (CROPS, closed):
        with pytest.raises(LabelError, match="a label must be non-empty text"):
            vocabulary.check("")


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("garin", "did you mean 'grain'?"),
        ("GRAIN", "did you mean 'grain'?"),
        ("Cereal", "did you mean 'grain' (cereals)?"),
        ("durrum weat", "did you mean 'durum' (Durum wheat)?"),
        ("nothing like it", "add a term for it"),
        ("x", "add a term for it"),
        ("\n", "add a term for it"),
        ("", "add a term for it"),
    ],
)
def test_an_unknown_label_brings_a_suggestion(label, hint):
    with pytest.raises(UnknownLabelError) as caught:
        CROPS[label]
    assert str(caught.value) == f"the vocabulary has no label {label!r}; {hint}"


def test_a_label_of_two_letters_is_suggested_too():
    with pytest.raises(UnknownLabelError, match="did you mean 'ab'"):
        Vocabulary([Term("ab"), Term("xyz")])["abc"]


def test_a_long_unknown_label_is_cut_in_the_message():
    with pytest.raises(UnknownLabelError) as caught:
        CROPS["g" * 1_000_000]
    assert len(str(caught.value)) < 200


def test_an_empty_vocabulary_suggests_nothing():
    assert Vocabulary() == Vocabulary.of([])
    with pytest.raises(UnknownLabelError, match="add a term for it"):
        Vocabulary()["grain"]


@given(vocabularies(nasty), nasty)
def test_a_suggestion_is_a_label_of_the_vocabulary(vocabulary, label):
    if label in vocabulary:
        assert vocabulary[label].label in set(vocabulary)
        return
    with pytest.raises(UnknownLabelError) as caught:
        vocabulary[label]
    message = str(caught.value)
    suggested = any(f"did you mean {known!r}" in message for known in vocabulary)
    assert suggested or message.endswith("add a term for it")


def test_updated_adds_and_replaces():
    more = CROPS.updated([Term("wheat", "Wheat, all kinds"), Term("rye", parents=["grain"])])
    assert list(more) == [*CROPS, "rye"]
    assert more.names_of("wheat") == ("Wheat, all kinds",)
    assert more.ancestors("durum") == ("wheat",)
    assert CROPS.name_of("wheat") == "Wheat"
    assert CROPS.updated({"grain": "Korn"}).name_of("grain") == "Korn"
    assert Vocabulary(closed=True).updated([Term("a")]).closed
    with pytest.raises(TermError, match="parent 'spice' of 'pepper' is not a label"):
        CROPS.updated([Term("pepper", parents=["spice"])])


def test_without_hands_children_to_the_parents_of_what_is_gone():
    less = CROPS.without(["wheat", "grain "])
    assert list(less) == ["commodity", "food", "durum"]
    assert less["durum"].parents == ("commodity", "food")
    assert CROPS.without([]) == CROPS
    assert Vocabulary([Term("a")], closed=True).without(["a"]).closed
    with pytest.raises(UnknownLabelError, match="did you mean 'grain'"):
        CROPS.without(["grian"])
    with pytest.raises(LabelError, match=r"must be a list or set of text\. Got 'grain'"):
        CROPS.without("grain")


@given(vocabularies(plain), st.data())
def test_without_keeps_the_other_ancestors(vocabulary, data):
    gone = data.draw(st.sets(st.sampled_from(list(vocabulary)))) if vocabulary else set()
    less = vocabulary.without(gone)
    assert list(less) == [label for label in vocabulary if label not in gone]
    for label in less:
        assert set(less.ancestors(label)) == set(vocabulary.ancestors(label)) - gone


def test_equality_ignores_order_and_sees_everything_else():
    assert Vocabulary(reversed(list(CROPS.values()))) == CROPS
    assert hash(Vocabulary(reversed(list(CROPS.values())))) == hash(CROPS)
    assert Vocabulary(CROPS.values(), closed=True) != CROPS
    assert CROPS.without(["durum"]) != CROPS
    assert dict(CROPS) != CROPS
    assert copy.deepcopy(CROPS) == CROPS


def test_it_never_changes():
    with pytest.raises(TypeError):
        CROPS["new"] = Term("new")  # type: ignore[index]
    with pytest.raises(AttributeError):
        CROPS.closed = True  # type: ignore[misc]
    with pytest.raises(AttributeError):
        CROPS["grain"].name = "Korn"  # type: ignore[misc]


def test_it_is_shown_short():
    assert repr(CROPS) == "Vocabulary(['commodity', 'food', 'grain', …], terms=5)"
    assert repr(Vocabulary([Term("a")], closed=True)) == "Vocabulary(['a'], terms=1, closed=True)"
    assert repr(Vocabulary()) == "Vocabulary([], terms=0)"


OBJECT = "write one with label, name, alternatives, parents"
KEEP = "keep one of them"
NO_TEXT = "must be text with a visible character. Got"


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([Term("a"), "b"], "term 2: it is 'b', not a Term; read others with Vocabulary.of"),
        ([Term("a"), Term(" a")], "term 2: label 'a' appears twice; keep one of them"),
        (
            [Term("a"), Term("b", parents=["c"])],
            "term 2: parent 'c' of 'b' is not a label of the vocabulary; "
            "add a term for it, or remove the parent",
        ),
        (
            [Term("a", parents=["a"])],
            "term 1: the parents lead in a circle: 'a' → 'a'; remove one of these parents",
        ),
        (
            [Term("x", parents=["a"]), Term("a", parents=["b"]), Term("b", parents=["a"])],
            "term 2: the parents lead in a circle: 'a' → 'b' → 'a'; remove one of these parents",
        ),
    ],
)
def test_terms_that_do_not_fit_are_refused(terms, message):
    with pytest.raises(TermError) as caught:
        Vocabulary(terms)
    assert str(caught.value) == message


def test_a_long_circle_is_cut_in_the_message():
    ring = [Term(f"t{n}", parents=[f"t{(n + 1) % 50_000}"]) for n in range(50_000)]
    with pytest.raises(TermError) as caught:
        Vocabulary(ring)
    shown = " → ".join([*(f"'t{n}'" for n in range(8)), "…", "'t0'"])
    assert str(caught.value) == (
        f"term 1: the parents lead in a circle: {shown}; remove one of these parents"
    )


def test_a_long_chain_is_no_circle():
    chain = [Term(f"t{n}", parents=[f"t{n + 1}"]) for n in range(20_000)]
    assert len(Vocabulary([*chain, Term("t20000")]).ancestors("t0")) == 20_000


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((" ",), "the label is empty; write one"),
        ((5,), f"the label {NO_TEXT} 5 instead; write one"),
        (("\u200b",), f"the label {NO_TEXT} '\\u200b' instead; write one"),
        (("\ud800",), f"the label {NO_TEXT} '\\ud800' instead; write one"),
        (("a", ""), "the name is empty; write one"),
        (("a", "x" * 200 + "\ud800"), f"the name {NO_TEXT} '{'x' * 99}… instead; write one"),
        (("a", "A", [""]), "the alternative is empty; write one"),
        (("a", "A", [], [None]), f"the parent {NO_TEXT} None instead; write one"),
        (
            ("a", "A", "AA"),
            "alternatives must be a list of text. Got 'AA' instead; write a list, such as ['AA']",
        ),
        (
            ("a", "A", 5),
            "alternatives must be a list of text. Got 5 instead; write a list, such as [5]",
        ),
    ],
)
def test_bad_terms_are_refused(values, message):
    with pytest.raises(TermError) as caught:
        Term(*values)
    assert str(caught.value) == message


def test_closed_is_true_or_false():
    with pytest.raises(SettingError, match="'closed' parameter of Vocabulary must be True or Fal"):
        Vocabulary([], closed="yes")  # type: ignore[arg-type]


# Readable labels


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("ClassificationOfThings", "Classification Of Things"),
        ("HTMLParser", "HTML Parser"),
        ("crude-oil_and:gas/fuel.prices  today", "crude oil and gas fuel prices today"),
        ("NATO", "NATO"),
        ("H2O", "H2O"),
        ("COVID19Vaccine", "COVID19 Vaccine"),
        ("mp3Player", "mp3 Player"),
        ("2ndEdition", "2nd Edition"),
        ("3DModel", "3D Model"),
        ("publicAPIs", "public APIs"),
        ("ÄrzteFürÖl", "Ärzte Für Öl"),
        ("漢字Kanji", "漢字 Kanji"),
        ("http://www.yso.fi/onto/yso/p1234", "p1234"),
        ("https://example.org/topics#windPower/", "wind Power"),
        ("urn:topic:windPower", "wind Power"),
        ("topic:wind:power", "topic wind power"),
        ("--", "--"),
        ("", ""),
    ],
)
def test_readable_labels(label, words):
    assert readable(label) == words


@given(nasty)
def test_readable_loses_only_separators(label):
    if not label.startswith("urn:") and "://" not in label:
        kept = "".join(c for c in label if c not in "-_:./" and not c.isspace())
        assert readable(label) == label or readable(label).replace(" ", "") == kept


# JSON over HTTP and in model files


def test_of_reads_what_to_dicts_returns():
    assert Vocabulary.of(CROPS.to_dicts()) == CROPS
    assert CROPS.to_dicts()[:3:2] == [
        {"label": "commodity", "name": "Commodity"},
        {
            "label": "grain",
            "name": "Grain",
            "alternatives": ["cereals", "corn and the like"],
            "parents": ["commodity"],
        },
    ]


@given(vocabularies(nasty))
def test_json_keeps_any_vocabulary(vocabulary):
    sent = json.loads(json.dumps(vocabulary.to_dicts()))
    found = Vocabulary.of(sent, closed=vocabulary.closed)
    assert found == vocabulary
    assert list(found) == list(vocabulary)


def test_of_reads_several_forms():
    expected = Vocabulary([Term("oil", "Crude oil"), Term("gas", "gas", parents=["oil"])])
    for terms in (
        expected,
        [Term("oil", "Crude oil"), {"label": "gas", "parents": ["oil"], "notes": 5}],
        {"oil": "Crude oil", "gas": {"parents": ["oil"], "alternatives": None}},
        {"oil": {"label": "oil", "prefLabel": "Crude oil"}, "gas": Term("gas", parents=["oil"])},
        [{"label": "oil", "NAME": "Crude oil"}, {"label": "gas", "broader": ["oil"]}],
    ):
        assert Vocabulary.of(terms) == expected


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("oil", "terms must be a list, or a mapping label → name. Got str; write one of them"),
        (5, "terms must be a list, or a mapping label → name. Got int; write one of them"),
        (["oil"], f"term 1: it is 'oil', not an object; {OBJECT}"),
        ([{"label": "a"}, {"name": "B"}], "term 2: field 'label' is missing; write it"),
        (
            [{"label": "a", "parent": "b"}],
            "term 1: field 'parent' is unknown; did you mean 'parents'?",
        ),
        (
            [{"label": "a", "name": "A", "prefLabel": "A"}],
            f"term 1: 'name' and 'prefLabel' are the same field; {KEEP}",
        ),
        (
            [{"label": "a", "parents": "b"}],
            "term 1: parents must be a list of text. Got 'b' instead; write a list, such as ['b']",
        ),
        ({"a": {"label": "b"}}, "key 'a' has a term of label 'b'; make them equal"),
        ({"a": 5}, f"term 1: it is 5, not an object; {OBJECT}"),
        ([{"label": "a"}, {"label": "a"}], "term 2: label 'a' appears twice; keep one of them"),
    ],
)
def test_bad_json_is_refused(terms, message):
    with pytest.raises(TermError) as caught:
        Vocabulary.of(terms)
    assert str(caught.value) == message


# Label sets with ancestors


def extended(entry: Any, vocabulary: Vocabulary) -> Any:
    """Extend the labels of one document, in plain Python."""
    if entry is None:
        return None
    if not isinstance(entry, dict):
        return vocabulary.with_ancestors(entry)
    yes = vocabulary.with_ancestors(label for label, state in entry.items() if state)
    return dict.fromkeys(yes, True) | entry


def test_ancestors_are_added_to_each_kind_of_document():
    sets = with_ancestors(
        [{"durum"}, set(), None, {"wheat": True, "grain": False}, {"durum": False}, {"gold"}], CROPS
    )
    assert [sets.as_given(document) for document in range(len(sets))] == [
        {"durum", "wheat", "grain", "food", "commodity"},
        set(),
        None,
        {"wheat": True, "grain": False, "food": True, "commodity": True},
        {"durum": False},
        {"gold"},
    ]
    assert sets.known.tolist() == [COMPLETE, COMPLETE, UNLABELLED, PARTIAL, PARTIAL, COMPLETE]


some_labels = st.sampled_from(["commodity", "food", "grain", "wheat", "durum", "gold", "zinc"])
entries_of_documents = st.lists(
    st.none()
    | st.sets(some_labels)
    | st.lists(some_labels, max_size=4)
    | st.dictionaries(some_labels, st.booleans())
)


@given(entries_of_documents)
def test_ancestors_are_those_of_plain_python(documents):
    before = LabelSets.of(documents)
    sets = with_ancestors(documents, CROPS)
    found = [sets.as_given(at) for at in range(len(sets))]
    assert found == [extended(entry, CROPS) for entry in documents]
    assert [before.as_given(at) for at in range(len(before))] == [
        set(entry) if isinstance(entry, list) else entry for entry in documents
    ]
    again = with_ancestors(sets, CROPS)
    assert [again.as_given(at) for at in range(len(again))] == found


def test_nothing_changes_without_ancestors():
    sets = LabelSets.of([{"gold"}, None])
    assert with_ancestors(sets, CROPS) is sets
    assert len(with_ancestors([], CROPS)) == 0


def test_a_near_miss_earns_credit():
    plain_metrics, metrics = Metrics(), Metrics()
    truth, predicted = [{"durum"}, {"wheat"}], [{"wheat"}, {"wheat"}]
    plain_metrics.update_many(truth, predicted)
    metrics.update_many(with_ancestors(truth, CROPS), with_ancestors(predicted, CROPS))
    assert plain_metrics.micro_f1 == 0.5
    assert metrics.micro_f1 == 2 * 8 / (9 + 8)


def test_many_documents_get_ancestors():
    rng = np.random.default_rng(1)
    labels, documents = 10_000, 200_000
    tree = Vocabulary(Term(f"t{n}", parents=[f"t{n // 10}"] if n else []) for n in range(labels))
    ids = rng.integers(0, labels, 3 * documents).astype(np.int32)
    sets = LabelSets(list(tree), ids, np.arange(documents + 1) * 3)
    found = with_ancestors(sets, tree)
    for document in range(0, documents, 20_000):
        assert found[document] == tree.with_ancestors(sets[document])
