import pytest

from clasher.io.formats import Reading
from clasher.io.records import FaultError, Fields, Record, invalid_utf8, listing, missing_column

GOOD = {"text": "oil", "labels": ["energy"], "id": 7}


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ({}, ["energy"]),
        ({"labels": []}, []),
        ({"labels": None}, None),
        ({"labels": {"oil": True, "gold": False}}, {"oil": True, "gold": False}),
        ({"labels": "a| b |"}, ["a", "b"]),
        ({"labels": ""}, None),
    ],
)
def test_labels_may_be_given_in_many_ways(change, labels):
    assert Reading().judge(GOOD | change) == Record(7, "oil", labels)


@pytest.mark.parametrize(
    ("change", "problem", "remedy"),
    [
        ({"text": None}, "field 'text' holds null, not text", "--text FIELD"),
        ({"text": 3.5}, "field 'text' holds a number, not text", "--text FIELD"),
        ({"text": ["a"]}, "field 'text' holds a list, not text", "--text FIELD"),
        ({"labels": 3}, "field 'labels' holds a number, not labels", "--label-separator"),
        ({"labels": True}, "holds true or false, not labels", "--labels FIELD"),
        (
            {"labels": ["a", 3]},
            "must be non-empty text, without lone surrogates. Got 3",
            "--on-error skip",
        ),
        ({"labels": ["a", ""]}, "a label must be non-empty text", "--on-error skip"),
        ({"labels": ["a", None]}, "a label must be non-empty text", "--on-error skip"),
        ({"labels": [["a"]]}, "a label must be non-empty text", "--on-error skip"),
        ({"labels": {"": True}}, "a label must be non-empty text", "--on-error skip"),
        ({"labels": {"a": 1}}, "'a' must be true or false, or be left out", "--on-error skip"),
        ({"labels": {"a": None}}, "'a' must be true or false", "--on-error skip"),
        ({"id": 1.5}, "field 'id' holds a number; an id is text or an integer", "--id FIELD"),
        ({"id": False}, "field 'id' holds true or false", "--id FIELD"),
        ({"id": {}}, "field 'id' holds an object", "--id FIELD"),
    ],
)
def test_a_bad_value_is_named_with_its_remedy(change, problem, remedy):
    with pytest.raises(FaultError) as caught:
        Reading().judge(GOOD | change)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("field", "remedy"),
    [("text", "--text FIELD"), ("labels", "--labels FIELD, write null for unlabelled")],
)
def test_a_missing_field_is_named_with_the_present_ones(field, remedy):
    record = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(FaultError) as caught:
        Reading().judge(record)
    assert caught.value.problem.startswith(f"field {field!r} is missing (there is ")
    assert "'id'" in caught.value.problem
    assert remedy in caught.value.remedy


def test_an_empty_record_says_so():
    with pytest.raises(FaultError, match="the record is empty"):
        Reading().judge({})


def test_labels_are_not_looked_at_without_need():
    assert Reading(labelled=False).judge({"text": "oil"}) == Record(None, "oil", None)
    assert Reading(labelled=False).judge({"text": "oil", "labels": 3}).labels is None


@pytest.mark.parametrize("own", [None, 0, -1, "", "x", 10**30])
def test_ids_are_kept_as_they_are(own):
    assert Reading().judge(GOOD | {"id": own}).id == own


def test_an_id_that_is_not_wanted_is_not_looked_at():
    assert Reading(Fields(id=None)).judge(GOOD | {"id": 1.5}).id is None


def test_dots_reach_into_objects_unless_there_is_a_field_of_that_name():
    fields = Fields(text="a.b", labels="a.c.d", id="a.e")
    nested = {"a": {"b": "oil", "c": {"d": ["x"]}, "e": 3}}
    assert Reading(fields).judge(nested) == Record(3, "oil", ["x"])
    assert Reading(fields).judge(nested | {"a.b": "gold"}).text == "gold"
    with pytest.raises(FaultError, match=r"field 'a\.b' is missing \(there is 'a'\)"):
        Reading(fields).judge({"a": "text"})


def test_messages_stay_short_for_many_names():
    names = [f"column {number} {'x' * 1000}" for number in range(1000)]
    error = missing_column("news.csv", "text", "text", names)
    assert len(str(error)) < 600
    assert listing(names).endswith("…")
    assert "it has no columns" in str(missing_column("news.csv", "text", "text", []))


def test_the_place_of_invalid_utf8_is_shown():
    assert invalid_utf8(b"\xc3\xa9\xff").problem == "invalid UTF-8 at byte 3"
