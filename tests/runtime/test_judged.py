"""Labels keep their numbers through renames and merges."""

from __future__ import annotations

from clasher.runtime.judged import MOST_FORMER, Identities


def test_a_live_name_wins_over_a_former_one():
    labels = Identities()
    labels.adopt(["a", "b"])
    labels.rename("a", "c")
    labels.rename("b", "a")
    assert labels.now("a") == "a"
    assert labels.numbers["a"] == 2
    assert labels.now("b") == "a"


def test_former_names_follow_renames_and_merges():
    labels = Identities()
    labels.adopt(["a", "b"])
    labels.rename("a", "c")
    labels.merge("c", "b")
    assert [labels.now(name) for name in "abc"] == ["b", "b", "b"]
    labels.drop("b")
    assert [labels.now(name) for name in "abc"] == ["a", "b", "c"]


def test_former_names_are_bounded():
    labels = Identities()
    labels.adopt(["0"])
    for place in range(MOST_FORMER + 5):
        labels.rename(str(place), str(place + 1))
    assert len(labels.former) == MOST_FORMER
    assert labels.now("0") == "0"
