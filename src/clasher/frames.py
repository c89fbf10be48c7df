"""Tables with named columns, and HTML for notebooks.

Tables of pandas, polars, Arrow, DuckDB and Hugging Face datasets are read through the Arrow
PyCapsule interface, so none of these libraries is imported here. The HTML escapes all text and
fits light and dark pages.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import pyarrow as pa

from clasher.errors import StreamError, require_positive

__all__ = ["batches", "columns"]


def columns(
    frame: Any, text: str = "text", labels: str | None = "labels"
) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    """Return the columns of texts and of labels of a table.

    Parameters
    ----------
    frame
        A table of pandas, polars, Arrow or Hugging Face datasets, or anything else with columns
        and ``__arrow_c_stream__``.
    text, labels
        The names of the columns; None for no labels.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from clasher import Clasher
    >>> table = pa.table({"title": ["wheat", "gold"], "tags": [["grain"], ["metal"]]})
    >>> model = Clasher(1024)
    >>> model.learn_many(*columns(table, text="title", labels="tags"))
    >>> columns(table)
    Traceback (most recent call last):
        ...
    clasher.errors.StreamError: the table has no column 'text'; its columns are 'title', 'tags'
    """
    table = frame
    if hasattr(frame, "with_format") and not hasattr(frame, "__arrow_c_stream__"):
        table = frame.with_format("arrow")[:]  # of Hugging Face, with its indices applied
    elif not isinstance(frame, pa.Table):
        try:
            table = pa.table(frame)
        except (pa.ArrowException, TypeError, ValueError) as error:
            got = f"Got {type(frame).__name__} instead ({error})"
            raise StreamError(f"a table with named columns is needed. {got}") from error
    for name in (text, labels):
        if name is not None and name not in table.column_names:
            known = ", ".join(map(repr, table.column_names)) or "none"
            raise StreamError(f"the table has no column {name!r}; its columns are {known}")
    return table[text], None if labels is None else table[labels]


def batches(
    frame: Any, text: str = "text", labels: str = "labels", size: int = 1000
) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Cut a table into the pairs that ``clasher.evaluate.evaluate`` takes.

    >>> import pyarrow as pa
    >>> table = pa.table({"text": ["wheat", "gold"], "labels": [["grain"], ["metal"]]})
    >>> [len(texts) for texts, labels in batches(table, size=1)]
    [1, 1]
    """
    require_positive("batches", "size", size)
    texts, sets = columns(frame, text, labels)
    assert sets is not None
    for start in range(0, len(texts), size):
        yield texts.slice(start, size), sets.slice(start, size)


STYLE = """
.clasher{font:14px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;border:1px solid #d0d7de;
border-radius:6px;padding:10px 14px;max-width:60em}
.clasher table{border-collapse:collapse;margin:6px 0}
.clasher th,.clasher td{padding:2px 10px 2px 0;text-align:left}
.clasher svg{display:block;width:100%;height:80px;stroke:#0969da}
.clasher .for{background:rgba(26,127,55,var(--w))}
.clasher .against{background:rgba(207,34,46,var(--w))}
@media (prefers-color-scheme:dark){.clasher{color:#e6edf3;background:#0d1117;border-color:#30363d}
.clasher svg{stroke:#58a6ff}}
""".replace("\n", "")


def card(title: str, *parts: str) -> str:
    """Put a frame with a title around HTML."""
    inside = "".join(parts)
    return f'<div class="clasher"><style>{STYLE}</style><b>{escape(title)}</b>{inside}</div>'


def rows(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Write a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in line) for line in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<table><tr>{head}</tr>{body}</table>"


def curve(name: str, values: Sequence[float]) -> str:
    """Draw values between 0 and 1 as a line."""
    step = 100 / max(1, len(values) - 1)
    points = " ".join(f"{i * step:.2f},{40 - 40 * value:.2f}" for i, value in enumerate(values))
    return (
        f'<svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(name)}"><polyline fill="none" points="{points}" '
        f'vector-effect="non-scaling-stroke"/></svg>'
    )


def weighted(pieces: Iterable[tuple[str, float]]) -> str:
    """Colour pieces of text: green for a positive weight, red for a negative one."""
    listed = list(pieces)
    most = max((abs(weight) for _, weight in listed), default=0.0) or 1.0
    return " ".join(
        f'<span class="{"for" if weight > 0 else "against"}" '
        f'style="--w:{0.6 * abs(weight) / most:.2f}" title="{weight:+.3f}">{escape(text)}</span>'
        for text, weight in listed
    )
