"""What y may be: a label for each document, an indicator matrix, or sets of labels.

A model knows labels by text; scikit-learn by text, integers, booleans or floats that are whole,
sorted in ``classes_``. Labels of more than one of these kinds are refused: they cannot be sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from clasher.errors import LabelError
from clasher.label_names import check_name
from clasher.labels import LabelSets
from clasher.text import arrow_chunks

SINGLE, MATRIX, SETS = "labels", "matrix", "sets"
"""One label for each document, a column for each label, a set of labels for each document."""

Values = npt.NDArray[Any]

_KINDS = {"U": "text", "T": "text", "O": "text", "b": "booleans", "i": "integers", "u": "integers",
          "f": "floats"}  # fmt: skip


class Targets(NamedTuple):
    """A column of labels."""

    kind: str
    sets: LabelSets  # under the names that a model knows them by
    values: Values  # the different labels, sorted
    is_sparse: bool = False


def read_targets(y: Any) -> Targets:
    """Read y, whatever it is.

    >>> read_targets([3, 1, 3]).sets[0], read_targets([{"oil", "gas"}, set()]).values
    ({'3'}, array(['gas', 'oil'], dtype='<U3'))
    >>> read_targets([[0, 1], [1, 1]]).sets[1] == {"0", "1"}
    True
    """
    kind = _kind_of(y)
    if kind == SINGLE:
        return _read_single(y)
    return _read_matrix(y) if kind == MATRIX else _read_sets(y)


def name_of(value: Any) -> str:
    """The name by which a model knows a label."""
    return value if type(value) is str else str(value.item() if hasattr(value, "item") else value)


def united(known: Values, values: Values) -> Values:
    """The labels of both, sorted; refuses those of another kind."""
    if not len(known) or not len(values):
        return known if len(known) else values
    before, now = (_KINDS[labels.dtype.kind] for labels in (known, values))
    if before != now:
        raise LabelError(
            f"labels were {before} so far ({known[0]!r}) and now are {now} ({values[0]!r}); give "
            f"them all in one kind, as text for example: str(label)"
        )
    return np.unique(np.concatenate([known, values]))


def as_values(labels: Iterable[Any]) -> Values:
    """Different labels, sorted, as an array of the one kind that they have."""
    different = dict.fromkeys(labels)
    found = list(
        dict.fromkeys(check_name(name) if isinstance(name, str) else name for name in different)
    )
    kinds = {_KINDS.get(np.asarray(label).dtype.kind, "objects"): label for label in found}
    if len(kinds) > 1:
        shown = " and ".join(f"{kind} ({label!r})" for kind, label in kinds.items())
        raise LabelError(
            f"labels must be of one kind. Got {shown} instead; give them all as text for example: "
            f"str(label)"
        )
    for label in found:
        if np.ndim(label) or not isinstance(label, str | bool | int | float | np.generic):
            raise LabelError(
                f"Unknown label type: a label must be text or a number. Got {label!r} instead."
            )
    return np.unique(np.array(found)) if found else np.zeros(0, np.int64)


def _kind_of(y: Any) -> str:
    if isinstance(y, LabelSets | pa.Array | pa.ChunkedArray):
        return SETS
    if issparse(y) or getattr(y, "ndim", 1) > 1:
        return MATRIX if y.shape[1] != 1 else SINGLE
    if not hasattr(y, "__iter__"):
        return SINGLE
    first: Any = next((entry for entry in y if entry is not None), None)
    if isinstance(first, set | frozenset | Mapping):
        return SETS
    if hasattr(first, "__len__") and not isinstance(first, str | bytes):
        return MATRIX if len(first) and np.asarray(first).dtype.kind in "biuf" else SETS
    return SINGLE if first is not None or not len(y) else SETS


def _read_single(y: Any) -> Targets:
    if issparse(y):
        y = y.toarray()
    given = column_or_1d(y, warn=True)
    if given.dtype.kind == "O" or isinstance(y, list | tuple):  # NumPy makes text of a mixture
        as_values(y if isinstance(y, list | tuple) else given.tolist())
    given = check_array(given, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(given)
    values, numbers = np.unique(given, return_inverse=True)
    if values.dtype.kind in "UTO":
        names = [check_name(name_of(value)) for value in values]
        values, renumber = np.unique(np.array(names, values.dtype), return_inverse=True)
        numbers = renumber[numbers]
    ids, indptr = numbers.astype(np.int32), np.arange(len(given) + 1)
    return Targets(SINGLE, LabelSets([name_of(value) for value in values], ids, indptr), values)


def _read_matrix(y: Any) -> Targets:
    rows = check_array(y, accept_sparse="csr", dtype=None, input_name="y")
    is_sparse = issparse(rows)
    rows = csr_array(rows, copy=is_sparse)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if rows.data.size and (rows.dtype.kind not in "biuf" or not (rows.data == 1).all()):
        raise LabelError(
            "Unknown label type: a matrix of labels has a column for each label, with 1 where a "
            "document has it and 0 where it has not. Got other values; give sets of labels instead"
        )
    values = np.arange(rows.shape[1])
    names = [str(value) for value in range(rows.shape[1])]
    ids, indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int64)
    return Targets(MATRIX, LabelSets(names, ids, indptr), values, is_sparse)


def _read_sets(y: Any) -> Targets:
    if isinstance(y, LabelSets) or arrow_chunks(y) is not None:
        sets = LabelSets.of(y)
        return Targets(SETS, sets, as_values(sets.names))
    values = as_values(label for entry in y if entry is not None for label in _labels_in(entry))
    if values.dtype.kind not in "UTO":
        y = [_named(entry) for entry in y]
    return Targets(SETS, LabelSets.of(y), values)


def _labels_in(entry: Any) -> Iterable[Any]:
    if isinstance(entry, str | bytes) or not isinstance(entry, Iterable):
        raise LabelError(
            f"Unknown label type: y has sets of labels and, among them, {entry!r}; write "
            f"{{{entry!r}}}"
        )
    return entry


def _named(entry: Any) -> Any:
    """The labels of a document by the names that a model knows."""
    if isinstance(entry, Mapping):
        return {name_of(label): state for label, state in entry.items()}
    return None if entry is None else [name_of(label) for label in entry]
