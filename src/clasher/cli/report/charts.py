"""The geometry of the report's charts; the template draws them as SVG.

A chart stretches to any width: positions are percentages of its area, and lines are drawn in a box
of 1000 × 1000 that stretches without changing their thickness.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clasher.cli.format import bytes_, decimals

MOST_POINTS = 500  # more than a screen resolves
MOST_TICKS = 5


class Tick(NamedTuple):
    """A mark on an axis."""

    place: float  # per cent
    text: str


class Line(NamedTuple):
    """A line of a chart; ``style`` names its colour and stroke in the style sheet."""

    name: str
    values: Sequence[float]
    style: str
    path: str = ""  # of SVG, when drawn
    last: str = ""  # the last value, for the legend


class Dot(NamedTuple):
    """A dot of a scatter chart; coordinates in per cent."""

    x: float
    y: float


@dataclass(frozen=True)
class Chart:
    """Lines over the documents of a stream, from zero upwards; or dots."""

    key: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    data: dict[str, Any]
    lines: Sequence[Line] = ()
    dots: Sequence[Dot] = ()


def short(number: float, unit: str = "") -> str:
    """Write a number at a tick: 12.5k, 0.25, 2.5 MB."""
    power = min(4, int(math.log10(number) // 3)) if number >= 1 else 0
    gap, unit = unit[:-1], unit[-1:]
    return f"{number / 1000**power:.4g}{gap}{('', 'k', 'M', 'G', 'T')[power]}{unit}"


NOTATIONS: dict[str, tuple[Callable[[float], str], Callable[[float], str], int]] = {
    "ratio": (decimals, short, 3),
    "rate": (lambda rate: f"{rate:,.0f}/s", short, 0),
    "size": (lambda size: bytes_(int(size)), lambda size: short(size, " B"), 0),
}
"""How to write a kind of value: in the legend, at a tick, and with how many digits."""


def line_chart(key: str, documents: Sequence[int], lines: Iterable[Line], kind: str) -> Chart:
    """Lay out lines over the documents of a stream."""
    in_legend, at_tick, digits = NOTATIONS[kind]
    # Thin out evenly, from the last point backwards.
    step = -(-len(documents) // MOST_POINTS) or 1
    chosen = range(len(documents) - 1, -1, -step)[::-1]
    x = [documents[i] for i in chosen]
    kept = [line._replace(values=[line.values[i] for i in chosen]) for line in lines]
    right = x[-1] if x else 1
    y_ticks = ticks(max((value for line in kept for value in line.values), default=0.0))
    top = y_ticks[-1]
    drawn, data = [], []
    for line in kept:
        path = _path([at / right for at in x], [value / top for value in line.values])
        drawn.append(line._replace(path=path, last=in_legend(line.values[-1]) if x else ""))
        data.append({"name": line.name, "values": [round(value, digits) for value in line.values]})
    return Chart(
        key,
        [Tick(_percent(at / right), short(at)) for at in ticks(right) if at <= right],
        [Tick(_percent(1 - at / top), at_tick(at)) for at in y_ticks],
        {"kind": kind, "x": x, "lines": data},
        lines=drawn,
    )


def scatter_chart(key: str, rows: Sequence[tuple[str, int, float]]) -> Chart:
    """Lay out named dots: ``x`` counts from 1 on a logarithmic axis, ``y`` from 0 to 1."""
    decades = max(1.0, math.log10(max((x for _, x, _ in rows), default=1)))
    return Chart(
        key,
        [Tick(_percent(d / decades), short(10**d)) for d in range(int(decades) + 1)],
        [Tick(_percent(1 - at), short(at)) for at in ticks(1.0)],
        {
            "names": [row[0] for row in rows],
            "x": [row[1] for row in rows],
            "y": [round(row[2], 3) for row in rows],
        },
        dots=[Dot(_percent(math.log10(x) / decades), _percent(1 - y)) for _, x, y in rows],
    )


def ticks(highest: float) -> list[float]:
    """Return a few round numbers from 0 to at least ``highest``."""
    if highest <= 0:
        return [0.0, 1.0]
    power: float = 10 ** math.floor(math.log10(highest))
    step = next(
        factor * power
        for factor in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5)
        if highest / (factor * power) <= MOST_TICKS + 1e-9
    )
    return [float(f"{i * step:.12g}") for i in range(math.ceil(highest / step - 1e-9) + 1)]


def _path(x: Sequence[float], y: Sequence[float]) -> str:
    points = [
        f"{a * 1000:.1f} {(1 - b) * 1000:.1f}".replace(".0 ", " ").removesuffix(".0")
        for a, b in zip(x, y, strict=True)
    ]
    # the round cap of a line without length is a dot
    return f"M{points[0]}h0" if len(points) == 1 else "M" + "L".join(points) if points else ""


def _percent(place: float) -> float:
    return round(place * 100, 2)
