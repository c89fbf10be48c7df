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
    """An answer to a document in the queue, or the undo of one; ``settle`` it when it is done."""

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
        entry = log.row(version)
        answer = None if entry is None else entry.body
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


def compare(
    before: Clasher,
    after: Clasher,
    recent: Sequence[PredictedDocument],
    answers: Sequence[Feedback],
) -> list[Changes]:
    """Return what each answer has changed: predictions of it and of recent documents."""
    texts = [answer.text for answer in answers] + [document.text for document in recent]
    old, new = before.decide_many(texts), after.decide_many(texts)
    otherwise = [
        Otherwise(
            id=document.id, text=document.text[:SHOWN],
            before=sorted(old[0][place]), after=sorted(new[0][place]),
        )
        for place, document in enumerate(recent, len(answers))
        if old[0][place] != new[0][place]
    ]  # fmt: skip
    changes = []
    for answer, was, now in zip(answers, old[1], new[1], strict=False):
        named = dict.fromkeys([*answer.predicted, *(answer.before or ()), *(answer.after or ())])
        first = dict(zip(before.labels, was.tolist(), strict=True))
        then = dict(zip(after.labels, now.tolist(), strict=True))
        changes.append(
            Changes(
                probabilities=[(name, first.get(name, 0.0), then.get(name, 0.0)) for name in named],
                threshold=(before.threshold, after.threshold),
                documents=[other for other in otherwise if other.id != answer.id],
            )
        )
    return changes
