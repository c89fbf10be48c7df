"""The fold: what a model, its labels and its quality become when the entries of a log are applied.

It depends on nothing but the entries: not on the time of day, nor on how they are cut into batches.
A snapshot and the entries after it therefore give exactly what there was before a crash, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from clasher.errors import LabelCapacityError, LabelError, NotLearntError
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.runtime.judged import Identities, Judged, Labels
from clasher.runtime.quality import Quality
from clasher.service.log import Entry, Feedback, Learn, Relabel, Replace, Taught
from clasher.text.hashing import Hashed
from clasher.text.label_names import normal_name

Refusals: TypeAlias = dict[int, str]
"""Why entries could not be applied, by their numbers; they changed nothing."""

Prepared: TypeAlias = dict[int, tuple[Hashed, LabelSets]]
"""Documents that were read for one copy, for the other: by the entry they begin with."""


Models: TypeAlias = Callable[[str], Clasher]
"""Finds the model that was put in the place of another, by its digest."""


class State(Judged):
    """A model with all that a service keeps beside it.

    Parameters
    ----------
    model
        The model as it is before the first entry.
    models
        Finds models that entries put in its place.

    Examples
    --------
    >>> state = State(Clasher(1024))
    >>> entry = Entry(1, 0.0, "ann", Learn([Taught("wheat and corn", ["grain"])]))
    >>> state.apply([entry])
    {}
    >>> state.seq, state.learned, state.model.support
    (1, 1, {'grain': 1})
    """

    def __init__(self, model: Clasher, models: Models | None = None) -> None:
        super().__init__(model)
        self.models = models
        self.seq = 0
        self.learned = 0
        self.taught = 0
        self.rung: dict[int, float] = {}
        """When alarms rang, by the number of the document that they rang at."""

    def apply(self, entries: Sequence[Entry], prepared: Prepared | None = None) -> Refusals:
        """Do what the entries say; returns those that cannot be done, which changed nothing."""
        refusals: Refusals = {}
        kept = {} if prepared is None else prepared
        for is_learn, run in groupby(entries, lambda entry: isinstance(entry.body, Learn)):
            if is_learn:
                self._learn_all(list(run), kept, refusals)
            else:
                for entry in run:
                    self._do(entry, refusals)
        if entries:
            self.seq = entries[-1].seq
        return refusals

    # ── documents ────────────────────────────────────────────────────────────────────────────

    def _learn_all(self, entries: list[Entry], prepared: Prepared, refusals: Refusals) -> None:
        """Learn entries together; one by one where there are too many labels."""
        try:
            self._learn(entries, prepared)
        except LabelCapacityError as error:
            if len(entries) == 1:
                refusals[entries[0].seq] = str(error)
                return
            for entry in entries:
                self._learn_all([entry], prepared, refusals)

    def _learn(self, entries: list[Entry], prepared: Prepared) -> None:
        key = entries[0].seq * 2 + (len(entries) > 1)
        if key not in prepared:
            prepared[key] = self._prepare(_documents(entries))
        hashed, sets = prepared[key]
        before = self.model.documents
        self.step(hashed, sets)
        self.learned += len(sets)
        self._note_alarms(before, entries)

    def _prepare(self, documents: Sequence[Taught]) -> tuple[Hashed, LabelSets]:
        sets = LabelSets.of([self._labels(taught.labels) for taught in documents])
        return self.model.hash_many([taught.text for taught in documents]), sets

    def _note_alarms(self, before: int, entries: Sequence[Entry]) -> None:
        """Note when alarms rang at documents after number ``before``, which entries brought."""
        known = {alarm.document for alarm in self.model.alarms}
        if known <= self.rung.keys():
            return
        times = [entry.at for entry in entries for _ in range(documents_of(entry))]
        rung = dict(enumerate(times, before + 1)) | self.rung
        self.rung = {number: rung[number] for number in sorted(rung.keys() & known)}

    def _feedback(self, said: Feedback) -> None:
        before, after = self._labels(said.before), self._labels(said.after)
        try:
            if after is None:
                self.model.unlearn(said.text, before)
            elif before is None:
                self.model.learn(said.text, after)
            else:
                self.model.correct(said.text, before, after)
        except LabelCapacityError:
            raise
        except (NotLearntError, LabelError):  # a label of before was retired since
            if after is not None:
                self.model.learn(said.text, after)
        self.adopt()
        if said.is_judged:
            self._judge(said, before, -1)
            self._judge(said, after, 1)
        self.drop_evicted()
        self.learned += (after is not None) - (before is not None)
        self.taught += (after is not None) - (before is not None)

    def _judge(self, said: Feedback, labels: Labels, sign: int) -> None:
        if labels is not None:
            predicted = LabelSets.of([self.labels.known(said.predicted)])
            truth = LabelSets.of([_only(labels, self.labels.numbers)])
            self.quality.judge(truth, predicted, self.labels.number, sign)

    # ── labels ───────────────────────────────────────────────────────────────────────────────

    def _do(self, entry: Entry, refusals: Refusals) -> None:
        try:
            if isinstance(entry.body, Feedback):
                before = self.model.documents
                self._feedback(entry.body)
                self._note_alarms(min(before, self.model.documents - 1), [entry])
            elif isinstance(entry.body, Relabel):
                self._relabel(entry.body)
            elif isinstance(entry.body, Replace):
                self._replace(entry.body)
        except LabelError as error:
            refusals[entry.seq] = str(error)

    def _relabel(self, said: Relabel) -> None:
        label = self.labels.now(said.label)
        into = "" if said.into is None else normal_name(said.into)
        if said.action == "rename":
            self.model.rename_label(label, into)
            if into != label:
                self.labels.rename(label, into)
        elif said.action == "merge":
            into = self.labels.now(into)
            self.model.merge_labels(label, into)
            self.quality.drop(self.labels.number(label), self.labels.number(into))
            self.labels.merge(label, into)
        elif said.action == "retire":
            self.model.retire_label(label)
            self.quality.drop(self.labels.drop(label))
        else:
            self._pin(label, said.action == "pin")
        self._tell_pinned()

    def _pin(self, label: str, is_pinned: bool) -> None:
        if label not in self.labels.numbers:
            raise LabelError(f"the model knows no label {label!r}")
        number = self.labels.number(label)
        (self.labels.pinned.add if is_pinned else self.labels.pinned.discard)(number)

    def _replace(self, said: Replace) -> None:
        """Take another model: labels of the same name stay who they are, quality is unknown."""
        assert self.models is not None
        self.model = self.models(said.digest)
        for name in self.labels.numbers.keys() - set(self.model.labels):
            self.labels.drop(name)
        self.labels.adopt(self.model.labels)
        self.quality = Quality()
        self.rung = {}
        self._tell_pinned()

    def _labels(self, labels: Labels) -> Labels:
        return self.labels.translate(labels)

    def _tell_pinned(self) -> None:
        names = self.labels.names()
        self.model.pinned = {names[number] for number in self.labels.pinned}

    # ── the snapshot ─────────────────────────────────────────────────────────────────────────

    def to_plain(self) -> dict[str, Any]:
        """All but the model as plain values, ready for JSON."""
        return {
            "seq": self.seq, "learned": self.learned, "taught": self.taught,
            "labels": self.labels.to_plain(), "quality": self.quality.to_plain(),
            "rung": list(self.rung.items()),
        }  # fmt: skip

    def copy(self) -> State:
        """Another state that is equal to this one."""
        return State.of(self.to_plain(), self.model.copy(), self.models)

    @classmethod
    def of(cls, plain: dict[str, Any], model: Clasher, models: Models | None = None) -> State:
        """What ``to_plain`` gave, with its model."""
        state = cls(model, models)
        state.seq, state.learned, state.taught = plain["seq"], plain["learned"], plain["taught"]
        state.labels = Identities.of(plain["labels"])
        state.quality = Quality.of(plain["quality"])
        state.rung = dict(plain["rung"])
        state._tell_pinned()
        return state


def documents_of(entry: Entry) -> int:
    """How many documents an entry is about."""
    return len(entry.body.documents) if isinstance(entry.body, Learn) else 1


def _documents(entries: Sequence[Entry]) -> list[Taught]:
    return [
        taught
        for entry in entries
        if isinstance(entry.body, Learn)
        for taught in entry.body.documents
    ]


def _only(labels: Labels, known: dict[str, int]) -> Labels:
    """Labels without those that are gone."""
    if isinstance(labels, dict):
        return {name: yes for name, yes in labels.items() if name in known}
    return None if labels is None else [name for name in labels if name in known]
