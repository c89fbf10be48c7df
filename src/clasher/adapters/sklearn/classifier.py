"""A model as a scikit-learn classifier."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from clasher.adapters.sklearn import inputs
from clasher.adapters.sklearn.inputs import MATRIX, SETS, SINGLE, Fitted, Targets, plain
from clasher.errors import LabelError, require_positive
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.settings import GIVEN, LearningSettings
from clasher.text.tokens import Buffers

LEAST = float(np.finfo(np.float32).tiny)  # instead of a probability of 0
MOST = 1.0 - float(np.finfo(np.float32).epsneg) / 2.0
BARELY = float(np.finfo(np.float64).tiny)  # the least decision value of a predicted label


def _log_odds(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    within = np.clip(probabilities, LEAST, MOST)
    return np.asarray(np.log(within) - np.log1p(-within))


@dataclass(eq=False, repr=False, kw_only=True)
class ClasherClassifier(ClassifierMixin, Fitted, LearningSettings):  # type: ignore[misc]
    """Classify text or vectors, with one or several labels per document, online.

    X is text (a list, an array, a column of pandas, polars or Arrow, or a table with a ``column``
    of text), or a matrix of features, dense or sparse. y is one label per document, an indicator
    matrix, or a set of labels per document, where a mapping label → bool leaves other labels
    unknown and None means unlabelled. Predictions have the form of y.

    The parameters are those of ``clasher.settings.Settings``, except ``pending``. Features
    are not weighted, only scaled by ``norm``.

    Parameters
    ----------
    epochs : int
        Number of passes of ``fit`` over the documents.
    column : str, optional
        The column of text, if X is a table.

    Attributes
    ----------
    model_ : clasher.Clasher
        The model, to explain, save or merge.
    classes_ : ndarray
        The labels seen so far, sorted; the column numbers of an indicator matrix.
    takes_text_ : bool
        Whether X was text; otherwise ``n_features_in_`` is the number of features.

    Examples
    --------
    >>> from clasher.adapters.sklearn import ClasherClassifier
    >>> texts = ["wheat and corn", "crude oil", "corn harvest", "oil and gas"] * 5
    >>> classifier = ClasherClassifier(dimensions=1024)
    >>> classifier.fit(texts, ["grain", "fuel", "grain", "fuel"] * 5).predict(["a corn field"])
    array(['grain'], dtype='<U5')

    Labels may appear later, and need not be declared:

    >>> classifier.partial_fit(["gold and silver"] * 5, ["metal"] * 5).classes_
    array(['fuel', 'grain', 'metal'], dtype='<U5')
    """

    _core: ClassVar[str] = "model_"
    epochs: int = 1
    column: str | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn documents from scratch, ``epochs`` times in their order."""
        require_positive(type(self).__name__, "epochs", plain(self.epochs))
        return self._learnt(X, y, None, reset=True, times=plain(self.epochs))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more documents, once and in their order.

        ``classes`` are labels that may appear later, which get a column of ``predict_proba`` now;
        they need not be declared.
        """
        return self._learnt(X, y, classes, reset=not self.__sklearn_is_fitted__(), times=1)

    def _learnt(self, X: Any, y: Any, classes: Any, *, reset: bool, times: int) -> Self:
        if y is None:
            raise LabelError("requires y to be passed, but the target y is None")
        documents = self._read(X, reset=reset)
        targets = inputs.read_targets(y)
        if documents.documents != len(targets.sets):
            check_consistent_length(np.empty(documents.documents), np.empty(len(targets.sets)))
        values = targets.values
        if classes is not None:
            values = inputs.united(inputs.as_values(np.asarray(classes).tolist()), values)
        if not reset:
            self._check_kind(targets)
            values = inputs.united(self.classes_, values)
        if times > 1:
            documents = self.model_.hash_many(documents)
        for _ in range(times):
            self.model_.learn_many(documents, targets.sets)
        self.classes_: inputs.Values = values
        self._kind, self._is_sparse = targets.kind, targets.is_sparse
        return self

    def _check_kind(self, targets: Targets) -> None:
        if targets.kind != self._kind:
            forms = f"y is {targets.kind}, and was {self._kind}"
            raise LabelError(f"{forms}; give it as before, or fit another one")
        if self._kind == MATRIX and len(targets.values) < len(self.classes_):
            now, before = str(len(targets.values)), str(len(self.classes_))
            raise LabelError(f"y has {now} columns, and had {before} before; it may only get more")

    def _new_core(self, texts: Buffers | None) -> Clasher:
        given = {f.name: plain(getattr(self, f.name)) for f in fields(LearningSettings)}
        if texts is None:
            given |= {"dimensions": max(2, self.n_features_in_), "weighting": GIVEN}
        return Clasher(**given)

    def predict(self, X: Any) -> Any:
        """Return labels in the form of y: an array of labels, a matrix, or an array of sets."""
        labels, probabilities = self._decide(X)
        if self._kind == SINGLE:
            return self.classes_[np.argmax(probabilities, axis=1)]
        if self._kind == MATRIX:
            rows = self._matrix_of(labels).astype(np.int64)
            return csr_matrix(rows) if self._is_sparse else rows
        places, sets = self._places(), np.empty(len(labels), object)
        for document, own in enumerate(labels):
            sets[document] = {self.classes_[places[name]].item() for name in own}
        return sets

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each entry of ``classes_`` for each document.

        They add up to 1 only if each document has one label. With the paper's rules they are the
        fractions of Eq. 15.
        """
        _, probabilities = self._decide(X)
        if self._kind != SINGLE:
            return probabilities
        probabilities = np.maximum(probabilities, LEAST)
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-odds of each entry of ``classes_``.

        With one label per document, the highest is predicted; two labels share a column, above 0
        for the second. With several labels per document, those above 0 are predicted.
        """
        labels, probabilities = self._decide(X)
        if self._kind == SINGLE:
            if len(self.classes_) != 2:
                return _log_odds(probabilities)
            one, other = np.log(np.maximum(probabilities, LEAST)).T
            return np.asarray(other - one)
        odds = _log_odds(probabilities) - _log_odds(np.array(self.model_.threshold))
        # the best label may be predicted below the threshold, and none of an empty document
        return np.where(self._matrix_of(labels), np.maximum(odds, BARELY), np.minimum(odds, 0.0))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of documents whose labels are exactly right."""
        if self.__sklearn_is_fitted__() and self._kind == SETS:
            truth = inputs.read_targets(y)
            self._check_kind(truth)
            labels, _ = self._decide(X)
            right = [own == other for own, other in zip(labels, truth.sets, strict=True)]
            return float(np.average(right, weights=sample_weight))
        return float(super().score(X, y, sample_weight))

    def _decide(self, X: Any) -> tuple[LabelSets, npt.NDArray[np.float64]]:
        check_is_fitted(self)
        labels, found = self.model_.decide_many(self._read(X))
        places = self._places()
        probabilities = np.zeros((len(labels), len(self.classes_)))
        probabilities[:, [places[name] for name in self.model_.labels]] = found
        return labels, probabilities

    def _places(self) -> dict[str, int]:
        return {inputs.name_of(value): place for place, value in enumerate(self.classes_)}

    def _matrix_of(self, labels: LabelSets) -> npt.NDArray[np.bool_]:
        places = self._places()
        columns = np.array([places.get(name, -1) for name in labels.names], np.int64)
        matrix = np.zeros((len(labels), len(self.classes_)), np.bool_)
        matrix[labels.documents, columns[labels.ids]] = True
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
