from itertools import count

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import SettingError
from clasher.io.records import Batch, Fields, numbered, unlabelled
from clasher.text.label_names import INVISIBLE, MODIFIERS, normal_name
from tests.io.streams import plain_labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("oil", ["oil"]),
        ("oil|gold", ["oil", "gold"]),
        (" oil | crude oil |", ["oil", "crude oil"]),
        ("|", []),
        (" | | ", []),
        ("", None),
        (" \t", None),
    ],
)
def test_labels_in_one_text_are_split_at_the_bar(text, labels):
    assert Fields().split(text) == labels


@pytest.mark.parametrize("separator", [",", ";", " ", "\t", ", ", "::", ".*"])
def test_the_separator_is_taken_literally(separator):
    fields = Fields(separator=separator)
    assert fields.split(f"oil{separator}gold{separator}{separator}tin") == ["oil", "gold", "tin"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""},
        {"labels": ""},
        {"id": ""},
        {"separator": ""},
        {"labels": None},
        {"labels": 3},
        {"text": "labels"},
        {"id": "text"},
    ],
)
def test_fields_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError, match=r"text|labels|id|separator"):
        Fields(**wrong)


def test_a_batch_keeps_its_columns_together():
    batch = Batch.of(["a", 2], ["x", "ÿ"], [["oil"], None], Fields())
    assert len(batch) == 2
    assert batch.ids == ["a", 2]
    assert batch.texts.equals(pa.array(["x", "ÿ"], pa.large_string()))
    assert plain_labels(batch.labels) == [{"oil"}, None]


def test_a_batch_without_labels_is_unlabelled():
    batch = Batch.of([1, 2], ["x", "y"], None, Fields())
    assert plain_labels(batch.labels) == [None, None]
    assert plain_labels(unlabelled(0)) == []


names = (
    st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="|;,[{("))
    .map(normal_name)
    .filter(lambda name: name.strip(INVISIBLE + MODIFIERS))
)


def batch_of(labels):
    return Batch.of(list(range(len(labels))), ["x"] * len(labels), labels, Fields())


@given(st.lists(st.none() | st.lists(names, unique=True) | st.dictionaries(names, st.booleans())))
def test_label_values_of_all_kinds_become_label_sets(values):
    wanted = [set(value) if isinstance(value, list) else value for value in values]
    assert plain_labels(batch_of(values).labels) == wanted


@given(st.lists(st.lists(names, unique=True)))
def test_labels_as_text_equal_labels_as_lists(values):
    texts = [" | ".join(value) or "|" for value in values]
    assert plain_labels(batch_of(texts).labels) == [set(value) for value in values]


@given(st.lists(st.none() | st.integers() | st.text()), st.integers(1, 10**12))
def test_only_missing_ids_are_numbered(ids, first):
    found = numbered(ids, count(first))
    assert [own for own in found if own is None] == []
    for place, (given_id, own) in enumerate(zip(ids, found, strict=True)):
        assert own == (first + place if given_id is None else given_id)
