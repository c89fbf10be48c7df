"""Several partitions become one stream in an order of their own, whenever their messages come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clasher.io.connectors.kafka.source import Merge
from tests.io.connectors.kafka.torture.trials import merged

PARTITIONS = st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=4)


def opened(partitions):
    merge = Merge()
    for own in range(len(partitions)):
        merge.begin(own)
    return merge


@given(PARTITIONS, st.data())
def test_the_order_is_that_of_the_first_ones_however_they_come(partitions, data):
    values = [[(t, (own, at)) for at, t in enumerate(p)] for own, p in enumerate(partitions)]
    merge, left, taken = opened(values), [list(found) for found in values], []
    unended = set(range(len(values)))
    while unended:
        own = data.draw(st.sampled_from(sorted(unended)))
        if left[own]:
            time, item = left[own].pop(0)
            merge.add(own, time, item, size=1)
        else:
            merge.end(own)
            unended.discard(own)
        taken += merge.take(data.draw(st.integers(0, 5)))
    taken += merge.take(10**6)
    assert taken == list(merged(values))
    assert merge.is_at_end
    assert set(merge.held.values()) == {0}


@given(PARTITIONS, st.integers(0, 40))
def test_it_goes_on_as_it_would_have_from_wherever_it_is_taken_up(partitions, cut):
    values = [[(t, (own, at)) for at, t in enumerate(p)] for own, p in enumerate(partitions)]
    whole = list(merged(values))
    rest = [[(t, item) for t, item in found if item not in whole[:cut]] for found in values]
    merge = opened(rest)
    for own, found in enumerate(rest):
        for time, item in found:
            merge.add(own, time, item)
        merge.end(own)
    assert merge.take(10**6) == whole[cut:]


def test_a_partition_of_which_nothing_is_known_is_waited_for():
    merge = opened([[], []])
    merge.add(0, 5, "a")
    assert merge.take(9) == []
    assert merge.awaited == {1}
    merge.end(1)
    assert merge.take(9) == ["a"]
    assert merge.awaited == {0}  # it may have more
    merge.add(1, 1, "b")
    assert merge.take(9) == []
    merge.end(0)
    assert merge.take(9) == ["b"]
