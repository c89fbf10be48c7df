from __future__ import annotations

from collections import Counter

from clasher.cli.report.examples import Document, Sample
from tests.cli.evaluations import batch


def numbered(count: int) -> tuple[list[list[str]], list[str]]:
    return [["a"]] * count, [f"text {i}" for i in range(count)]


def test_keeps_so_many_and_the_same_however_the_stream_is_cut() -> None:
    labels, texts = numbered(500)
    whole, cut = Sample(size=20, seed=3), Sample(size=20, seed=3)
    whole.add(batch(labels, texts))
    for at in range(0, 500, 7):
        part = batch(labels[at : at + 7], texts[at : at + 7])
        assert next(cut.watch([part]))[0] is part.texts
    assert len(whole.documents) == 20
    assert [d.text for d in whole.documents] == [d.text for d in cut.documents]
    order = [int(d.text.split()[1]) for d in whole.documents]
    assert order == sorted(order)


def test_every_document_has_the_same_chance() -> None:
    labels, texts = numbered(40)
    kept: Counter[str] = Counter()
    for seed in range(400):
        sample = Sample(size=10, seed=seed)
        sample.add(batch(labels, texts))
        kept.update(document.text for document in sample.documents)
    assert len(kept) == 40
    assert all(60 < times < 140 for times in kept.values())  # 100 expected, 4.6 sigma


def test_skips_documents_that_cannot_be_shown() -> None:
    sample = Sample(longest=10)
    sample.add(batch([["a"], None, ["b"], ["c"]], ["short", "unlabelled", "", "much too long"]))
    assert [document.text for document in sample.documents] == ["short"]


def test_partial_labels_stay_partial() -> None:
    sample = Sample()
    sample.add(batch([{"a": True, "b": False}, ["c"]], ["one", "two"]))
    partial, complete = sample.documents
    assert partial == Document("d0", "one", {"a": True, "b": False})
    assert [partial.truth(label) for label in "abc"] == [True, False, None]
    assert [complete.truth(label) for label in "abc"] == [False, False, True]
    assert (partial.true_labels, complete.true_labels) == ({"a"}, {"c"})
