"""Answers of people: what is written of them, given what was said of the document before.

What an answer has changed: the same documents, asked of the model before and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from clasher.errors import ConflictError, UnknownDocumentError
from clasher.model import Clasher
from clasher.runtime.judged import Labels
from clasher.service.documents import Awaiting, Predicted, digest_of, is_fair
from clasher.service.log import Feedback, Log
from clasher.service.structs import Changes, Otherwise, Receipt

SHOWN = 200  # characters of a document


class Differences:
    """Two models, one before and one after some answers, compared on recent documents."""

    def __init__(
        self,
        before: Clasher,
        after: Clasher,
        recent: Sequence[Predicted],
        answers: Sequence[Feedback],
    ) -> None:
        self._before, self._after = before, after
        self._threshold = before.threshold, after.threshold
        texts = [said.text for said in answers] + [document.text for document in recent]
        old, new = before.decide_many(texts), after.decide_many(texts)
        self._places = {said.id: place for place, said in enumerate(answers)}
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

    def of(self, said: Feedback) -> Changes:
        """What there is to tell whoever gave this answer."""
        named = dict.fromkeys([*said.predicted, *(said.before or ()), *(said.after or ())])
        before, after = (
            dict(zip(names, probabilities[self._places[said.id]].tolist(), strict=True))
            for names, probabilities in zip(self._names, self._probabilities, strict=True)
        )
        return Changes(
            probabilities=[(name, before.get(name, 0.0), after.get(name, 0.0)) for name in named],
            threshold=self._threshold,
            documents=[other for other in self._otherwise if other.id != said.id],
        )


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
