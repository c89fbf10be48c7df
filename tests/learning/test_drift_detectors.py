"""Change detectors: the vectorised test against a plain one, and when they find a rise."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import MissingExtraError
from clasher.learning import drift
from clasher.learning.drift import AdwinDetector, Rise, Watch, WindowDetector

blocks = st.integers(0, 120).flatmap(
    lambda trials: st.tuples(st.just(trials), st.integers(0, trials))
)
records = st.lists(st.lists(blocks, min_size=6, max_size=6), min_size=1, max_size=4)


def plain_rise(record: list[tuple[int, int]]) -> tuple[int, float, float] | None:
    """The cut where the error rose most beyond chance, and the errors before and after it."""
    share = math.log(2 * len(record) / drift.CONFIDENCE)
    trials, errors = (sum(block[i] for block in record) for i in range(2))
    best = None
    for cut in range(1, len(record)):
        early, late = record[:cut], record[cut:]
        n0, n1 = sum(n for n, _ in early), sum(n for n, _ in late)
        if min(n0, n1) < drift.SMALLEST:
            continue
        before, after = sum(e for _, e in early) / n0, sum(e for _, e in late) / n1
        one_over_m = 1 / n0 + 1 / n1
        variance = errors / trials * (1 - errors / trials)
        bound = math.sqrt(2 * one_over_m * variance * share) + 2 / 3 * one_over_m * share
        excess = after - before - bound
        if excess > 1e-12 and (best is None or excess > best[0] + 1e-12):
            best = (excess, cut, before, after)
    return best and best[1:]


@given(records)
def test_the_window_equals_a_plain_one(given_records):
    array = np.array(given_records, np.float32)
    rows = np.arange(len(array)) + 3
    found = {rise.row: rise for rise in WindowDetector().update("label", rows, array)}
    for row, plain, left in zip(rows.tolist(), given_records, array, strict=True):
        expected = plain_rise(plain)
        assert (row in found) == (expected is not None)
        if expected is None:
            assert np.array_equal(left, np.array(plain, np.float32))
        else:
            cut, before, after = expected
            assert found[row] == Rise(row, pytest.approx(before), pytest.approx(after))
            assert not left[:cut].any()
            assert np.array_equal(left[cut:], np.array(plain[cut:], np.float32))


def shown(detector, errors, trials=64, length=32):
    """Feed a record block by block; return the blocks with a rise."""
    record = np.zeros((1, length, 2), np.float32)
    rang = []
    for at, wrong in enumerate(errors):
        record[0, :-1] = record[0, 1:]
        record[0, -1] = trials, wrong
        rises = detector.update("label", np.array([0]), record)
        assert all(rise.after > rise.before for rise in rises)
        rang += [at] * len(rises)
    return rang


@pytest.mark.parametrize("detector", [WindowDetector, AdwinDetector])
def test_a_rise_is_found_soon_and_only_once(detector):
    errors = [12] * 40 + [40] * 40
    (rang,) = shown(detector(), errors)
    assert 40 <= rang <= 42


@pytest.mark.parametrize("detector", [WindowDetector, AdwinDetector])
@pytest.mark.parametrize("errors", [[40] * 40 + [12] * 40, [20] * 80, list(range(60, 0, -1))])
def test_falling_and_steady_errors_raise_no_alarm(detector, errors):
    assert shown(detector(), errors) == []


@pytest.mark.parametrize("detector", [WindowDetector, AdwinDetector])
def test_chance_rarely_raises_an_alarm(detector):
    random = np.random.default_rng(5)
    rang = sum(len(shown(detector(), random.binomial(64, 0.3, 200))) for _ in range(20))
    assert rang <= 1


def test_adwin_is_rebuilt_from_the_record_that_was_kept():
    """Its own memory ends with the process; the blocks are kept."""
    record = np.zeros((1, 32, 2), np.float32)
    record[0, :, 0], record[0, :-1, 1], record[0, -1, 1] = 64, 12, 45
    assert [rise.row for rise in AdwinDetector().update("label", np.array([3]), record)] == [3]
    assert not record[0, :-1].any()
    detector = AdwinDetector()
    detector.update("label", np.array([3]), record)
    detector.clear()
    assert not detector._known


def test_detectors_by_name():
    assert isinstance(Watch("window").detector, WindowDetector)
    assert isinstance(Watch("adwin").detector, AdwinDetector)


def test_a_missing_river_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "river.drift", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'clasher\[drift\]'"):
        Watch("adwin")
