from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clasher.flow.state import DIGEST, UNKNOWN, Seen, label_set_digests
from clasher.labels import LabelSets
from tests.flow import plain
from tests.flow.plain import lines, records
from tests.flow.runs import run

digests = st.integers(0, 30).map(lambda number: number.to_bytes(DIGEST, "big"))
labels = st.integers(1, 3).map(lambda number: number.to_bytes(DIGEST, "big"))


@given(st.integers(0, 12), st.lists(st.lists(st.tuples(digests, labels))))
def test_the_last_documents_are_known_however_they_are_chunked(most, chunks):
    seen, order, last = Seen(most), [], {}
    for chunk in chunks:
        expected = []
        for place, (digest, own) in enumerate(chunk):
            if digest not in order or last[digest] != own or not most:
                expected.append(place)
                last[digest] = own
            if digest not in order:
                order = [*order, digest][-most:] if most else []
        assert seen.new([own for own, _ in chunk], [own for _, own in chunk]) == expected
        kept = [b"".join(order).hex(), b"".join(last[own] for own in order).hex()]
        assert Seen.of(seen.to_plain(), most).to_plain() == kept


def test_documents_of_an_earlier_version_are_known_with_any_labels():
    one, other = b"1" * DIGEST, b"2" * DIGEST
    seen = Seen.of(one.hex(), 9)
    assert seen.new([one, other], [one, one]) == [1]
    assert seen.new([one, other], [other, one]) == [0]


def test_labels_are_the_same_in_any_order_and_no_others():
    given = [["a", "b"], ["b", "a"], ["a"], [], None, {"a": True, "b": False}, {"b": False}]
    found = label_set_digests(LabelSets.of(given))
    assert found[0] == found[1]
    assert len(set(found)) == len(given) - 1
    assert found[4] == UNKNOWN
    assert label_set_digests(LabelSets.of([["b", "c", "a"], ["a"]]))[1] == found[2]


def test_a_correction_is_learnt_and_a_repetition_is_not(folder, tmp_path):
    """The same document with other labels; the last word counts, also if it is the first one."""
    first = {"id": 1, "text": "wheat", "labels": ["metal"]}
    right = first | {"labels": ["grain", "food"]}
    rows = [first, first, right, right | {"labels": ["food", "grain"]}, first, first]
    news = tmp_path / "news.jsonl"
    learnt = [row for count, row in enumerate(rows) if count in (0, 2, 4)]
    for end in (1, 4, 6):  # as known after a restart
        news.write_bytes(lines(rows[:end] + records(3)[: end // 6]))
        figures = run(folder, str(news))
    assert (figures.documents, figures.duplicates) == (4, 3)
    assert plain.model_in(folder) == plain.learnt(learnt + records(1))
