"""A model whose predictions are judged, label by label, as their truth comes."""

from __future__ import annotations

from collections.abc import Sequence

from clasher.errors import LabelCapacityError
from clasher.hashing import Hashed
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.pending import Id
from clasher.service.identities import Identities
from clasher.service.quality import PANE, Quality


class Judged:
    """A model, the identities of its labels, and how good it is, in panes of judged documents.

    Examples
    --------
    >>> judged = Judged(Clasher(1024))
    >>> texts, sets = ["wheat", "gold", "wheat"], LabelSets.of([{"grain"}, {"metal"}, {"grain"}])
    >>> list(judged.step(judged.model.hash_many(texts), sets))[-1]
    {'grain'}
    >>> judged.quality.all.documents
    3
    """

    def __init__(self, model: Clasher, pane: int = PANE) -> None:
        self.model = model
        self.labels = Identities()
        self.labels.adopt(model.labels)
        self.quality = Quality(pane)

    def step(
        self, hashed: Hashed, sets: LabelSets, ids: Sequence[Id | None] | None = None
    ) -> LabelSets:
        """Predict each document, learn it, and judge what was predicted: all, or nothing.

        Unlabelled documents that have an id wait for their labels.
        """
        if not self._may_evict(sets):
            return self._step(hashed, sets, ids)
        self._check_room(sets)
        return LabelSets.join(
            [
                self._step(
                    hashed.part(at, at + 1), sets[at : at + 1], None if ids is None else [ids[at]]
                )
                for at in range(len(sets))
            ]
        )

    def _step(self, hashed: Hashed, sets: LabelSets, ids: Sequence[Id | None] | None) -> LabelSets:
        predicted = self.model.step_many(hashed, sets, ids)
        self.adopt()
        self.quality.judge(sets, predicted, self.labels.number)
        self.drop_evicted()
        return predicted

    def _may_evict(self, sets: LabelSets) -> bool:
        if self.model.settings.on_full != "evict":
            return False
        new = {sets.names[i] for i in set(sets.ids.tolist())} - self.labels.numbers.keys()
        return len(self.labels.numbers) + len(new) > self.model.settings.max_labels

    def _check_room(self, sets: LabelSets) -> None:
        """Refuse labels that find no room beside the pinned ones, before one is learnt."""
        pinned, most = self.model.pinned, self.model.settings.max_labels
        for at in range(len(sets)):
            inside = slice(int(sets.indptr[at]), int(sets.indptr[at + 1]))
            own = {sets.names[i] for i in sets.ids[inside].tolist()}
            if len(pinned | own) > most:
                raise LabelCapacityError(
                    f"document {at} has {len(own)} labels, and {len(pinned)} of {most} are "
                    f"pinned; unpin some, or raise max_labels"
                )

    def adopt(self) -> None:
        """Give labels that the model has met their identity."""
        names = self.model.labels
        if len(names) != len(self.labels.numbers) or self.model.settings.on_full == "evict":
            self.labels.adopt(names)

    def drop_evicted(self) -> None:
        """Forget labels that the model has given up."""
        names = self.model.labels
        if len(names) < len(self.labels.numbers):
            for name in sorted(self.labels.numbers.keys() - set(names)):
                self.quality.drop(self.labels.drop(name))
