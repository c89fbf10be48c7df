from __future__ import annotations

from collections import Counter

import pytest

from clasher import Clasher
from clasher.cli.report.examples import SHOWN_CHARACTERS, Document, Example, Sample, examples
from clasher.io import Batch
from tests.cli.evaluations import TEXTS, batch, learnt_news


def sampled(part: Batch) -> Sample:
    sample = Sample()
    sample.add(part)
    return sample


def text_of(example: Example) -> str:
    return "".join(piece.text for piece in example.views[0].pieces)


def test_right_and_wrong_in_turn_with_varied_labels() -> None:
    _, model, _ = learnt_news()
    texts = list(TEXTS.values()) * 4
    right = [["grain"], ["oil"], ["gold"]] * 2
    wrong = [["oil"], ["gold"], ["grain"]] * 2
    reported = examples(model, sampled(batch(right + wrong, texts)), count=6)
    assert [example.right for example in reported] == [True, False] * 3
    assert {example.views[0].explanation.label for example in reported[::2]} == set(TEXTS)
    assert [view.outcome for view in reported[1].views] == ["alarm", "miss"]


def test_no_more_than_there_are() -> None:
    _, model, _ = learnt_news()
    assert len(examples(model, sampled(batch([["oil"]], [TEXTS["oil"]])), count=6)) == 1
    assert examples(model, Sample()) == []


def test_labels_the_model_does_not_know_are_left_out() -> None:
    _, model, _ = learnt_news()
    (example,) = examples(model, sampled(batch([["oil", "new"]], [TEXTS["oil"]])))
    assert [view.explanation.label for view in example.views] == ["oil"]
    assert not example.right


def test_unstated_labels_are_neither_right_nor_wrong() -> None:
    _, model, _ = learnt_news()
    (example,) = examples(model, sampled(batch([{"gold": False}], [TEXTS["oil"]])))
    assert example.right
    assert [view.outcome for view in example.views] == ["unknown"]


@pytest.mark.parametrize("rule", ["margin", "perceptron"])
def test_shares_add_up_to_the_evidence(rule: str) -> None:
    _, model, sample = learnt_news(rule=rule)
    view = examples(model, sample, count=1)[0].views[0]
    assert sum(share.evidence for share in view.shares) == pytest.approx(view.explanation.evidence)
    assert max(share.part for share in view.shares) == 1.0


def test_words_are_highlighted_where_they_stand() -> None:
    _, model, sample = learnt_news()
    for example in examples(model, sample):
        view = example.views[0]
        assert text_of(example) in TEXTS.values()
        best = view.explanation.words[0].word
        strongest = {piece.text.lower() for piece in view.pieces if abs(piece.strength) == 5}
        assert best in strongest


def test_words_that_overlap_are_highlighted_once() -> None:
    model = Clasher(512)
    text = "東京都の天気 is Ⅳ fine\U0001f600 İstanbul"
    model.learn_many([text, "other words"] * 5, [["jp"], ["en"]] * 5)
    (example,) = examples(model, sampled(batch([["jp"]], [text])))
    assert text_of(example) == text


def test_a_long_document_is_cut_for_the_eye_only() -> None:
    _, model, _ = learnt_news()
    text = "word " * 400 + TEXTS["oil"]
    (example,) = examples(model, sampled(batch([["oil"]], [text])))
    assert example.cut == len(text) - SHOWN_CHARACTERS
    assert text_of(example) == text[:SHOWN_CHARACTERS]
    assert "crude" in [word for word, _ in example.views[0].explanation.words]


# ── sample ───────────────────────────────────────────────────────────────────────────────────────


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
