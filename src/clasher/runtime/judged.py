"""A model whose predictions are judged, label by label, when their true labels come.

Labels are identified by a number that survives renaming. A former name, given up by renaming or
merging, still means the same label, so that a feed which uses it does not bring the old label back;
a label that bears the name now takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from clasher.errors import LabelCapacityError
from clasher.labels import LabelSets
from clasher.learning.late_labels import Id
from clasher.model import Clasher
from clasher.runtime.quality import PANE, Quality
from clasher.text.hashing import Hashed
from clasher.text.label_names import normal_name, settled_names

# a list: these labels and no others; a mapping: yes or no, the rest unknown; None: unlabelled
Labels: TypeAlias = list[str] | dict[str, bool] | None
MOST_FORMER = 10_000  # former names that are remembered


@dataclass
class Identities:
    """The numbers of labels, their former names, and which of them are pinned."""

    numbers: dict[str, int] = field(default_factory=dict)
    former: dict[str, int] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    last: int = 0

    def adopt(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.numbers:
                self.last += 1
                self.numbers[name] = self.last
                self.former.pop(name, None)

    def now(self, name: str) -> str:
        """Return the current name of a label; return an unknown name as it is."""
        if name in self.numbers:
            return name
        name = normal_name(name)
        if name in self.numbers or name not in self.former:
            return name
        return self.names()[self.former[name]]

    def translate(self, labels: Labels) -> Labels:
        if not labels or (not self.former and all(map(self.numbers.__contains__, labels))):
            return labels
        # Old logs may hold blank names; ignore them.
        if isinstance(labels, dict):
            return {own: yes for name, yes in labels.items() if (own := self.now(name))}
        return [own for name in labels if (own := self.now(name))]

    def known(self, labels: Iterable[str]) -> list[str]:
        return [name for name in map(self.now, labels) if name in self.numbers]

    def names(self) -> dict[int, str]:
        return {number: name for name, number in self.numbers.items()}

    def rename(self, old: str, new: str) -> None:
        number = self.numbers.pop(old)
        self.numbers[new] = number
        self._give_up(old, number)
        self.former.pop(new, None)

    def merge(self, source: str, target: str) -> None:
        """Make all names of one label mean another one."""
        gone, stays = self.numbers.pop(source), self.numbers[target]
        for name, number in self.former.items():
            if number == gone:
                self.former[name] = stays
        self._give_up(source, stays)
        self.pinned.discard(gone)

    def drop(self, name: str) -> int:
        """Forget a label and all its names; return its number."""
        number = self.numbers.pop(name)
        self.former = {old: of for old, of in self.former.items() if of != number}
        self.pinned.discard(number)
        return number

    def _give_up(self, name: str, number: int) -> None:
        self.former.pop(name, None)
        self.former[name] = number
        while len(self.former) > MOST_FORMER:
            del self.former[next(iter(self.former))]

    def to_plain(self) -> dict[str, Any]:
        return {**vars(self), "pinned": sorted(self.pinned)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Identities:
        names, numbers = settled_names(plain["numbers"]), plain["numbers"].values()
        own = dict(zip(names, numbers, strict=True))
        return cls(own, dict(plain["former"]), set(plain["pinned"]), plain["last"])


class Judged:
    """A model with the numbers of its labels and the quality of its predictions.

    A snapshot holds the model and ``to_plain``; ``kept`` names attributes that need no conversion.
    """

    kept: ClassVar[tuple[str, ...]] = ("seq",)

    def __init__(self, model: Clasher, pane: int = PANE) -> None:
        self.model = model
        self.seq = 0  # the version of a snapshot
        self.labels = Identities()
        self.labels.adopt(model.labels)
        self.quality = Quality(pane)

    def to_plain(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.kept}
        return own | {"labels": self.labels.to_plain(), "quality": self.quality.to_plain()}

    def restore(self, plain: dict[str, Any]) -> None:
        for name in self.kept:
            setattr(self, name, plain[name])
        self.labels = Identities.of(plain["labels"])
        self.quality = Quality.of(plain["quality"], self.quality.pane)

    def step(
        self, hashed: Hashed, sets: LabelSets, ids: Sequence[Id | None] | None = None
    ) -> LabelSets:
        """Predict, learn and judge documents, all or none; unlabelled ones with an id wait."""
        if not self._may_evict(sets):
            return self._step(hashed, sets, ids)
        pinned, most = self.model.pinned, self.model.most_labels
        for at in range(len(sets)):
            inside = slice(int(sets.indptr[at]), int(sets.indptr[at + 1]))
            own = {sets.names[i] for i in sets.ids[inside].tolist()}
            if len(pinned | own) > most:
                raise LabelCapacityError(
                    f"document {at} has {len(own)} labels, but {len(pinned)} of {most} places are "
                    f"pinned; unpin some, or {self.model.label_limit.partition('; ')[2]}"
                )
        steps = []
        for at in range(len(sets)):
            waiting = None if ids is None else [ids[at]]
            steps.append(self._step(hashed.part(at, at + 1), sets[at : at + 1], waiting))
        return LabelSets.join(steps)

    def _step(self, hashed: Hashed, sets: LabelSets, ids: Sequence[Id | None] | None) -> LabelSets:
        predicted = self.model.step_many(hashed, sets, ids)
        self.adopt()
        self.quality.judge(sets, predicted, self.labels.numbers)
        self.drop_evicted()
        return predicted

    def _may_evict(self, sets: LabelSets) -> bool:
        if self.model.settings.on_full != "evict":
            return False
        new = {sets.names[i] for i in set(sets.ids.tolist())} - self.labels.numbers.keys()
        return len(self.labels.numbers) + len(new) > self.model.most_labels

    def adopt(self) -> None:
        """Number the labels that are new to the model."""
        names = self.model.labels
        if len(names) != len(self.labels.numbers) or self.model.settings.on_full == "evict":
            self.labels.adopt(names)

    def drop_evicted(self) -> None:
        names = self.model.labels
        if len(names) < len(self.labels.numbers):
            for name in sorted(self.labels.numbers.keys() - set(names)):
                self.quality.drop(self.labels.drop(name))
