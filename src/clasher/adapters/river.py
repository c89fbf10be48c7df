"""A multi-label classifier for River (extra ``river``)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from clasher.errors import LabelError, MissingExtraError, TextError
from clasher.labels import Labels
from clasher.model import Clasher
from clasher.settings import LearningSettings, Settings
from clasher.text.analyzer import Analyzer
from clasher.text.hashing import Hashed
from clasher.text.label_names import normal_states

OLDEST = "0.22"  # the first that works with NumPy 2


def check_river() -> None:
    """Refuse a missing River, or one that is too old."""
    try:
        found = version("river")
    except PackageNotFoundError as error:
        raise MissingExtraError.of("The classifier for River", "river") from error
    if [int(part) for part in found.split(".")[:2]] < [int(part) for part in OLDEST.split(".")]:
        raise MissingExtraError.too_old("River", found, OLDEST, "river")


check_river()

from river import base  # noqa: E402

__all__ = ["ClasherClassifier"]

Document: TypeAlias = str | Mapping[Any, Any]  # a text, or features: names with values
Label: TypeAlias = str | int
Kind: TypeAlias = type[str] | type[int] | None  # of all labels; None before the first


def read_labels(labels: Any, kind: Kind) -> tuple[Labels, Kind]:
    """Return labels as a model takes them, and their kind."""
    if labels is None:
        return None, kind
    if isinstance(labels, Mapping):
        states = {name: _state(name, given) for name, given in labels.items()}
        kind = _kind(states, kind)
        known = {str(name): state for name, state in states.items() if state is not None}
        return normal_states(known), kind
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise LabelError(f"labels must be a mapping, a set or None. Got {labels!r} instead.")
    names = list(labels)
    return {str(name) for name in names}, _kind(names, kind)


def _kind(names: Iterable[Any], kind: Kind) -> Kind:
    for name in names:
        if not isinstance(name, str) and (not isinstance(name, Integral) or isinstance(name, bool)):
            raise LabelError(f"a label must be text or an integer. Got {name!r}; use str(label)")
        own: Kind = str if isinstance(name, str) else int
        if kind is not None and own is not kind:
            before = "an integer" if kind is int else "text"
            raise LabelError(f"label {name!r} is not {before}, as those before it; use str(label)")
        kind = own
    return kind


def _state(name: Any, state: Any) -> bool | None:
    """Return whether a document has a label, None if that is unknown (None or NaN)."""
    if state is None or state != state:
        return None
    if state in (0, 1):  # also NumPy's booleans
        return bool(state)
    raise LabelError(f"label {name!r} must be True, False or None. Got {state!r} instead.")


def rows(batch: Any) -> list[Any]:
    """Return the documents or the labels of a batch: rows of a table, or entries of a column."""
    if _of(batch, "pandas") and hasattr(batch, "columns"):
        return list(batch.to_dict("records"))
    for method in ("to_dicts", "to_pylist"):  # of polars, of Arrow
        if hasattr(batch, method):
            return list(getattr(batch, method)())
    if isinstance(batch, str | bytes | dict) or not isinstance(batch, Iterable):
        got = type(batch).__name__
        raise TextError(f"a batch must be a data frame, a column or a list. Got {got} instead.")
    return list(batch)


def answers(batch: Any, names: Sequence[Any], columns: Any) -> Any:
    """Return one value per document and name, as a data frame of the batch's library or a list."""
    if _of(batch, "pandas"):
        import pandas as pd  # type: ignore[import-untyped, unused-ignore]

        return pd.DataFrame(columns, index=batch.index, columns=list(names))
    if _of(batch, "polars"):
        import polars as pl

        return pl.DataFrame({str(name): columns[:, at] for at, name in enumerate(names)})
    return [dict(zip(names, row, strict=True)) for row in columns.tolist()]


def _of(value: Any, library: str) -> bool:
    return type(value).__module__.partition(".")[0] == library


class Decisions(dict[Any, bool]):
    """The labels of a document; River's metrics also ask for labels never seen: False."""

    def __missing__(self, label: Label) -> bool:
        return False


class Probabilities(dict[Any, dict[bool, float]]):
    """The probabilities of labels, 0 for a label never seen."""

    def __missing__(self, label: Label) -> dict[bool, float]:
        return {False: 1.0, True: 0.0}


@dataclass(eq=False, repr=False, kw_only=True)
class ClasherClassifier(  # type: ignore[misc, unused-ignore]
    base.MultiLabelClassifier, LearningSettings
):
    """Classify text or features, with several labels per document, by River's rules.

    The first document decides between text and features (``clasher.text.hashing``), which
    earlier steps of a pipeline may have weighed. Labels are a set, which means "these and no
    others", a mapping label → bool, which leaves other labels unknown, or None; new ones may appear
    at any time.

    The parameters are those of ``clasher.settings.Settings``, except ``pending``.

    Parameters
    ----------
    weighting
        None: ``tfidf`` for text, ``tf`` for features.
    tf
        None: ``log`` for text, ``count`` for features.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> news = [
    ...     ("Wheat and corn prices fell", {"grain": True, "metal": False}),
    ...     ("Gold and silver prices rose", {"grain": False, "metal": True}),
    ... ] * 10
    >>> model = ClasherClassifier(dimensions=4096)
    >>> metric = metrics.multioutput.MicroAverage(metrics.F1())
    >>> evaluate.progressive_val_score(news, model, metric)
    MicroAverage(F1): 94.74%
    >>> model.predict_one("cheap corn")
    {'grain': True, 'metal': False}
    """

    weighting: str | None = None  # type: ignore[assignment]
    tf: str | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self._model: Clasher | None = None
        self._kind: Kind = None
        Settings(**self._settings())  # refuses bad ones

    @property
    def model(self) -> Clasher:
        """The model, to explain, inspect or save; the first document makes it."""
        return self._new(of_features=False) if self._model is None else self._model

    def learn_one(self, x: Document, y: Any) -> None:
        """Learn from one document; labels of None only count its words."""
        self._learn([x], [y])

    def predict_one(self, x: Document, **kwargs: Any) -> Decisions:
        """Return whether the document has each label seen so far; changes nothing."""
        model, labels = self.model, self._labels()
        if not labels or not isinstance(x, str) or model.settings.analyzer.features:
            return Decisions(self.predict_many([x])[0])
        predicted = model.predict(x)  # the fast path
        pairs = zip(labels, model.labels, strict=True)
        return Decisions((label, name in predicted) for label, name in pairs)

    def predict_proba_one(self, x: Document, **kwargs: Any) -> Probabilities:
        """Return the probability of each label seen so far; changes nothing."""
        pairs = self.predict_proba_many([x])[0].items()
        return Probabilities((label, {False: 1.0 - p, True: p}) for label, p in pairs)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from many documents: the same as ``learn_one`` for each.

        ``X`` is a data frame of features, or a column or list of texts or mappings; ``y`` is a
        data frame with a column per label, or a column or list of labels as for ``learn_one``.
        """
        self._learn(rows(X), rows(y))

    def predict_many(self, X: Any) -> Any:
        """Return the labels of each document, as a data frame if ``X`` is of pandas or polars."""
        documents, labels = rows(X), self._labels()
        has = np.zeros((len(documents), len(labels)), np.bool_)
        if has.size:
            found = self.model.predict_many(_hashed(self.model, documents))
            has[found.documents, found.ids] = True
        return answers(X, labels, has)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each label for each document, like ``predict_many``."""
        documents, labels = rows(X), self._labels()
        probabilities = np.zeros((len(documents), len(labels)), np.float32)
        if probabilities.size:
            probabilities = self.model.probabilities_many(_hashed(self.model, documents))
        return answers(X, labels, probabilities)

    def _labels(self) -> list[Label]:
        names = [] if self._model is None else self._model.labels
        return [int(name) if self._kind is int else name for name in names]

    def _learn(self, documents: list[Any], given: list[Any]) -> None:
        if not documents and not given:
            return
        model, kind, labels = self._model, self._kind, []
        for entry in given:
            read, kind = read_labels(entry, kind)
            labels.append(read)
        if model is None:
            model = self._new(any(isinstance(document, Mapping) for document in documents))
        model.learn_many(_hashed(model, documents), labels)
        self._model, self._kind = model, kind

    def _new(self, of_features: bool) -> Clasher:
        settings = self._settings()
        if of_features:
            given = {"weighting": "tf", "tf": "count"} | settings  # take features as they are
            settings = given | {"analyzer": Analyzer(features=True)}
        return Clasher(**settings)

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self._get_params().items() if value is not None}


def _hashed(model: Clasher, documents: list[Any]) -> Hashed:
    of_features = model.settings.analyzer.features
    for number, document in enumerate(documents):
        if not isinstance(document, Mapping if of_features else str):
            first, got = "a mapping" if of_features else "text", type(document).__name__
            raise TextError(
                f"document {number} must be {first}, as the first one. Got {got} instead."
            )
    return model.hash_features(documents) if of_features else model.hash_many(documents)
