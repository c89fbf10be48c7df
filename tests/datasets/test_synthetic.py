"""Streams with a known drift: the same everywhere, and what they say they are."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.datasets import synthetic
from clasher.datasets.synthetic import DRIFTS, Stream, word
from clasher.errors import SettingError

WORDS = ("sudden", "gradual", "recurring")


def words_of(stream: Stream, label: str, start: int, stop: int) -> Counter[str]:
    """The words of the documents that carry a label, within a stretch of the stream."""
    counted: Counter[str] = Counter()
    for text, labels in islice(stream, start, stop):
        if label in labels:
            counted.update(set(text.split()))
    return counted


def topical(words: Counter[str]) -> set[str]:
    common = {word(number) for number in range(synthetic.COMMON)}
    return set(words) - common


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_stream_is_the_same_whenever_it_is_read(drift):
    stream = Stream(60, 7, drift, seed=3)
    assert list(stream) == list(stream) == list(Stream(60, 7, drift, seed=3))
    assert list(stream) != list(Stream(60, 7, drift, seed=4))
    assert len(stream) == 60


def test_a_stream_is_the_same_for_ever():
    text, labels = next(iter(Stream(seed=7)))
    assert (text[:40], labels) == FROZEN


FROZEN = ("duse zutasa baba regugo nerela some zedo", ["topic000"])


def test_no_two_words_are_spelt_alike():
    numbers = range(synthetic.COMMON + 2 * 4096 * synthetic.OWN)
    assert len({word(number) for number in numbers}) == len(numbers)


@given(st.integers(0, 200_000))
def test_words_can_be_pronounced(number):
    spelt = word(number)
    assert len(spelt) == (4 if number < synthetic.SHORT else 6)
    assert set(spelt[1::2]) <= set("aeiou")
    assert not set(spelt[::2]) & set("aeiou")


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("labels", [1, 2, 5])
def test_documents_have_one_to_three_labels(drift, labels):
    for text, names in Stream(80, labels, drift):
        assert 1 <= len(names) <= 3
        assert names == sorted(set(names))
        assert synthetic.SHORTEST <= len(text.split()) <= synthetic.LONGEST


def test_nothing_changes_without_drift():
    stream = Stream(400, 4, "none")
    assert (stream.points, stream.changed) == ([], [])
    before, after = (
        topical(words_of(stream, "topic000", *part)) for part in ((0, 200), (200, 400))
    )
    assert len(before & after) > 0.7 * len(before | after)


def test_a_sudden_change_gives_half_of_the_labels_other_words():
    stream = Stream(600, 4, "sudden", at=300)
    assert (stream.points, stream.changed) == ([300], ["topic000", "topic002"])
    own = set(map(word, range(synthetic.COMMON, synthetic.COMMON + synthetic.OWN)))
    before, after = words_of(stream, "topic000", 0, 300), words_of(stream, "topic000", 300, 600)
    assert len(own & set(before)) > 20
    assert sum(after[w] for w in own) < 0.3 * sum(before[w] for w in own)
    unmoved = topical(words_of(stream, "topic001", 0, 300))
    assert len(unmoved & topical(words_of(stream, "topic001", 300, 600))) > 20


def test_a_gradual_change_takes_its_time():
    stream = Stream(900, 2, "gradual", at=300, width=300)
    assert stream.points == [300]
    own = set(map(word, range(synthetic.COMMON, synthetic.COMMON + synthetic.OWN)))
    old = [
        sum(words_of(stream, "topic000", start, start + 300)[w] for w in own)
        for start in (0, 300, 600)
    ]
    assert old[0] > 1.15 * old[1] > 1.3 * old[2]


def test_a_recurring_change_comes_back():
    stream = Stream(800, 2, "recurring", at=200, width=200)
    assert stream.points == [200, 400, 600]
    own = set(map(word, range(synthetic.COMMON, synthetic.COMMON + synthetic.OWN)))
    old = [
        sum(words_of(stream, "topic000", start, start + 200)[w] for w in own)
        for start in (0, 200, 400, 600)
    ]
    assert min(old[0], old[2]) > 1.5 * max(old[1], old[3])


@pytest.mark.parametrize(("drift", "there"), [("new-labels", False), ("vanishing-labels", True)])
def test_labels_come_and_go(drift, there):
    stream = Stream(600, 9, drift, at=200, width=200)
    assert stream.changed == ["topic002", "topic005", "topic008"]
    assert stream.points == [200, 266, 333]
    for label, point in zip(stream.changed, stream.points, strict=True):
        has = [label in labels for _, labels in stream]
        assert any(has[:point]) == there
        assert any(has[point:]) != there


@pytest.mark.parametrize(
    ("parameter", "expected", "values"),
    [
        ("documents", "an integer from 1 to 9007199254740992", [0, 2.0, None, True]),
        ("labels", "an integer from 1 to 4096", [0, 4097, "3"]),
        ("drift", "one of " + ", ".join(map(repr, DRIFTS)), ["slow", None]),
        ("at", "None or an integer from 0 to 100", [-1, 101, 0.5]),
        ("width", "None or an integer from 1 to 9007199254740992", [0, "all"]),
        ("seed", "an integer from 0 to 9223372036854775807", [-1, None]),
    ],
)
def test_every_parameter_is_validated(parameter, expected, values):
    for value in values:
        with pytest.raises(SettingError) as caught:
            Stream(**{"documents": 100, parameter: value})
        assert str(caught.value) == (
            f"The {parameter!r} parameter of Stream must be {expected}. Got {value!r} instead."
        )
