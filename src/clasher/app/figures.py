"""Figures as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

BLOCKS = "▁▂▃▄▅▆▇█"
MOST_WORDS = 10  # of a list that is written out


def decimals(value: float) -> str:
    """Three decimals, without the zero before them.

    >>> decimals(0.8684), decimals(1.0), decimals(-0.25)
    ('.868', '1.000', '-.250')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "document"), counted(11367, "document")
    ('1 document', '11,367 documents')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    r"""Text that does nothing to a terminal: what cannot be seen is written as an escape.

    >>> print(printable("Öl\x1b[2J\n"))
    Öl\x1b[2J\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def setting(value: object) -> str:
    """The value of a setting; of an analyzer, what it does.

    >>> setting({"min_length": 2, "ngrams": [1, 2], "stemmer": None, "strip_html": True})
    'min_length 2, ngrams (1, 2), strip_html True'
    >>> setting(["word"] * 2500)
    '(2,500 words)'
    """
    if isinstance(value, Mapping):
        done = {name: how for name, how in value.items() if how is not None and how is not False}
        return ", ".join(f"{name} {setting(how)}" for name, how in done.items())
    if isinstance(value, list):
        shown = ", ".join(map(str, value))
        return f"({len(value):,} words)" if len(value) > MOST_WORDS else f"({shown})"
    return str(value)


def bytes_(count: int) -> str:
    """A number of bytes in a unit that suits it.

    >>> bytes_(999), bytes_(12_345), bytes_(312_000_000), bytes_(3_300_000_000)
    ('999 B', '12 kB', '312 MB', '3.3 GB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.1f} {unit}" if size < 9.95 and unit != "B" else f"{size:,.0f} {unit}"


def sparkline(values: Sequence[float], width: int = 24, top: float | None = None) -> str:
    """A curve in one line; stretches of a long one are averaged.

    It reaches from the lowest value to the highest, or from 0 to ``top``.

    >>> sparkline([0.2, 0.4, 0.5, 0.55, 0.6])
    '▁▅▆▇█'
    >>> sparkline([0.2, 0.4, 0.5, 0.55, 0.6], top=1.0)
    '▂▄▅▅▅'
    >>> sparkline(range(100), width=8)
    '▁▂▃▄▅▆▇█'
    """
    points = _averaged(values, width)
    low, high = min(points, default=0.0), max(points, default=0.0)
    if top is not None:
        low, high = 0.0, top
    steps = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((point - low) * steps)] for point in points)


def _averaged(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    edges = [round(i * len(values) / width) for i in range(width + 1)]
    return [sum(values[start:stop]) / (stop - start) for start, stop in pairwise(edges)]
