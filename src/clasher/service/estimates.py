"""Measures with intervals: Wilson's for proportions, the delta method for means of F1.

F1 grows with the share J = tp / (tp + fp + fn) of right ones among all that was true or predicted,
F1 = 2J / (1 + J), so the bounds of J are those of F1. The labels of one document are not
independent: the micro average has no more observations than documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TypeAlias

from clasher.service.structs import Estimate

Z = 1.959964  # 95 %
ENOUGH = 20  # observations of a proportion
ENOUGH_DOCUMENTS = 100  # for an average over labels

Counts: TypeAlias = tuple[int, int, int]
"""Hits, false alarms, misses."""


def ratio(hits: int, trials: int) -> Estimate:
    """A proportion with Wilson's interval.

    >>> estimate = ratio(8, 10)
    >>> round(estimate.low, 2), estimate.value, round(estimate.high, 2), estimate.is_enough
    (0.49, 0.8, 0.94, False)
    """
    low, high = _wilson(hits / trials if trials else 0.0, trials)
    value = hits / trials if trials else 0.0
    return Estimate(
        value=value, low=low, high=high, observations=trials, is_enough=trials >= ENOUGH
    )


def estimate_f1(counts: Counts) -> Estimate:
    """The F1 of one label."""
    trials = sum(counts)
    return _of_share(counts[0] / trials if trials else 0.0, trials, trials >= ENOUGH)


def estimate_micro(rows: Sequence[Counts], documents: int) -> Estimate:
    """F1 of the summed counts."""
    trials = sum(map(sum, rows))
    share = sum(row[0] for row in rows) / trials if trials else 0.0
    return _of_share(share, min(trials, documents), documents >= ENOUGH_DOCUMENTS)


def estimate_macro(rows: Sequence[Counts]) -> Estimate:
    """The mean F1 of labels; shares are drawn towards a half where there are few observations."""
    if not rows:
        return Estimate(value=0.0, low=0.0, high=1.0, observations=0, is_enough=False)
    value = sum(_f1(row[0] / sum(row)) for row in rows) / len(rows)
    variance = 0.0
    for row in rows:
        trials = sum(row) + 4.0
        share = (row[0] + 2.0) / trials
        variance += share * (1.0 - share) / trials * (2.0 / (1.0 + share) ** 2) ** 2
    reach = Z * sqrt(variance) / len(rows)
    observations = sum(row[0] + row[2] for row in rows)
    return Estimate(
        value=value, low=max(0.0, value - reach), high=min(1.0, value + reach),
        observations=observations, is_enough=observations >= ENOUGH_DOCUMENTS,
    )  # fmt: skip


def _of_share(share: float, trials: int, is_enough: bool) -> Estimate:
    low, high = _wilson(share, trials)
    return Estimate(
        value=_f1(share), low=_f1(low), high=_f1(high), observations=trials, is_enough=is_enough
    )


def _f1(share: float) -> float:
    return 2.0 * share / (1.0 + share)


def _wilson(share: float, trials: int) -> tuple[float, float]:
    if not trials:
        return 0.0, 1.0
    centre = share + Z * Z / (2 * trials)
    reach = Z * sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    below = 1 + Z * Z / trials
    low, high = (centre - reach) / below, (centre + reach) / below
    return max(0.0, min(low, share)), min(1.0, max(high, share))  # which rounding may miss
