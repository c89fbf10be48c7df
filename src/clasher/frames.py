"""Tables with named columns: pandas, polars, Arrow, DuckDB, Hugging Face datasets.

Columns are taken through the Arrow PyCapsule interface: none of these libraries is needed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from clasher.errors import StreamError, require_positive

__all__ = ["batches", "columns"]


def columns(
    frame: Any, text: str = "text", labels: str | None = "labels"
) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    """The column of texts and the column of labels of a table.

    Parameters
    ----------
    frame
        A DataFrame of pandas or polars, a Table of Arrow, a Dataset of Hugging Face, or anything
        else that has ``__arrow_c_stream__`` and columns.
    text, labels
        The names of the columns; None where there are no labels.

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
    table = _table(frame)
    for name in (text, labels):
        if name is not None and name not in table.column_names:
            known = ", ".join(map(repr, table.column_names)) or "none"
            raise StreamError(f"the table has no column {name!r}; its columns are {known}")
    return table[text], None if labels is None else table[labels]


def batches(
    frame: Any, text: str = "text", labels: str = "labels", size: int = 1000
) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """A table as the stream of pairs that ``clasher.evaluate.evaluate`` takes.

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


def _table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "with_format") and not hasattr(frame, "__arrow_c_stream__"):
        return frame.with_format("arrow")[:]  # a Dataset of Hugging Face, its indices applied
    try:
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise StreamError(
            f"a table with named columns is wanted. Got {type(frame).__name__} instead ({error})"
        ) from error
