"""What every dataset yields, and how its texts are put together.

Days as ISO 8601 writes them, which sort as time does.
"""

from __future__ import annotations

from datetime import date
from typing import Final

import msgspec

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


class Document(msgspec.Struct, frozen=True, gc=False):
    """One document of a dataset.

    Attributes
    ----------
    id : str
        What its owners call it.
    date : str | None
        The day (``1996-08-20``), or the second (``1987-02-26T15:01:01``); None where the files
        tell none.
    text : str
        Title and body, a line each or a line for each paragraph.
    labels : list of str | None
        Its labels and no others; None where nobody has labelled it.
    marks : dict
        What else the files say that a split asks for.

    Examples
    --------
    >>> Document("2286", "1996-08-20", "Recovery excitement", ["E11", "ECAT"]).labels
    ['E11', 'ECAT']
    """

    id: str
    date: str | None
    text: str
    labels: list[str] | None
    marks: dict[str, str] = {}


def tidy(text: str | None) -> str:
    r"""Text without line ends and runs of blanks.

    >>> tidy("  Wheat\n   and corn ")
    'Wheat and corn'
    """
    return " ".join(text.split()) if text else ""


def lines(*parts: str | None) -> str:
    r"""The parts that hold something, a line each.

    >>> lines("WHEAT", None, " Prices\nrose. ")
    'WHEAT\nPrices rose.'
    """
    return "\n".join(part for part in map(tidy, parts) if part)


def distinct(labels: list[str]) -> list[str]:
    """Labels without repetitions and empty ones, in their order.

    >>> distinct(["oil", "", "gas", "oil"])
    ['oil', 'gas']
    """
    return [label for label in dict.fromkeys(labels) if label]
