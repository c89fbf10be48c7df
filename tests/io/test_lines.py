from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.io.formats import InputFile, Reading
from clasher.io.lines import BOM, HEAD, Overlong, group, line_groups, split_lines

few_bytes = st.lists(st.sampled_from([b"\n", b"a", b"\r", b"\xff", b"bc"])).map(b"".join)


def flat(chunks):
    return [line for chunk in chunks for line in chunk]


@st.composite
def cut_content(draw):
    content = draw(few_bytes)
    places = sorted(draw(st.sets(st.integers(0, len(content)))) | {0, len(content)})
    return content, [content[start:end] for start, end in pairwise(places)]


@given(cut_content())
def test_lines_do_not_depend_on_how_the_bytes_arrive(cut):
    content, blocks = cut
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    assert flat(split_lines(blocks, longest=1000)) == lines


@given(cut_content(), st.integers(1, 5))
def test_lines_past_the_limit_are_marked_and_all_others_kept(cut, longest):
    content, blocks = cut
    # As the reader does it: no block is longer than the limit.
    pieces = [block[i : i + longest] for block in blocks for i in range(0, len(block), longest)]
    found = flat(split_lines(pieces, longest))
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    assert len(found) == len(lines)
    for line, whole in zip(found, lines, strict=True):
        if len(whole) > longest:
            assert isinstance(line, Overlong)
            assert not line
            assert whole.startswith(line.head)
            assert len(line.head) > longest
        else:
            assert line == whole
            assert not isinstance(line, Overlong)


def test_of_a_line_that_is_too_long_only_the_beginning_is_held():
    line, after = flat(split_lines([b"x" * 5000] * 100 + [b"\nafter"], longest=10_000))
    assert line.head == b"x" * HEAD
    assert after == b"after"


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_a_byte_order_mark_is_dropped_at_the_beginning_only(cut):
    content = BOM + b"a\n" + BOM + b"b"
    assert flat(split_lines([content[:cut], content[cut:]], 100)) == [b"a", BOM + b"b"]


@given(st.lists(st.lists(st.binary(max_size=3), max_size=7)), st.integers(1, 5))
def test_groups_hold_every_line_in_order_and_never_too_many(chunks, room):
    groups = list(group(chunks, lambda: room))
    assert flat(groups) == flat(chunks)
    assert all(0 < len(some) <= room for some in groups)


def test_groups_are_full_unless_the_source_pauses():
    assert [len(some) for some in group([[b"x"] * 3] * 4, lambda: 5)] == [5, 5, 2]
    assert [len(some) for some in group([[b"x"] * 3, [], [b"x"] * 3], lambda: 5)] == [3, 3]


def test_groups_are_smaller_where_lines_are_long():
    sizes = [len(some) for some in group([[b"x" * 10]] * 9, lambda: 1000, enough=25)]
    assert sizes == [3, 3, 3]


def test_room_is_asked_for_each_group(write):
    reading = Reading(batch_size=4, limit=6)
    sizes = []
    for lines in line_groups(InputFile.of(write("a.jsonl", "x\n" * 20)), reading):
        sizes.append(len(lines))
        reading.delivered += len(lines)
        if not reading.room():
            break
    assert sizes == [4, 2]
