"""The best labels of each document, in order."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clasher.model
from clasher import Clasher, LabelSets
from clasher.errors import SettingError
from tests import strategies
from tests.models import LABELS, RULES, TEXTS, UNSEEN, state_bytes, taught

EXAMPLES = settings(deadline=None, max_examples=10 if numba.config.DISABLE_JIT else 40)

every_rule = pytest.mark.parametrize("rule", RULES)


@every_rule
@given(strategies.streams(), strategies.settings(), st.integers(1, 6))
@EXAMPLES
def test_the_most_probable_labels_are_ranked(rule, stream, how, k):
    model = Clasher(16, rule=rule, max_labels=16, **how)
    texts = [strategies.text(words) for words, _ in stream]
    model.learn_many(texts, [known for _, known in stream])
    decided, probabilities = model.decide_many(texts)
    ranked = model.rank_many(texts, k)
    assert len(ranked) == len(texts)
    for best, labels, row in zip(ranked, decided, probabilities, strict=True):
        values = dict(zip(model.labels, row.tolist(), strict=True))
        shown = [values[name] for name in best]
        assert len(set(best)) == len(best) <= min(k, len(model.labels))
        assert shown == sorted(shown, reverse=True)
        assert all(model.support[name] for name in best)
        if labels:
            assert max(values[name] for name in labels) == shown[0]
        if len(best) == k:  # those left out are less probable, or as good as none is
            left = [values[name] for name in labels - set(best)]
            assert all(value <= shown[-1] for value in left)
        else:
            assert labels <= set(best)


@every_rule
def test_fewer_labels_are_the_start_of_more(rule):
    model = taught(rule)
    most = model.rank_many(UNSEEN, 8)
    for k in range(1, 8):
        assert model.rank_many(UNSEEN, k) == [best[:k] for best in most]


@every_rule
def test_ranking_changes_nothing(rule):
    model = taught(rule)
    before = state_bytes(model)
    model.rank_many(UNSEEN)
    assert state_bytes(model) == before


@every_rule
@pytest.mark.parametrize("how", [{}, {"max_labels": 2, "on_full": "evict"}, {"detector": "window"}])
@pytest.mark.parametrize("size", [3, 1024])
def test_stepping_ranks_before_it_learns(rule, how, size, monkeypatch):
    """Also when numbers pass to other labels, and across batches and looks of the detector."""
    monkeypatch.setattr(clasher.model, "BATCH", size)
    texts, labels = TEXTS * 3, LABELS * 3
    if how.get("max_labels"):
        labels = [labels and set(sorted(labels)[:1]) for labels in labels]
    many, singly, plain = (Clasher(128, rule=rule, **how) for _ in range(3))
    predicted, ranked = many.step_and_rank_many(texts, labels, k=2)
    for text, known, chosen, best in zip(texts, labels, predicted, ranked, strict=True):
        assert best == singly.rank_many([text], 2)[0]
        assert chosen == singly.predict(text)
        singly.learn(text, known)
    assert plain.step_many(texts, labels) == predicted
    assert state_bytes(many) == state_bytes(singly) == state_bytes(plain)
    assert {name for best in ranked for name in best} > set(many.labels if len(how) > 1 else ())


@every_rule
def test_a_full_memory_ranks_as_it_steps(rule):
    """A batch is done in several calls when the memory has to make room."""
    how = {"rule": rule, "max_bytes": 200_000}
    texts = [f"w{i} w{i * 7 % 300} w{i * 3 % 50}" for i in range(600)]
    labels = [{f"l{i % 40}", f"l{i % 7}"} for i in range(600)]
    many, singly = (Clasher(1024, **how) for _ in range(2))
    _, ranked = many.step_and_rank_many(texts, labels)
    for text, known, best in zip(texts, labels, ranked, strict=True):
        assert best == singly.step_and_rank_many([text], [known])[1][0]
    assert state_bytes(many) == state_bytes(singly)


def test_before_the_first_label():
    assert Clasher(64).rank_many(["wheat", "corn"]) == [[], []]
    assert Clasher(64).rank_many([]) == []
    predicted, ranked = Clasher(64).step_and_rank_many(["wheat"], [None])
    assert (predicted, ranked) == ([set()], [[]])


def test_many_documents_are_ranked_on_all_cores_in_order():
    model = taught()
    texts = UNSEEN * 1000
    assert model.rank_many(model.hash_many(texts)) == list(model.rank_many(UNSEEN)) * 1000


def test_any_number_of_labels_takes_little_memory():
    model = taught()
    assert model.rank_many(UNSEEN, 10**12) == model.rank_many(UNSEEN, len(model.labels))


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None])
def test_the_number_of_labels_must_be_positive(k):
    model = Clasher(64)
    with pytest.raises(SettingError, match="'k' parameter of rank_many must be a positive"):
        model.rank_many(["wheat"], k)
    with pytest.raises(SettingError, match="'k' parameter of step_and_rank_many"):
        model.step_and_rank_many(["wheat"], [None], k=k)
    assert model.documents == 0


def test_documents_of_hash_rows_are_ranked_too():
    model = Clasher(4, weighting="given")
    rows = model.take_rows([0, 2, 3], [0, 1, 3], [0.5, 2.0, -1.0])
    model.learn_many(rows, LabelSets.of([{"left"}, {"right"}]))
    assert [best[0] for best in model.rank_many(rows)] == ["left", "right"]
    assert np.array_equal(model.rank_many(rows, 1).sets.indptr, [0, 1, 2])
