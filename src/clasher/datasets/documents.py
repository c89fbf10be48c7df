"""What every dataset yields, and how its texts are put together."""

from __future__ import annotations

import msgspec


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
