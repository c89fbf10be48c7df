"""What a system under test is, and what one run of it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure import Measured
from benchmarks.prepared import Prepared


@dataclass(frozen=True)
class Outcome:
    """One run: what it took, and how right the test-then-train predictions were."""

    measured: Measured
    documents: int
    labels: int
    macro_f1: float
    micro_f1: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What a system is asked to do: a stream, how much of it, and settings that differ."""

    prepared: Prepared
    limit: int | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """A system under test.

    Parameters
    ----------
    name
        Its name on the command line and in the results.
    title
        Its name in tables.
    library
        The distribution it comes in.
    settings
        How it is set, in its own words.
    run
        Does one run; imports the library, so that the others need not have it.
    limit
        The documents of a stream it is given at most, where it is too slow for all; it is then
        run once.
    max_labels
        Streams with more labels than this are spared it.
    """

    name: str
    title: str
    library: str
    settings: str
    run: Callable[[Task], Outcome]
    limit: int | None = None
    max_labels: int | None = None


def judge(took: Measured, truth: Any, predicted: Any) -> Outcome:
    """Measure a peer's predictions as clasher's own are, after the clock has stopped."""
    from clasher.metrics import Metrics

    metrics = Metrics()
    metrics.update_many(truth, predicted)
    return Outcome(took, len(truth), len(metrics.labels), metrics.macro_f1, metrics.micro_f1)
