"""Answers of people: the log entries for them, and what they change in the predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from msgspec.structs import replace

from clasher.errors import ConflictError, UnknownDocumentError
from clasher.model import Clasher
from clasher.runtime.judged import Labels
from clasher.service.documents import DocumentQueue, PredictedDocument, digest_of, is_fair
from clasher.service.log import Feedback, Log
from clasher.service.structs import Changes, Otherwise, Receipt

SHOWN = 200  # characters of a document


class Answer:
    """An answer to a document in the queue, or the undo of one.

    ``give`` and ``undo`` make the entry when it is written, and change the document. ``settle``
    restores the document if the entry is refused.
    """

    def __init__(self, queue: DocumentQueue) -> None:
        self._queue = queue
        self._changed: tuple[PredictedDocument, Labels, int | None] | None = None
        self._seq = 0

    def give(
        self, find: Callable[[], PredictedDocument], labels: Labels, log: Log, seq: int
    ) -> Feedback:
        """Make the entry for an answer, from the labels that the document has by now."""
        document = find()
        before, after = document.taught, combine(document.taught, labels)
        self._change(document, after, seq)
        return Feedback(
            id=document.id, text=document.text, predicted=document.labels, before=before,
            after=after, is_judged=is_fair(document.reason), version=document.version,
        )  # fmt: skip

    def undo(self, version: int, log: Log, seq: int) -> Feedback:
        """Make the entry that takes back the last answer to a document."""
        row = log.row(version)
        answer = None if row is None else row.entry.body
        if not isinstance(answer, Feedback):
            raise UnknownDocumentError(
                f"version {version} is no answer to a document, or no longer in the log"
            )
        document = self._queue.find(answer.id, digest_of(answer.text)) or self._queue.get(answer.id)
        if document.taught_by != version:
            raise ConflictError(
                f"document {answer.id!r} was answered again since version {version}; undo version "
                f"{document.taught_by}"
            )
        self._change(document, answer.before, seq)
        return replace(answer, before=answer.after, after=answer.before, undoes=version)

    def _change(self, document: PredictedDocument, labels: Labels, seq: int) -> None:
        with self._queue.lock:
            self._changed, self._seq = (document, document.taught, document.taught_by), seq
            document.taught, document.taught_by = labels, seq
            document.holder, document.leased_until = None, 0.0
            self._queue.touch(document)

    def settle(self, future: Future[Receipt]) -> None:
        if self._changed is None or future.exception() is None:
            return
        document, taught, taught_by = self._changed
        with self._queue.lock:
            if document.taught_by == self._seq:
                document.taught, document.taught_by = taught, taught_by
                self._queue.touch(document)


def combine(before: Labels, now: Labels) -> Labels:
    """Combine the labels of two answers to one document.

    >>> combine({"oil": True}, {"gold": False})
    {'oil': True, 'gold': False}
    >>> combine(["oil", "gold"], {"gold": False, "gas": True})
    ['oil', 'gas']
    >>> combine({"oil": True}, ["gold"])
    ['gold']
    """
    if not isinstance(now, dict) or before is None:
        return now
    if isinstance(before, dict):
        return {**before, **now}
    yes = [name for name in before if now.get(name, True)]
    return yes + [name for name, is_so in now.items() if is_so and name not in before]


class Differences:
    """The predictions of two models, before and after some answers, for recent documents."""

    def __init__(
        self,
        before: Clasher,
        after: Clasher,
        recent: Sequence[PredictedDocument],
        answers: Sequence[Feedback],
    ) -> None:
        self._threshold = before.threshold, after.threshold
        texts = [answer.text for answer in answers] + [document.text for document in recent]
        old, new = before.decide_many(texts), after.decide_many(texts)
        self._places = {answer.id: place for place, answer in enumerate(answers)}
        self._probabilities = old[1][: len(answers)], new[1][: len(answers)]
        self._names = before.labels, after.labels
        self._otherwise = [
            Otherwise(
                id=document.id, text=document.text[:SHOWN],
                before=sorted(old[0][place]), after=sorted(new[0][place]),
            )
            for place, document in enumerate(recent, len(answers))
            if old[0][place] != new[0][place]
        ]  # fmt: skip

    def of(self, answer: Feedback) -> Changes:
        named = dict.fromkeys([*answer.predicted, *(answer.before or ()), *(answer.after or ())])
        before, after = (
            dict(zip(names, probabilities[self._places[answer.id]].tolist(), strict=True))
            for names, probabilities in zip(self._names, self._probabilities, strict=True)
        )
        return Changes(
            probabilities=[(name, before.get(name, 0.0), after.get(name, 0.0)) for name in named],
            threshold=self._threshold,
            documents=[other for other in self._otherwise if other.id != answer.id],
        )
