"""Batches: rows out of data frames, and answers in the form in which documents were given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from clasher.errors import TextError


def rows(batch: Any) -> list[Any]:
    """The documents, or the labels, of a batch: rows of a data frame, or entries of a column.

    >>> rows(pa.table({"wheat": [1, 0], "corn": [2, 1]}))
    [{'wheat': 1, 'corn': 2}, {'wheat': 0, 'corn': 1}]
    """
    if _of(batch, "pandas") and hasattr(batch, "columns"):
        return list(batch.to_dict("records"))
    if _of(batch, "polars") and hasattr(batch, "to_dicts"):
        return list(batch.to_dicts())
    if isinstance(batch, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
        return list(batch.to_pylist())
    if isinstance(batch, str | bytes | dict) or not isinstance(batch, Iterable):
        raise TextError(
            f"a batch must be a data frame, a column or a list of documents. "
            f"Got {type(batch).__name__} instead."
        )
    return list(batch)


def answers(batch: Any, names: Sequence[Any], columns: Any) -> Any:
    """Answers for the documents of a batch: a data frame of its library, or a list of mappings.

    ``columns`` has a row for each document and a column for each of ``names``.
    """
    if _of(batch, "pandas"):
        import pandas as pd  # type: ignore[import-untyped, unused-ignore]

        return pd.DataFrame(columns, index=batch.index, columns=list(names))
    if _of(batch, "polars"):
        import polars as pl

        return pl.DataFrame({str(name): columns[:, at] for at, name in enumerate(names)})
    return [dict(zip(names, row, strict=True)) for row in columns.tolist()]


def _of(value: Any, library: str) -> bool:
    return type(value).__module__.partition(".")[0] == library
