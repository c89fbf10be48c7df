"""What an answer has changed: the same documents, asked of the model before and after it."""

from __future__ import annotations

from collections.abc import Sequence

from clasher.model import Clasher
from clasher.service.awaiting import Predicted
from clasher.service.entries import Feedback
from clasher.service.structs import Changes, Otherwise

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
