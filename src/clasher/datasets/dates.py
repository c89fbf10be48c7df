"""Days as ISO 8601 writes them, which sort as time does."""

from __future__ import annotations

from datetime import date
from typing import Final

_NAMES: Final = (
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
)  # fmt: skip
_MONTHS: Final = {name: number for number, name in enumerate(_NAMES, 1)}


def day(year: str, month: str, day_: str) -> str | None:
    """A day of the calendar, None where there is none such; months by number or English name.

    >>> day("1987", "FEB", "26"), day("2007", "4", "2"), day("1987", "02", "29")
    ('1987-02-26', '2007-04-02', None)
    """
    try:
        number = _MONTHS.get(month.upper()) or int(month)
        return date(int(year), number, int(day_)).isoformat()
    except ValueError:
        return None
