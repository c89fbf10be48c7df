"""A multi-label classifier as River knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from river import base

from clasher.adapters.river import batches, naming
from clasher.adapters.river.naming import Label
from clasher.analyzer import Analyzer
from clasher.errors import TextError
from clasher.hashing import Hashed
from clasher.model import Clasher
from clasher.model_bytes import packed, unpacked
from clasher.settings import Settings

Document: TypeAlias = str | Mapping[Any, Any]
"""A text, or features: names with values."""

OF_FEATURES = {"weighting": "tf", "tf": "count"}
"""What is done to features unless told otherwise: nothing."""


class Decisions(dict[Any, bool]):
    """Which labels a document has; labels that were never seen are ones it does not have.

    River's measures ask for every label of the truth, the new ones included.
    """

    def __missing__(self, label: Label) -> bool:
        return False


class Probabilities(dict[Any, dict[bool, float]]):
    """How probable the labels of a document are; those that were never seen are not."""

    def __missing__(self, label: Label) -> dict[bool, float]:
        return {False: 1.0, True: 0.0}


class ClasherClassifier(base.MultiLabelClassifier):  # type: ignore[misc, unused-ignore]
    """Clashing, by River's rules: several labels for each text, or each mapping of features.

    Documents are texts or features, the first one decides. Labels are a mapping label → bool,
    which leaves the labels that it does not name unknown, a set of labels, which means "these and
    no others", or None; they may appear at any time. Features are what :mod:`clasher.features`
    says; they are weighed by what is before this in a pipeline, so they are taken as they are
    unless ``weighting`` and ``tf`` say otherwise.

    Parameters
    ----------
    dimensions, rule, similarity, norm, threshold, at_least_one, max_labels, on_full, seed, \
depth, conservative, words, half_life, detector, analyzer
        As :class:`clasher.settings.Settings` has them.
    weighting
        None: ``tfidf`` for texts, ``tf`` for features.
    tf
        None: ``log`` for texts, ``count`` for features.

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

    def __init__(
        self,
        dimensions: int = 65536,
        rule: str = "margin",
        weighting: str | None = None,
        similarity: str = "cosine",
        tf: str | None = None,
        norm: str = "l2",
        threshold: float | None = None,
        at_least_one: bool | None = None,
        max_labels: int = 4096,
        on_full: str = "error",
        seed: int = 0,
        depth: int = 1,
        conservative: bool = False,
        words: bool = False,
        half_life: float | None = None,
        detector: str = "none",
        analyzer: Analyzer | None = None,
    ) -> None:
        self.dimensions = dimensions
        self.rule = rule
        self.weighting = weighting
        self.similarity = similarity
        self.tf = tf
        self.norm = norm
        self.threshold = threshold
        self.at_least_one = at_least_one
        self.max_labels = max_labels
        self.on_full = on_full
        self.seed = seed
        self.depth = depth
        self.conservative = conservative
        self.words = words
        self.half_life = half_life
        self.detector = detector
        self.analyzer = analyzer
        self._model: Clasher | None = None
        self._kind: naming.Kind = None
        Settings(**self._settings())  # tells what is wrong with them

    @property
    def model(self) -> Clasher:
        """The model behind it, to be explained, inspected or saved; made by the first document."""
        return self._new(of_features=False) if self._model is None else self._model

    # ── one document ─────────────────────────────────────────────────────────────────────────

    def learn_one(self, x: Document, y: Any) -> None:
        """Learn from one document; None for its labels only counts its words."""
        labels, kind = naming.read(y, self._kind)
        self._learn([x], [labels], kind)

    def predict_one(self, x: Document, **kwargs: Any) -> Decisions:
        """Whether it has each of the labels seen so far; changes nothing."""
        names = self._labels()
        if not names:
            return Decisions()
        model = self.model
        if isinstance(x, str) and not model.settings.analyzer.features:  # the shortest way
            predicted = model.predict(x)
        else:
            predicted = model.predict_many(self._hashed([x]))[0]
        return Decisions((naming.given(name, self._kind), name in predicted) for name in names)

    def predict_proba_one(self, x: Document, **kwargs: Any) -> Probabilities:
        """How probable each of the labels seen so far is; changes nothing."""
        names = self._labels()
        if not names:
            return Probabilities()
        probabilities = self.model.probabilities_many(self._hashed([x]))[0].tolist()
        return Probabilities(
            (naming.given(name, self._kind), {False: 1.0 - share, True: share})
            for name, share in zip(names, probabilities, strict=True)
        )

    # ── many documents ───────────────────────────────────────────────────────────────────────

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from many documents: the same as ``learn_one`` one by one.

        ``X`` is a data frame of features, or a column or list of texts or mappings; ``y`` a data
        frame with a column for each label, or a column or list of what ``learn_one`` takes.
        """
        kind, read = self._kind, []
        for entry in batches.rows(y):
            labels, kind = naming.read(entry, kind)
            read.append(labels)
        self._learn(batches.rows(X), read, kind)

    def predict_many(self, X: Any) -> Any:
        """Which labels each document has: a data frame where ``X`` is of pandas or polars."""
        documents, names = batches.rows(X), self._labels()
        has = np.zeros((len(documents), len(names)), np.bool_)
        if has.size:
            numbers = {name: at for at, name in enumerate(names)}
            for row, labels in enumerate(self.model.predict_many(self._hashed(documents))):
                has[row, [numbers[label] for label in labels]] = True
        return batches.answers(X, self._given(names), has)

    def predict_proba_many(self, X: Any) -> Any:
        """How probable it is that each document has each label, in the form of ``predict_many``."""
        documents, names = batches.rows(X), self._labels()
        probabilities = np.zeros((len(documents), len(names)), np.float32)
        if probabilities.size:
            probabilities = self.model.probabilities_many(self._hashed(documents))
        return batches.answers(X, self._given(names), probabilities)

    # ── how it is done ───────────────────────────────────────────────────────────────────────

    def _learn(self, documents: list[Any], labels: list[Any], kind: naming.Kind) -> None:
        if not documents and not labels:
            return
        model = self._model
        if model is None:
            model = self._new(any(isinstance(document, Mapping) for document in documents))
        model.learn_many(_hashed(model, documents), labels)
        self._model, self._kind = model, kind

    def _hashed(self, documents: list[Any]) -> Hashed:
        return _hashed(self.model, documents)

    def _labels(self) -> list[str]:
        return [] if self._model is None else self._model.labels

    def _given(self, names: list[str]) -> list[Label]:
        return [naming.given(name, self._kind) for name in names]

    def _new(self, of_features: bool) -> Clasher:
        settings = self._settings()
        if of_features:
            settings = {**OF_FEATURES, **settings, "analyzer": Analyzer(features=True)}
        return Clasher(**settings)

    def _settings(self) -> dict[str, Any]:
        """The settings that were given."""
        return {name: value for name, value in self._get_params().items() if value is not None}

    def __getstate__(self) -> dict[str, Any]:
        """All that there is to know; a model as the bytes of its file."""
        model = None if self._model is None else packed(self._model)
        return {**self.__dict__, "_model": model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_model"] is not None:
            tokenizer = None if self.analyzer is None else self.analyzer.tokenizer
            self._model = unpacked(state["_model"], Clasher.load, tokenizer=tokenizer)


def _hashed(model: Clasher, documents: list[Any]) -> Hashed:
    """Documents as the model takes them; texts and features do not mix."""
    of_features = model.settings.analyzer.features
    for number, document in enumerate(documents):
        if not isinstance(document, Mapping if of_features else str):
            wanted = "a mapping of features" if of_features else "text"
            raise TextError(
                f"document {number} must be {wanted}, as the first one was. "
                f"Got {type(document).__name__} instead."
            )
    return model.hash_features(documents) if of_features else model.hash_many(documents)
