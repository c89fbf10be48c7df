"""A model as a classifier.

What a model says of documents, in the forms that scikit-learn knows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from clasher.adapters.sklearn.inputs import (
    MATRIX,
    SETS,
    SINGLE,
    Fitted,
    Targets,
    Values,
    as_values,
    name_of,
    plain,
    read_targets,
    united,
)
from clasher.errors import LabelError, require_positive
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.settings import GIVEN, LearningSettings
from clasher.text.tokens import Buffers

LEAST = float(np.finfo(np.float32).tiny)  # a probability of 0 has no logarithm
MOST = 1.0 - float(np.finfo(np.float32).epsneg) / 2.0
BARELY = float(np.finfo(np.float64).tiny)  # above 0


class Decided:
    """The labels that a model gives to documents, and their probabilities.

    Parameters
    ----------
    kind
        The form that y had.
    classes
        What scikit-learn calls the labels, in the order of its columns.
    labels, probabilities
        What ``Clasher.decide_many`` says.
    names
        The labels of the model, in the order of the columns of ``probabilities``.
    threshold
        The probability above which a label is given.
    is_sparse
        Whether a matrix of labels is a sparse one.
    """

    def __init__(
        self,
        kind: str,
        classes: Values,
        labels: LabelSets,
        probabilities: npt.NDArray[np.float32],
        names: list[str],
        threshold: float,
        is_sparse: bool,
    ) -> None:
        self.kind, self.classes, self.labels = kind, classes, labels
        self.threshold, self.is_sparse = threshold, is_sparse
        self._places = {name_of(value): place for place, value in enumerate(classes)}
        self._probabilities = np.zeros((len(labels), len(classes)))
        self._probabilities[:, [self._places[name] for name in names]] = probabilities

    def predicted(self) -> Any:
        """The labels, in the form that y had."""
        if self.kind == SINGLE:
            return self.classes[np.argmax(self._probabilities, axis=1)]
        if self.kind == MATRIX:
            rows = self._chosen().astype(np.int64)
            return csr_matrix(rows) if self.is_sparse else rows
        sets = np.empty(len(self.labels), object)
        for document, own in enumerate(self.labels):
            sets[document] = {self.classes[self._places[name]].item() for name in own}
        return sets

    def probabilities(self) -> npt.NDArray[np.float64]:
        """A probability for each label."""
        if self.kind != SINGLE:
            return self._probabilities
        probabilities = np.maximum(self._probabilities, LEAST)
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def decisions(self) -> npt.NDArray[np.float64]:
        """Log-odds of each label, of one of two labels against the other."""
        if self.kind == SINGLE:
            if len(self.classes) != 2:
                return _log_odds(self._probabilities)
            one, other = np.log(np.maximum(self._probabilities, LEAST)).T
            return np.asarray(other - one)
        odds = _log_odds(self._probabilities) - _log_odds(np.array(self.threshold))
        # the best label may be given though it is below the threshold, and no words are no reason
        chosen = self._chosen()
        return np.where(chosen, np.maximum(odds, BARELY), np.minimum(odds, 0.0))

    def _chosen(self) -> npt.NDArray[np.bool_]:
        chosen = np.zeros(self._probabilities.shape, np.bool_)
        places = np.array([self._places.get(name, -1) for name in self.labels.names], np.int64)
        chosen[self.labels.documents, places[self.labels.ids]] = True
        return chosen


def _log_odds(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    within = np.clip(probabilities, LEAST, MOST)
    return np.asarray(np.log(within) - np.log1p(-within))


@dataclass(eq=False, repr=False, kw_only=True)
class ClasherClassifier(ClassifierMixin, Fitted, LearningSettings):  # type: ignore[misc]
    """Classifies text, or vectors, by clashing; learns online, one or several labels each.

    X is text (a list, an array, a column of pandas, polars or Arrow, or a table with a ``column``
    of it), or a matrix of features, dense or sparse. y has a label for each document, or is an
    indicator matrix, or has a set of labels for each document; then a mapping label → bool leaves
    other labels unknown, and None means unlabelled. Predictions have the form that y had.

    Parameters
    ----------
    dimensions, weighting, tf, depth, conservative, words, analyzer
        How text becomes vectors, as for :class:`clasher.settings.Settings`. Features are taken as
        they are, up to ``norm``.
    rule, similarity, norm, threshold, at_least_one, max_labels, on_full, seed, half_life, detector
        As for :class:`clasher.settings.Settings`.
    epochs : int
        How often ``fit`` goes over the documents.
    column : str, optional
        The column of text, where X is a table.

    Attributes
    ----------
    model_ : clasher.Clasher
        What was learnt, to be explained, saved or merged.
    classes_ : ndarray
        The labels seen so far, sorted; for an indicator matrix the numbers of its columns.
    takes_text_ : bool
        Whether it was fitted with text; else ``n_features_in_`` is the number of features.

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

    _core: ClassVar = "model_"
    epochs: int = 1
    column: str | None = None

    # ── learning ─────────────────────────────────────────────────────────────────────────────

    def fit(self, X: Any, y: Any) -> Self:
        """Learn documents anew, ``epochs`` times in their order."""
        require_positive(type(self).__name__, "epochs", plain(self.epochs))
        return self._learnt(X, y, None, reset=True, times=plain(self.epochs))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more documents, once and in their order.

        Parameters
        ----------
        X, y
            Documents and their labels, of the same kinds as before.
        classes
            Labels that may appear later. They need not be declared; those that are have a place in
            ``classes_``, and so in the columns of ``predict_proba``, before they appear.
        """
        reset = not self.__sklearn_is_fitted__()
        return self._learnt(X, y, classes, reset=reset, times=1)

    def _learnt(self, X: Any, y: Any, classes: Any, *, reset: bool, times: int) -> Self:
        if y is None:
            raise LabelError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} learns "
                f"from labels"
            )
        documents = self._read(X, reset=reset)
        targets = read_targets(y)
        if documents.documents != len(targets.sets):
            check_consistent_length(np.empty(documents.documents), np.empty(len(targets.sets)))
        values = targets.values
        if classes is not None:
            values = united(as_values(np.asarray(classes).tolist()), values)
        if not reset:
            self._check_kind(targets)
            values = united(self.classes_, values)
        if times > 1:
            documents = self.model_.hash_many(documents)
        for _ in range(times):
            self.model_.learn_many(documents, targets.sets)
        self.classes_: Values = values
        self._kind, self._is_sparse = targets.kind, targets.is_sparse
        return self

    def _check_kind(self, targets: Targets) -> None:
        if targets.kind != self._kind:
            raise LabelError(
                f"y has {_FORMS[targets.kind]}, and had {_FORMS[self._kind]} before; give it in "
                f"the same form, or fit another {type(self).__name__}"
            )
        if self._kind == MATRIX and len(targets.values) < len(self.classes_):
            raise LabelError(
                f"y has {len(targets.values)} columns, and had {len(self.classes_)} before; a "
                f"matrix of labels may get more columns, and has zeros for labels not there"
            )

    def _begun(self, texts: Buffers | None) -> Clasher:
        given = {f.name: plain(getattr(self, f.name)) for f in fields(LearningSettings)}
        if texts is None:
            given |= {"dimensions": max(2, self.n_features_in_), "weighting": GIVEN}
        return Clasher(**given)

    # ── predicting ───────────────────────────────────────────────────────────────────────────

    def predict(self, X: Any) -> Any:
        """Labels in the form that y had: an array of them, a matrix, or an array of sets."""
        return self._decided(X).predicted()

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """A probability for each document and entry of ``classes_``.

        They add up to 1 where each document has one label, and stand for themselves where it may
        have several. With the paper's rules they are the fractions of Eq. 15.
        """
        return self._decided(X).probabilities()

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """How much speaks for each entry of ``classes_``: log-odds.

        Where each document has one label, the highest is predicted; of two labels there is one
        column, above 0 for the second. Where it may have several, those above 0 are predicted.
        """
        return self._decided(X).decisions()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of documents whose labels are all right, and no others."""
        if self.__sklearn_is_fitted__() and self._kind == SETS:
            truth = read_targets(y)
            self._check_kind(truth)
            right = [
                own == other for own, other in zip(self._decided(X).labels, truth.sets, strict=True)
            ]
            return float(np.average(right, weights=sample_weight))
        return float(super().score(X, y, sample_weight))

    def _decided(self, X: Any) -> Decided:
        check_is_fitted(self)
        labels, probabilities = self.model_.decide_many(self._read(X))
        return Decided(
            self._kind, self.classes_, labels, probabilities, self.model_.labels,
            self.model_.threshold, self._is_sparse,
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


_FORMS = {
    "labels": "a label for each document",
    "matrix": "an indicator matrix",
    "sets": "sets of labels",
}
