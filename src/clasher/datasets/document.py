"""The documents of datasets, and helpers to make them."""

from __future__ import annotations

from datetime import date
from typing import Final

import msgspec

_NAMES: Final = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"
_MONTHS: Final = {name: number for number, name in enumerate(_NAMES.split(), 1)}


def day(year: str, month: str, day_: str) -> str | None:
    """Write a day as in ISO 8601, None if it does not exist; months by number or English name.

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
        Its id in the corpus.
    date : str | None
        The day (``1996-08-20``) or second (``1987-02-26T15:01:01``); None if the files have none.
    text : str
        Title and body, a line for each or for each paragraph.
    labels : list of str | None
        All its labels; None if it was never labelled.
    marks : dict
        Other attributes that a split needs.
    """

    id: str
    date: str | None
    text: str
    labels: list[str] | None
    marks: dict[str, str] = {}


def tidy(text: str | None) -> str:
    """Collapse white space."""
    return " ".join(text.split()) if text else ""


def lines(*parts: str | None) -> str:
    """Join the parts that are not empty, a line each."""
    return "\n".join(part for part in map(tidy, parts) if part)


def distinct(labels: list[str]) -> list[str]:
    """Drop repeated and empty labels."""
    return [label for label in dict.fromkeys(labels) if label]
