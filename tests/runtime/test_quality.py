"""Quality: estimates with intervals, and counts in panes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.labels import LabelSets
from clasher.runtime.quality import (
    PANE,
    PANES,
    Quality,
    estimate_f1,
    estimate_macro,
    figures,
    ratio,
)

counts = st.tuples(*[st.integers(0, 1000)] * 3)


@given(counts)
def test_intervals_contain_their_values(row):
    tp, fp, _ = row
    for estimate in (ratio(tp, tp + fp), estimate_f1(row), estimate_f1(row, 50)):
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


@given(st.lists(counts.filter(lambda row: row[0] + row[2]), max_size=5))
def test_the_interval_of_a_mean_contains_it(rows):
    estimate = estimate_macro(rows)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    expected = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in rows]
    assert estimate.value == pytest.approx(sum(expected) / max(1, len(rows)))


def test_more_evidence_makes_narrower_intervals():
    few, many = estimate_f1((8, 1, 1)), estimate_f1((800, 100, 100))
    assert few.high - few.low > 5 * (many.high - many.low)
    assert (few.is_enough, many.is_enough) == (False, True)


def test_without_observations_the_interval_is_everything():
    assert (ratio(0, 0).low, ratio(0, 0).high, ratio(0, 0).is_enough) == (0.0, 1.0, False)


def test_the_micro_average_has_no_more_observations_than_documents():
    assert estimate_f1((1800, 100, 100), 100).observations == 100


numbers = {"grain": 1, "metal": 2}


def judge(quality, documents, right=True, sign=1):
    truth = LabelSets.of([["grain"]] * documents)
    predicted = LabelSets.of([["grain" if right else "metal"]] * documents)
    quality.judge(truth, predicted, numbers, sign)


def test_recent_quality_covers_the_last_panes_only():
    quality = Quality()
    judge(quality, PANE * PANES, right=False)
    judge(quality, PANE * PANES)
    assert figures(quality.all).micro_f1.value == pytest.approx(0.5)
    assert figures(quality.recent()).micro_f1.value == 1.0
    assert quality.recent().documents == PANE * (PANES - 1)
    assert quality.history(1) == [1.0] * (PANES - 1) + [None]


@given(st.lists(st.integers(1, 2 * PANE), max_size=5))
def test_panes_do_not_depend_on_batches(sizes):
    together, apart = Quality(), Quality()
    judge(together, sum(sizes))
    for size in sizes:
        judge(apart, size)
    assert together.to_plain() == apart.to_plain()
    assert Quality.of(apart.to_plain()).to_plain() == apart.to_plain()


def test_judgements_can_be_taken_back():
    quality = Quality()
    judge(quality, 3)
    before = quality.to_plain()
    judge(quality, 1, right=False)
    judge(quality, 1, right=False, sign=-1)
    assert quality.all.documents == 3
    assert quality.all.counts[1] == (3, 0, 0)
    assert before["all"][0] == 3


def test_unlabelled_documents_are_not_judged():
    quality = Quality()
    quality.judge(LabelSets.of([None] * 600), LabelSets.of([["grain"]] * 600), numbers)
    assert (quality.all.documents, quality.all.counts) == (0, {})


def test_frequent_labels_make_up_most_true_labels():
    quality = Quality()
    judge(quality, 80)
    quality.judge(LabelSets.of([["metal"]] * 20), LabelSets.of([[]] * 20), numbers)
    split = figures(quality.all)
    assert (split.frequent_labels, split.rare_labels) == (1, 1)
    assert (split.frequent_f1.value, split.rare_f1.value) == (1.0, 0.0)
