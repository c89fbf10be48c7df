"""What can be asked of an engine: nothing here changes the model, or waits for learning."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from clasher.errors import LabelError, SettingError
from clasher.evaluate import process_memory
from clasher.service import checking, views
from clasher.service.admission import Admission
from clasher.service.awaiting import Awaiting, Predicted
from clasher.service.copies import Copies
from clasher.service.events import Events
from clasher.service.folder import DataFolder
from clasher.service.learner import Learner
from clasher.service.listing import ORDERS, Listing
from clasher.service.log import Log
from clasher.service.options import Options
from clasher.service.predicting import predict, shown
from clasher.service.quality import figures
from clasher.service.structs import (
    Alarmed,
    Document,
    Explained,
    LabelList,
    LabelPage,
    Metrics,
    NameList,
    Prediction,
    Recent,
)
from clasher.settings import Settings

WORDS = 5  # of a label in a list
WORDS_OF_ONE = 20
SUGGESTED = 9  # labels of a document to teach: one for each digit key


class Reading:
    """Predictions, explanations, labels and figures, from a consistent copy."""

    options: Options
    folder: DataFolder
    _awaiting: Awaiting
    _copies: Copies
    _events: Events
    _admission: Admission
    _learner: Learner
    _log: Log
    _clock: Callable[[], float]
    _timer: Callable[[], float]
    _started: float

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._predicted = 0

    def predict(
        self, documents: Sequence[Document], top: int = 5, keep: bool = True
    ) -> list[Prediction]:
        """The labels of documents, with their probabilities and those of the ``top`` best.

        Unless told not to ``keep`` them, documents can be spoken of by id: ``feedback``.
        """
        for place, document in enumerate(documents):
            checking.check_text(document.text, f"document {place}: ")
            if document.id is not None:
                checking.check_name("id", document.id)
        with self._copies.reading() as state:
            predicted = predict(state, documents, top, self._clock())
        if keep:
            self._awaiting.add(predicted, self._log.elapsed())
        with self._counting:
            self._predicted += len(predicted)
        return [shown(document) for document in predicted]

    def _predict_again(self, texts: Sequence[str]) -> list[Predicted]:
        """Predict texts that somebody is about to teach; nothing is kept or counted."""
        with self._copies.reading() as state:
            return predict(state, [Document(text=text) for text in texts], SUGGESTED, 0.0)

    def explain(
        self, text: str, labels: Sequence[str] | None = None, top: int = 3
    ) -> list[Explained]:
        """Why these labels, or the ``top`` best ones: signed stretches of the text.

        The weightiest thousand stretches of each label are told; ``other`` has the sum of the rest.
        Learning goes on between two labels, so that they may be of different versions.
        """
        names = self.best(text, top) if labels is None else labels
        return [self.explain_one(text, name) for name in names]

    def best(self, text: str, top: int) -> list[str]:
        """The ``top`` best labels of a text, the best first."""
        checking.check_text(text)
        with self._copies.reading() as state:
            return list(predict(state, [Document(text=text)], top, 0.0)[0].probabilities)[:top]

    def explain_one(self, text: str, label: str) -> Explained:
        """Why this label: signed stretches of the text."""
        checking.check_text(text)
        with self._copies.reading() as state:
            explanation = state.model.explain(text, state.labels.now(label))
        return views.explained(explanation)

    def labels(
        self,
        query: str = "",
        sort: str = "support",
        start: int = 0,
        most: int | None = None,
        words: int = WORDS,
        descending: bool | None = None,
    ) -> LabelList:
        """The labels whose names contain ``query``, a page of them; words are of that page only.

        Unless told otherwise, names ascend, and the largest figures come first.
        """
        if sort not in ORDERS:
            raise SettingError.of("sort", "one of " + ", ".join(ORDERS), sort, "labels")
        with self._copies.reading() as state:
            listing = Listing(state)
            found = listing.names(query, sort, descending)
            told = [
                replace(listing.of(name), words=views.words(state, name, words))
                for name in found[start : None if most is None else start + most]
            ]
            return LabelList(labels=told, total=len(found))

    def names(self) -> NameList:
        """The names of all labels, for those who search in them."""
        with self._copies.reading() as state:
            return Listing(state).all_names()

    def label(self, label: str | int) -> LabelPage:
        """All about a label, given by name or number: words, neighbours, recent documents."""
        name = self._name_of(label)
        with self._copies.reading() as state:
            recent = self._awaiting.newest(self.options.awaiting.documents)
            return views.label_page(state, name, recent, WORDS_OF_ONE)

    def recent(self, most: int = 50) -> list[Recent]:
        """The last documents that were predicted, the newest first."""
        return [document.recent() for document in self._awaiting.newest(most)]

    def document(self, id: str) -> Recent:  # noqa: A002
        """A document that was predicted, by its id."""
        return self._awaiting.get(id).recent()

    def alarms(self) -> list[Alarmed]:
        """The changes that the model noticed, the newest first."""
        untaught = self._awaiting.untaught(self._log.elapsed())
        with self._copies.reading() as state:
            return views.alarms(state, untaught)

    @property
    def settings(self) -> Settings:
        """The settings of the model."""
        return self._copies.front.model.settings

    @property
    def version(self) -> int:
        """The version of the model that predicts now: the last entry of the log that it learnt."""
        return self._copies.front.seq

    def metrics(self) -> Metrics:
        """How the service is doing."""
        kept = self._log.kept
        with self._copies.reading() as state:
            model, most = state.model.nbytes, state.model.max_nbytes
            return Metrics(
                documents_learned=state.learned,
                documents_predicted=self._predicted,
                documents_taught=state.taught,
                labels=len(state.model.labels),
                version=state.seq,
                cumulative=figures(state.quality.all),
                recent=figures(state.quality.recent()),
                threshold=state.model.threshold,
                model_bytes=2 * model,
                model_bytes_most=2 * most,
                memory_bytes=process_memory(),
                disk_bytes=self.folder.bytes_on_disk(),
                disk_bytes_most=self._most_on_disk(most),
                log_entries=kept.entries,
                log_dropped=kept.dropped,
                awaiting=len(self._awaiting),
                awaiting_most=self.options.awaiting.documents,
                awaiting_dropped=self._awaiting.dropped,
                leased=self._awaiting.leased(self._log.elapsed()),
                waiting_requests=len(self._admission),
                waiting_most=self._admission.most,
                subscribers=len(self._events),
                subscribers_dropped=self._events.dropped,
                snapshot_version=self._learner.snapshot_version,
                uptime_seconds=self._timer() - self._started,
            )

    def _most_on_disk(self, model: int) -> int:
        """Two snapshots, one that is being written and a damaged one; the log and its journal."""
        options = self.options
        log = options.log_bytes + 2 * options.snapshot_bytes + options.awaiting.bytes
        return 4 * model + 2 * log

    def _name_of(self, label: str | int) -> str:
        """What a label is called now."""
        with self._copies.reading() as state:
            if isinstance(label, str):
                name = state.labels.now(label)
                return name if name in state.labels.numbers else _unknown(label)
            names = state.labels.names()
            return names[label] if label in names else _unknown(label)


def _unknown(label: str | int) -> str:
    raise LabelError(f"the model knows no label {label!r}")
