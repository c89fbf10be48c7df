"""Reading X and y, and the base class of both estimators.

X is text, a table with a column of text, or a matrix of features. y is one label per document, an
indicator matrix, or sets of labels. A model's labels are text; scikit-learn's may also be integers,
booleans or whole floats, sorted in ``classes_``. Labels of mixed kinds are refused: they cannot be
sorted.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from clasher.errors import LabelError, SettingError, TextError
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.text.hashing import Hashed
from clasher.text.label_names import check_name
from clasher.text.tokens import Buffers, arrow_chunks, as_buffers, plain_text
from clasher.unsupervised.vectors import HashedTfidf


def texts_of(X: Any, column: str | None, owner: str) -> Buffers | None:
    """Return the texts of X, or of its ``column``; None if X holds no text."""
    names = getattr(X, "column_names", None)  # Arrow and datasets; their ``columns`` are others
    names = getattr(X, "columns", None) if names is None else names
    if names is not None:
        X = _column_of(X, list(names), column, owner)
    elif column is not None:
        must_be = f"None, or X a table with a column {column!r}"
        raise SettingError.of("column", must_be, column, owner)
    if isinstance(X, Iterator):
        X = list(X)
    return as_buffers(X) if isinstance(X, str) or _is_text(X) else None


def _column_of(X: Any, names: Sequence[Any], column: str | None, owner: str) -> Any:
    listed = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    if column is not None:
        if column not in names:
            raise SettingError.of("column", f"one of {listed}, the columns of X", column, owner)
        return X[column]
    texts = [name for name in names if _is_text(X[name])]
    if len(texts) == 1 == len(names):
        return X[names[0]]
    if texts:
        raise SettingError(
            f"X is a table with the columns {listed}: name the one that holds the text, "
            f"{owner}(column={texts[0]!r})"
        )
    return X


def _is_text(values: Any) -> bool:
    """Tell whether a column holds text, by its first value that is not missing."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return plain_text(pa.array([], values.type)) is not None
    if issparse(values) or getattr(values, "ndim", 1) != 1 or not hasattr(values, "__iter__"):
        return False
    if getattr(getattr(values, "dtype", None), "kind", "O") in "biufc":
        return False
    present = (value for value in values if value is not None and value == value)
    try:
        return isinstance(next(present, None), str | bytes)
    except ValueError:  # a nested list: arrays have no truth value
        return False


SINGLE, MATRIX, SETS = "one label per document", "an indicator matrix", "sets of labels"
Values = npt.NDArray[Any]
_KINDS = {"U": "text", "T": "text", "O": "text", "b": "booleans", "i": "integers", "u": "integers",
          "f": "floats"}  # fmt: skip


class Targets(NamedTuple):
    """The labels of documents."""

    kind: str
    sets: LabelSets  # with the model's names
    values: Values  # distinct labels, sorted
    is_sparse: bool = False


def read_targets(y: Any) -> Targets:
    """Read y in any form."""
    return {SINGLE: _read_single, MATRIX: _read_matrix, SETS: _read_sets}[_kind_of(y)](y)


def name_of(value: Any) -> str:
    """Return the model's name of a label."""
    return value if type(value) is str else str(value.item() if hasattr(value, "item") else value)


def united(known: Values, values: Values) -> Values:
    """Return the labels of both, sorted; refuse labels of another kind."""
    if not len(known) or not len(values):
        return known if len(known) else values
    before, now = (_KINDS[labels.dtype.kind] for labels in (known, values))
    if before != now:
        shown = f"were {before} so far ({known[0]!r}) and now are {now} ({values[0]!r})"
        raise LabelError(f"labels {shown}; give them all as text for example: str(label)")
    return np.unique(np.concatenate([known, values]))


def as_values(labels: Iterable[Any]) -> Values:
    """Return the distinct labels, sorted; refuse labels of mixed kinds."""
    different = dict.fromkeys(labels)
    names = (check_name(name) if isinstance(name, str) else name for name in different)
    found = list(dict.fromkeys(names))
    kinds = {_KINDS.get(np.asarray(label).dtype.kind, "objects"): label for label in found}
    if len(kinds) > 1:
        shown = " and ".join(f"{kind} ({label!r})" for kind, label in kinds.items())
        raise LabelError(f"labels must be of one kind. Got {shown} instead; use str(label) for all")
    for label in found:
        if np.ndim(label) or not isinstance(label, str | bool | int | float | np.generic):
            raise LabelError(f"Unknown label type: {label!r} must be text or a number.")
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
    is_list = isinstance(y, list | tuple)  # NumPy would turn a mixture into text
    if given.dtype.kind == "O" or is_list:
        as_values(y if is_list else given.tolist())
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
            "Unknown label type: a matrix of labels holds 0 and 1 only; give sets of labels instead"
        )
    values = np.arange(rows.shape[1])
    names = [str(value) for value in range(rows.shape[1])]
    ids, indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int64)
    return Targets(MATRIX, LabelSets(names, ids, indptr), values, is_sparse)


def _read_sets(y: Any) -> Targets:
    if isinstance(y, LabelSets) or arrow_chunks(y) is not None:
        sets = LabelSets.of(y)
        return Targets(SETS, sets, as_values(sets.names))
    for entry in y:
        if isinstance(entry, str | bytes) or not isinstance(entry, Iterable | None):
            raise LabelError(f"Unknown label type: {entry!r} among sets; write {{{entry!r}}}")
    values = as_values(label for entry in y if entry is not None for label in entry)
    if values.dtype.kind not in "UTO":
        y = [_named(entry) for entry in y]
    return Targets(SETS, LabelSets.of(y), values)


def _named(entry: Any) -> Any:
    """Replace the labels of a document by the model's names."""
    if isinstance(entry, Mapping):
        return {name_of(label): state for label, state in entry.items()}
    return None if entry is None else [name_of(label) for label in entry]


class Fitted(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator around a model of text or features, in the attribute named ``_core``."""

    _core: ClassVar[str]
    column: str | None
    takes_text_: bool

    @abstractmethod
    def _new_core(self, texts: Buffers | None) -> Clasher | HashedTfidf:
        """Make an empty model for text, or (None) for ``n_features_in_`` features."""

    def _read(self, X: Any, *, reset: bool = False) -> Buffers | Hashed:
        """Return X as the core takes it; ``reset`` makes a new core for X."""
        name = type(self).__name__
        texts = texts_of(X, self.column, name)
        if not reset and self.takes_text_ and texts is None:
            texts = as_buffers(X)  # raises the error, unless X is empty
        elif not reset and not self.takes_text_ and texts is not None:
            fitted = f"this {name} was fitted with {self.n_features_in_} features"
            raise TextError(f"{fitted}. Got text instead; give features, or fit another one")
        if texts is None:
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float32)
        if reset:
            self.takes_text_ = texts is not None
            setattr(self, self._core, self._new_core(texts))
        if texts is not None:
            return texts
        rows = csr_array(X, copy=issparse(X))  # sorted in place: columns in order, without zeros
        rows.sum_duplicates()
        rows.eliminate_zeros()
        core: Clasher | HashedTfidf = getattr(self, self._core)
        indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        return core.take_rows(indptr, indices, rows.data.astype(np.float32))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._core)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


def plain(value: Any) -> Any:
    """Turn a NumPy number, as parameter searches pass it, into a Python one."""
    return value.item() if isinstance(value, np.generic) else value
