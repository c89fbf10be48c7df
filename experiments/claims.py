"""Test the claims of an experiment against its results."""

from __future__ import annotations

from benchmarks.tables import f1
from experiments.config import Claim
from experiments.rows import Row

YES, NO, UNKNOWN = "yes", "no", "not known"
LEAD = 0.010
"""Smaller differences of F1 decide nothing: another hash seed moves F1 by thousandths (``python -m
experiments seeds``), and constants were chosen on the same streams."""


def verdict(claim: Claim, stream: str, rows: list[Row], varied: str = "") -> list[str]:
    """Return the claim, its stream, the result, and whether the claim holds."""
    if claim.better is not None:
        found, holds = _better(claim, rows)
    elif claim.best is not None:
        found, holds = _best(claim, rows)
    elif claim.level is not None:
        found, holds = _level(claim, rows, varied)
    elif claim.falls or claim.keeps:
        found, holds = _falls(claim, rows)
    else:
        found, holds = _times(claim, rows)
    if claim.withdrawn:
        found, holds = f"{found}; {claim.withdrawn}", UNKNOWN
    return [claim.says, stream, found, holds]


def _leads(one: float, other: float) -> str:
    """Say whether one F1 score beats another by enough to count."""
    if abs(one - other) < LEAD:
        return UNKNOWN
    return YES if one > other else NO


def _of(system: str | None, claim: Claim, rows: list[Row]) -> Row | None:
    for row in rows:
        if row.system == system and all(row.value(k) == v for k, v in claim.where.items()):
            return row
    return None


def _better(claim: Claim, rows: list[Row]) -> tuple[str, str]:
    one, other = (_of(system, claim, rows) for system in (claim.better, claim.than))
    if one is None or other is None or one.failed is not None or other.failed is not None:
        return "a system is missing or failed", UNKNOWN
    if claim.over == "end":
        pair = _measure(one, other, claim), _measure(other, one, claim)
    else:
        pair = one.mean(claim.measure, 0.0, 0.5), other.mean(claim.measure, 0.0, 0.5)
    if pair[0] is None or pair[1] is None:
        return "no points to compare", UNKNOWN
    found = f"{f1(pair[0])}{_cut(one)} vs {f1(pair[1])}{_cut(other)}"
    return found, _leads(pair[0], pair[1])


def _measure(row: Row, other: Row, claim: Claim) -> float | None:
    """Return the measure of a system after the documents that both processed."""
    if other.cut and other.result["documents"] < row.result["documents"]:
        there = row.after(other.result["documents"])
        return None if there is None else there.get(claim.measure)
    return float(row.result[claim.measure])


def _best(claim: Claim, rows: list[Row]) -> tuple[str, str]:
    mine = _of(claim.best, claim, rows)
    if mine is None or mine.failed is not None:
        return "the system is missing or failed", UNKNOWN
    leads = []
    for row in rows:
        if row.system != mine.system and row.failed is None:
            own, other = _measure(mine, row, claim), _measure(row, mine, claim)
            if own is not None and other is not None:
                leads.append((own, other, row))
    if not leads:
        return "no other system finished", UNKNOWN
    own, other, closest = min(leads, key=lambda lead: lead[0] - lead[1])
    found = f"closest is {closest.title}, {f1(own)} vs {f1(other)}{_cut(closest)}"
    return found, _leads(own, other)


def _level(claim: Claim, rows: list[Row], varied: str) -> tuple[str, str]:
    mine = [row for row in rows if row.system == claim.level and row.failed is None]
    after = [row for row in mine if row.value(varied) >= claim.since]
    if not after:
        return "the system is missing or failed", UNKNOWN
    most = max(row.result[claim.measure] for row in mine)
    least = min(row.result[claim.measure] for row in after)
    return f"at least {least / most:.0%} of {f1(most)}", YES if least >= 0.95 * most else NO


def _falls(claim: Claim, rows: list[Row]) -> tuple[str, str]:
    row = _of(claim.falls or claim.keeps, claim, rows)
    if row is None or row.failed is not None:
        return "the system is missing or failed", UNKNOWN
    values = [point[claim.measure] for point in row.points if point["documents"] >= 1_000]
    if not values:
        return "no points along the stream", UNKNOWN
    peak = max(range(len(values)), key=values.__getitem__)
    best, least = values[peak], min(values[peak:])
    fell = least < 0.9 * best
    return f"peak {f1(best)}, then at least {f1(least)}", YES if fell == bool(claim.falls) else NO


def _cut(row: Row | None) -> str:
    return f" ({row.cut})" if row is not None and row.cut else ""


def _times(claim: Claim, rows: list[Row]) -> tuple[str, str]:
    row = _of(claim.flat or claim.grows, claim, rows)
    if row is None or row.failed is not None:
        return "the system is missing or failed", UNKNOWN
    early = row.mean("nanoseconds_per_byte", 0.2, 0.4)
    late = row.mean("nanoseconds_per_byte", 0.8, 1.0)
    if early is None or late is None:
        return "no times along the stream", UNKNOWN
    change = late / early - 1
    holds = abs(change) <= 0.25 if claim.flat else change > 0.25
    return f"time per byte {change:+.0%}{_cut(row)}", YES if holds else NO
