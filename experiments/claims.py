"""Whether what is said holds in what was found."""

from __future__ import annotations

from benchmarks.tables import f1
from experiments.config import Claim
from experiments.rows import Row

YES, NO, UNKNOWN = "yes", "no", "not known"


def verdict(claim: Claim, stream: str, rows: list[Row]) -> list[str]:
    """What is said, on which stream, what was found, whether it holds."""
    if claim.better is not None:
        found, holds = _better(claim, rows)
    else:
        found, holds = _times(claim, rows)
    return [claim.says, stream, found, holds]


def _of(system: str | None, claim: Claim, rows: list[Row]) -> Row | None:
    for row in rows:
        if row.system == system and all(row.value(k) == v for k, v in claim.where.items()):
            return row
    return None


def _better(claim: Claim, rows: list[Row]) -> tuple[str, str]:
    pair = [_of(system, claim, rows) for system in (claim.better, claim.than)]
    values = []
    for row in pair:
        if row is None or row.failed is not None:
            return "a system is missing or failed", UNKNOWN
        if claim.over == "end":
            values.append(row.result[claim.measure])
        else:
            values.append(row.mean(claim.measure, 0.0, 0.5))
    if None in values:
        return "no points in the first half", UNKNOWN
    parts = [f"{f1(value)}{_cut(row)}" for value, row in zip(values, pair, strict=True)]
    return f"{parts[0]} against {parts[1]}", YES if values[0] > values[1] else NO


def _cut(row: Row | None) -> str:
    return f" ({row.cut})" if row is not None and row.cut else ""


def _times(claim: Claim, rows: list[Row]) -> tuple[str, str]:
    row = _of(claim.flat or claim.grows, claim, rows)
    if row is None or row.failed is not None:
        return "the system is missing or failed", UNKNOWN
    early = row.mean("nanoseconds_per_byte", 0.2, 0.4)
    late = row.mean("nanoseconds_per_byte", 0.8, 1.0)
    if early is None or late is None:
        return "the clock was not looked at on the way", UNKNOWN
    change = late / early - 1
    holds = abs(change) <= 0.25 if claim.flat else change >= 0.5
    return f"time per byte {change:+.0%}{_cut(row)}", YES if holds else NO
