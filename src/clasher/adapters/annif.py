"""A learning backend for Annif, the tool for subject indexing in libraries (extra ``annif``).

The labels of the model are the URIs of subjects. Annif has a fixed table of backends; ``register``
adds ``clasher`` to it for this process.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clasher.errors import ClasherError, MissingExtraError
from clasher.model import Clasher
from clasher.settings import declarations
from clasher.text.analyzer import Analyzer
from clasher.text.label_names import normal_name

if find_spec("annif") is None:
    raise MissingExtraError.of("Annif", "annif")

import annif.backend
from annif import exception
from annif.backend.backend import AnnifLearningBackend
from annif.suggestion import SubjectSuggestion, SuggestionBatch

__all__ = ["ClasherBackend", "register"]

SETTINGS = ("dimensions", "max_labels", "rule", "weighting", "half_life", "seed")  # of a project


class ClasherBackend(AnnifLearningBackend):  # type: ignore[misc, unused-ignore]
    """A backend that learns from corrected documents at once."""

    name = "clasher"
    _model: Clasher | None = None

    @property
    def path(self) -> Path:
        """The model file."""
        return Path(self.datadir, "model.clasher")

    def initialize(self, parallel: bool = False) -> None:
        """Load the model, once."""
        if self._model is not None:
            return
        if not self.path.exists():
            message = f"there is no model {self.path}; train it first"
            raise self._error(exception.NotInitializedException, message)
        try:
            self._model = Clasher.load(self.path)
        except ClasherError as error:
            raise self._error(exception.OperationFailedException, error) from error

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            message = "backend clasher keeps no documents to train from again; leave out --cached"
            raise self._error(exception.NotSupportedException, message)
        if corpus.is_empty():
            message = "backend clasher cannot be trained with no documents"
            raise self._error(exception.NotSupportedException, message)
        self._learn_into(self._new(params), corpus)

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        self.initialize()
        assert self._model is not None
        self._learn_into(self._model.copy(), corpus)

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> Any:
        model = self._model
        assert model is not None
        subjects = self.project.subjects
        numbers = [subjects.by_uri(uri, warnings=False) for uri in model.labels]
        if None in numbers:  # the subject was removed, or its URI is not normalised
            spelt = {normal_name(subjects[at].uri): at for at in range(len(subjects))}
            pairs = zip(model.labels, numbers, strict=True)
            numbers = [spelt.get(uri) if number is None else number for uri, number in pairs]
        probabilities = model.probabilities_many([document.text for document in documents])
        suggestions = []
        for row in probabilities.tolist():
            known = [pair for pair in zip(numbers, row, strict=True) if pair[0] is not None]
            suggestions.append([SubjectSuggestion(subject_id=n, score=score) for n, score in known])
        return SuggestionBatch.from_sequence(suggestions, subjects, limit=int(params["limit"]))

    def _learn_into(self, model: Clasher, corpus: Any) -> None:
        subjects = self.project.subjects
        try:
            for batch in corpus.doc_batches:
                labels = [{subjects[number].uri for number in one.subject_set} for one in batch]
                model.learn_many([document.text for document in batch], labels)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            model.save(self.path)
        except ClasherError as error:
            raise self._error(exception.OperationFailedException, error) from error
        self._model = model

    def _new(self, params: dict[str, Any]) -> Clasher:
        try:
            names = [name for name in SETTINGS if name in params]
            given: dict[str, Any] = {n: declarations()[n].read(params[n]) for n in names}
            if "stemmer" in params:
                given["analyzer"] = Analyzer.rich(stemmer=params["stemmer"])
            return Clasher(**given)
        except ValueError as error:  # SettingError is one
            raise self._error(
                exception.ConfigurationException, f"backend clasher: {error}"
            ) from error

    def _error(
        self, kind: type[exception.AnnifException], message: object
    ) -> exception.AnnifException:
        return kind(str(message), project_id=self.project.project_id)


def register() -> None:
    """Add ``backend=clasher`` to Annif in this process."""
    table = getattr(annif.backend, "_backend_fns", None)
    if not isinstance(table, dict):
        raise MissingExtraError("this Annif is not supported: pip install 'clasher[annif]'")
    table[ClasherBackend.name] = lambda: ClasherBackend
