"""Numbers, sizes and settings as text for people."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher import Clasher

BLOCKS = "▁▂▃▄▅▆▇█"
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE | re.ASCII)
UNITS = ("", "K", "M", "G", "T")
MOST_WORDS = 10  # of a list that is shown in full


def decimals(value: float) -> str:
    """Write three decimals, without the leading zero.

    >>> decimals(0.8684), decimals(1.0), decimals(-0.25)
    ('.868', '1.000', '-.250')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def counted(number: int, what: str) -> str:
    """Write a number of things.

    >>> counted(1, "document"), counted(11367, "document")
    ('1 document', '11,367 documents')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def summary(model: Clasher) -> str:
    """Count the documents and labels of a model."""
    return f"{counted(model.documents, 'document')}, {counted(len(model.labels), 'label')}"


def printable(text: str) -> str:
    r"""Escape control characters, which would act on a terminal.

    >>> print(printable("Öl\x1b[2J\n"))
    Öl\x1b[2J\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def setting(value: object) -> str:
    """Write the value of a setting; of an analyzer, its active settings.

    >>> setting({"min_length": 2, "ngrams": [1, 2], "stemmer": None, "strip_html": True})
    'min_length 2, ngrams (1, 2), strip_html True'
    >>> setting(["word"] * 2500)
    '(2,500 words)'
    """
    if isinstance(value, Mapping):
        active = {k: v for k, v in value.items() if v is not None and v is not False}
        return ", ".join(f"{name} {setting(value)}" for name, value in active.items())
    if isinstance(value, list):
        shown = ", ".join(map(str, value))
        return f"({len(value):,} words)" if len(value) > MOST_WORDS else f"({shown})"
    return str(value)


def bytes_(count: int) -> str:
    """Write a number of bytes in a fitting unit.

    >>> bytes_(999), bytes_(12_345), bytes_(312_000_000), bytes_(3_300_000_000)
    ('999 B', '12 kB', '312 MB', '3.3 GB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.1f} {unit}" if size < 9.95 and unit != "B" else f"{size:,.0f} {unit}"


def size(text: str) -> int:
    """Parse a number of bytes with a unit, such as 500MB, 1.5 GiB or 2g."""
    match = SIZE.fullmatch(text)
    count = float(match[1]) if match else 0.0
    base = 1024 if match and match[3] else 1000
    number = count * base ** UNITS.index(match[2].upper()) if match else 0.0
    if not 1 <= number < 2**63:
        raise SettingError(
            f"{text!r} is not a size of memory; write a number above 0 and a unit, such as 500MB, "
            f"2GB or 1.5GiB (units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"
        )
    return int(number)


def significant(value: float | None) -> str:
    """Write two significant digits; "none" for None.

    >>> significant(0.01747), significant(12345.6), significant(4.15e-05), significant(3e-17)
    ('.017', '12,346', '4e-05', '0')
    """
    if value is None:
        return "none"
    size = abs(value)
    if size < 1e-9 or size >= 10:  # below: noise of the last bits
        return f"{value:,.0f}"
    if size < 1e-4:
        return f"{value:.0e}"
    text = f"{value:.{max(1, 1 - math.floor(math.log10(size)))}f}"
    return text.replace("0.", ".", 1) if size < 1 else text


def sparkline(values: Sequence[float], width: int = 24, top: float | None = None) -> str:
    """Draw a curve in one line of text, averaging the points of a long one.

    The scale goes from the lowest value to the highest, or from 0 to ``top``.

    >>> sparkline([0.2, 0.4, 0.5, 0.55, 0.6])
    '▁▅▆▇█'
    >>> sparkline([0.2, 0.4, 0.5, 0.55, 0.6], top=1.0)
    '▂▄▅▅▅'
    >>> sparkline(range(100), width=8)
    '▁▂▃▄▅▆▇█'
    """
    points = values
    if len(values) > width:
        edges = [round(i * len(values) / width) for i in range(width + 1)]
        points = [sum(values[start:stop]) / (stop - start) for start, stop in pairwise(edges)]
    low, high = min(points, default=0.0), max(points, default=0.0)
    if top is not None:
        low, high = 0.0, top
    steps = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((point - low) * steps)] for point in points)
