"""What X may be: text, a table with a column of text, or a matrix of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array, issparse

from clasher.errors import SettingError
from clasher.text import Buffers, as_buffers, plain_text


class Features(NamedTuple):
    """The rows of a sparse matrix, as ``take_rows`` takes them."""

    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]


def texts_of(X: Any, column: str | None, owner: str) -> Buffers | None:
    """The texts of X, in a table those of its ``column``; None where X holds no text.

    >>> texts_of(["wheat", "corn"], None, "Example").documents
    2
    >>> texts_of([[0.5, 1.0]], None, "Example") is None
    True
    """
    names = _column_names(X)
    if names is not None:
        X = _column_of(X, names, column, owner)
    elif column is not None:
        wanted = f"None, or X a table with a column {column!r}"
        raise SettingError.of("column", wanted, column, owner)
    if isinstance(X, Iterator):
        X = list(X)
    return as_buffers(X) if isinstance(X, str) or _is_text(X) else None


def features_of(X: Any) -> Features:
    """The rows of a matrix that scikit-learn has looked at, dense or sparse.

    Equal matrices give equal rows, however they are stored: in the order of their columns, each
    once, without zeros.
    """
    rows = csr_array(X, copy=issparse(X))  # which is put in order in place
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return Features(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)
    )


def _column_names(X: Any) -> list[Any] | None:
    """The names of a table's columns: those of pandas, polars, Arrow and datasets have some."""
    names = getattr(X, "column_names", None)  # Arrow and datasets have columns of another kind
    names = getattr(X, "columns", None) if names is None else names
    return None if names is None else list(names)


def _column_of(X: Any, names: Sequence[Any], column: str | None, owner: str) -> Any:
    if column is not None:
        if column not in names:
            raise SettingError.of(
                "column", f"one of {_listed(names)}, the columns of X", column, owner
            )
        return X[column]
    texts = [name for name in names if _is_text(X[name])]
    if len(texts) == 1 == len(names):
        return X[names[0]]
    if texts:
        raise SettingError(
            f"X is a table with the columns {_listed(names)}: name the one that holds the text, "
            f"{owner}(column={texts[0]!r})"
        )
    return X


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return shown if len(names) <= 10 else f"{shown}, …"


def _is_text(values: Any) -> bool:
    """Whether a column holds text: the first value that is not missing tells."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return plain_text(pa.array([], values.type)) is not None
    if issparse(values) or getattr(values, "ndim", 1) != 1 or not hasattr(values, "__iter__"):
        return False
    if getattr(getattr(values, "dtype", None), "kind", "O") in "biufc":
        return False
    present = (value for value in values if value is not None and value == value)
    try:
        return isinstance(next(present, None), str | bytes)
    except ValueError:  # rows of a nested list are neither equal nor different
        return False
