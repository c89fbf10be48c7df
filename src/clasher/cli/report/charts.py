"""The geometry of the report's charts; the template draws them as SVG.

A chart stretches to any width: positions are percentages of its area, and lines are drawn in a box
of 1000 × 1000 that stretches without changing their thickness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clasher.cli.format import bytes_, decimals

MOST_POINTS = 500  # more than a screen resolves
MOST_TICKS = 5


class Tick(NamedTuple):
    """A mark on an axis: its position in per cent, and its text."""

    place: float
    text: str


class Line(NamedTuple):
    """A line of a chart; ``style`` names its colour and stroke in the style sheet."""

    name: str
    values: Sequence[float]
    style: str


class Drawn(NamedTuple):
    """A drawn line: its SVG path, and its last value for the legend."""

    name: str
    style: str
    path: str
    last: str


class Dot(NamedTuple):
    """A dot of a scatter chart; coordinates in per cent."""

    x: float
    y: float


@dataclass(frozen=True)
class Chart:
    """Lines over the documents of a stream, from zero upwards."""

    key: str
    lines: list[Drawn]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    data: dict[str, Any]


@dataclass(frozen=True)
class Scatter:
    """Dots over a logarithmic axis, between 0 and 1."""

    key: str
    dots: list[Dot]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    data: dict[str, Any]


class Notation(NamedTuple):
    """How to write a kind of value: in the legend, at a tick, and with how many digits."""

    value: Callable[[float], str]
    tick: Callable[[float], str]
    digits: int


def short(number: float, unit: str = "") -> str:
    """Write a number at a tick.

    >>> short(12500), short(0), short(0.25), short(2_500_000, " B")
    ('12.5k', '0', '0.25', '2.5 MB')
    """
    power = min(4, int(math.log10(number) // 3)) if number >= 1 else 0
    gap, unit = unit[:-1], unit[-1:]
    return f"{number / 1000**power:.4g}{gap}{('', 'k', 'M', 'G', 'T')[power]}{unit}"


NOTATIONS = {
    "ratio": Notation(decimals, short, 3),
    "rate": Notation(lambda rate: f"{rate:,.0f}/s", short, 0),
    "size": Notation(lambda size: bytes_(int(size)), lambda size: short(size, " B"), 0),
}


def line_chart(key: str, documents: Sequence[int], lines: Iterable[Line], kind: str) -> Chart:
    """Lay out lines over the documents of a stream.

    >>> chart = line_chart("f1", [10, 20], [Line("micro", [0.5, 1.0], "micro")], "ratio")
    >>> chart.lines[0].path, [tick.text for tick in chart.y_ticks]
    ('M500 500L1000 0', ['0', '0.2', '0.4', '0.6', '0.8', '1'])
    """
    notation = NOTATIONS[kind]
    chosen = _thinned(len(documents))
    x = [documents[i] for i in chosen]
    kept = [line._replace(values=[line.values[i] for i in chosen]) for line in lines]
    right = x[-1] if x else 1
    highest = max((value for line in kept for value in line.values), default=0.0)
    y_ticks = ticks(highest)
    top = y_ticks[-1]
    return Chart(
        key,
        [
            Drawn(
                line.name,
                line.style,
                _path([a / right for a in x], [value / top for value in line.values]),
                notation.value(line.values[-1]) if line.values else "",
            )
            for line in kept
        ],
        [Tick(_percent(at / right), short(at)) for at in ticks(right) if at <= right],
        [Tick(_percent(1 - at / top), notation.tick(at)) for at in y_ticks],
        {
            "kind": kind,
            "x": x,
            "lines": [
                {"name": line.name, "values": [round(v, notation.digits) for v in line.values]}
                for line in kept
            ],
        },
    )


def scatter_chart(key: str, names: Sequence[str], x: Sequence[int], y: Sequence[float]) -> Scatter:
    """Lay out named dots: ``x`` counts from 1 on a logarithmic axis, ``y`` from 0 to 1.

    >>> scatter_chart("labels", ["oil", "gold"], [1, 100], [0.5, 1.0]).dots
    [Dot(x=0.0, y=50.0), Dot(x=100.0, y=0.0)]
    """
    decades = max(1.0, math.log10(max(x, default=1)))
    places = [math.log10(value) / decades for value in x]
    return Scatter(
        key,
        [Dot(_percent(a), _percent(1 - b)) for a, b in zip(places, y, strict=True)],
        [Tick(_percent(d / decades), short(10**d)) for d in range(int(decades) + 1)],
        [Tick(_percent(1 - at), short(at)) for at in ticks(1.0)],
        {"names": list(names), "x": list(x), "y": [round(value, 3) for value in y]},
    )


def ticks(highest: float) -> list[float]:
    """Return a few round numbers from 0 to at least ``highest``.

    >>> ticks(0.72), ticks(12000), ticks(0)
    ([0.0, 0.2, 0.4, 0.6, 0.8], [0.0, 2500.0, 5000.0, 7500.0, 10000.0, 12500.0], [0.0, 1.0])
    """
    if highest <= 0:
        return [0.0, 1.0]
    power: float = 10 ** math.floor(math.log10(highest))
    step = next(
        factor * power
        for factor in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5)
        if highest / (factor * power) <= MOST_TICKS + 1e-9
    )
    return [float(f"{i * step:.12g}") for i in range(math.ceil(highest / step - 1e-9) + 1)]


def _thinned(points: int) -> list[int]:
    """Choose which points to keep: evenly spaced, and always the last."""
    step = -(-points // MOST_POINTS)
    return list(range(points - 1, -1, -step))[::-1] if points else []


def _path(x: Sequence[float], y: Sequence[float]) -> str:
    if len(x) == 1:
        return f"M{_thousand(x[0])} {_thousand(1 - y[0])}h0"  # its round cap is a dot
    pairs = zip(x, y, strict=True)
    return "".join(
        f"{'L' if i else 'M'}{_thousand(a)} {_thousand(1 - b)}" for i, (a, b) in enumerate(pairs)
    )


def _thousand(place: float) -> str:
    return f"{place * 1000:.1f}".removesuffix(".0")


def _percent(place: float) -> float:
    return round(place * 100, 2)
