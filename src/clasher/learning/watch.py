"""What a model does about change: it watches its errors, and forgets."""

from __future__ import annotations

import functools
from collections.abc import Collection

from clasher.errors import SettingError, is_number
from clasher.kernels.state import DOCUMENTS, LABELLED
from clasher.labels import LabelSets
from clasher.learning.drift import Alarm, forget
from clasher.learning.explain import word_of
from clasher.learning.parts import Parts
from clasher.text.hashing import Hashed


class Watching(Parts):
    """A model whose past may fade, by itself or where its errors rise."""

    @property
    def alarms(self) -> list[Alarm]:
        """The changes that the detector found, at most the latest hundred."""
        return [] if self._watch is None else list(self._watch.alarms)

    @property
    def unseen(self) -> dict[str, int]:
        """How many documents ago each label was last spoken of: the longest unseen goes first.

        >>> from clasher import Clasher
        >>> model = Clasher(dimensions=64)
        >>> model.learn_many(["wheat", "gold", "iron"], [{"grain"}, {"metal"}, {"metal"}])
        >>> model.unseen
        {'grain': 2, 'metal': 0}
        """
        seen = self._state.seen[: len(self._index)]
        ago = (self._state.totals[DOCUMENTS] - seen).tolist()
        return dict(zip(self._index.names, ago, strict=True))

    def forget(self, keep: float = 0.1, labels: Collection[str] | None = None) -> None:
        """Let what was learnt so far weigh ``keep`` of what it did, for some labels or for all.

        Means and fractions stay as they are until something is learnt, and then follow sooner. The
        weights of the margin rule stay too, and are free to move again; the perceptron's shrink.
        With all labels (None) the words' frequencies fade as well. Cheap, and cannot be undone.

        >>> from clasher import Clasher
        >>> model = Clasher(dimensions=64, rule="centroid")
        >>> model.learn_many(["wheat and corn"] * 20, [{"grain"}] * 20)
        >>> model.forget(keep=0.25, labels={"grain"})
        >>> model.support
        {'grain': 5}
        """
        if not is_number(keep, 1e-6, 1.0):
            raise SettingError.of("keep", "a number from 0.000001 to 1", keep, "forget")
        if isinstance(labels, str):
            labels = {labels}
        numbers = None if labels is None else sorted({self._index.number(x) for x in labels})
        forget(self._state, float(keep), numbers)

    def _step(self, hashed: Hashed, sets: LabelSets, predicting: bool) -> LabelSets:
        """Lines 3–6 of Algorithm 1 for a batch, with a look at the errors where one is due."""
        if self._watch is None:
            return self._advance(hashed, sets, predicting)
        parts = []
        labelled = int(self._state.totals[LABELLED])
        for start, stop, is_due in self._watch.stretches(sets.known, labelled):
            part = self._advance(hashed.part(start, stop), sets[start:stop], predicting)
            parts.append(part)
            if is_due:
                keeps = self.settings.keeps_words
                named = functools.partial(word_of, self._state) if keeps else _unnamed
                self._watch.look(self._state, self._index.names, named)
        return LabelSets.join(parts)


def _unnamed(bucket: int) -> None:
    """No word stands for a bucket where documents come without words."""
