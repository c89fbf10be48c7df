"""Answers of people: what is written of them, given what was said of the document before."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from clasher.errors import ConflictError, UnknownDocumentError
from clasher.service.awaiting import Awaiting, Predicted, digest_of
from clasher.service.entries import Feedback
from clasher.service.log import Log
from clasher.service.structs import Labels, Receipt
from clasher.service.teaching import is_fair


class _Change:
    """What people say of a document is changed; taken back where it is refused."""

    def __init__(self, awaiting: Awaiting) -> None:
        self._awaiting = awaiting
        self._changed: tuple[Predicted, Labels, int | None] | None = None
        self._seq = 0

    def _change(self, document: Predicted, labels: Labels, seq: int) -> None:
        with self._awaiting.lock:
            self._changed, self._seq = (document, document.taught, document.taught_by), seq
            document.taught, document.taught_by = labels, seq
            document.holder, document.leased_until = None, 0.0
            self._awaiting.touch(document)

    def settle(self, future: Future[Receipt]) -> None:
        """Put things back where nothing came of it."""
        if self._changed is None or future.exception() is None:
            return
        document, taught, taught_by = self._changed
        with self._awaiting.lock:
            if document.taught_by == self._seq:
                document.taught, document.taught_by = taught, taught_by
                self._awaiting.touch(document)


class Answer(_Change):
    """Labels for a document that was predicted; ``find`` tells which text they are meant for."""

    def __init__(self, awaiting: Awaiting, find: Callable[[], Predicted], labels: Labels) -> None:
        super().__init__(awaiting)
        self._find = find
        self._labels = labels

    def prepare(self, log: Log, seq: int) -> Feedback:
        """What to write, knowing all that was said before."""
        document = self._find()
        before, after = document.taught, combine(document.taught, self._labels)
        self._change(document, after, seq)
        return Feedback(
            id=document.id, text=document.text, predicted=document.labels, before=before,
            after=after, is_judged=is_fair(document.reason), version=document.version,
        )  # fmt: skip


class Undo(_Change):
    """An answer is taken back, if it is the last one for its document."""

    def __init__(self, awaiting: Awaiting, version: int) -> None:
        super().__init__(awaiting)
        self._version = version

    def prepare(self, log: Log, seq: int) -> Feedback:
        """The same with before and after turned round."""
        entry = log.entry(self._version)
        if entry is None or not isinstance(entry.body, Feedback):
            raise UnknownDocumentError(
                f"version {self._version} is no answer to a document, or no longer in the log"
            )
        said = entry.body
        document = self._awaiting.find(said.id, digest_of(said.text))
        if document is None:
            document = self._awaiting.get(said.id)
        if document.taught_by != self._version:
            raise ConflictError(
                f"document {said.id!r} was spoken of again since version {self._version}; undo "
                f"version {document.taught_by}"
            )
        self._change(document, said.before, seq)
        return Feedback(
            id=said.id, text=said.text, predicted=said.predicted, before=said.after,
            after=said.before, is_judged=said.is_judged, version=said.version, undoes=entry.seq,
        )  # fmt: skip


def combine(before: Labels, now: Labels) -> Labels:
    """What is known of a document after it was spoken of again.

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
