"""The state of a service: the model, its labels and its quality, as the log entries make them.

The state depends on the entries alone, not on the time of day or on how they are batched. A
snapshot and the entries after it therefore restore exactly what was there before a crash, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from clasher.errors import LabelCapacityError, LabelError, NotLearntError
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.runtime.judged import Judged, Labels
from clasher.runtime.quality import Quality
from clasher.service.log import Entry, Feedback, Learn, Relabel, Replace
from clasher.text.hashing import Hashed
from clasher.text.label_names import normal_name

# why entries could not be applied, by number; they changed nothing
Refusals: TypeAlias = dict[int, str]
# hashed documents, shared by the two copies of a state, by their first entry
Prepared: TypeAlias = dict[int, tuple[Hashed, LabelSets]]
# loads the model of a ``Replace`` entry by its digest
Models: TypeAlias = Callable[[str], Clasher]


class ServiceState(Judged):
    """A model with the state that a service keeps beside it; ``seq`` is the last log entry."""

    kept = ("seq", "learned", "taught")

    def __init__(self, model: Clasher, models: Models | None = None) -> None:
        super().__init__(model)
        self.models = models
        self.learned = self.taught = 0
        self.rung: dict[int, float] = {}  # the times of alarms, by the number of their document

    def apply(self, entries: Sequence[Entry], prepared: Prepared | None = None) -> Refusals:
        """Apply entries; return those that cannot be applied and changed nothing."""
        refusals: Refusals = {}
        prepared = {} if prepared is None else prepared
        for is_learn, run in groupby(entries, lambda entry: isinstance(entry.body, Learn)):
            if is_learn:
                self._learn(list(run), prepared, refusals)
                continue
            for entry in run:
                body = entry.body
                try:
                    if isinstance(body, Feedback):
                        before = self.model.documents
                        self._answer(body)
                        self._note_alarms(min(before, self.model.documents - 1), [entry])
                    elif isinstance(body, Relabel):
                        self._relabel(body)
                    elif isinstance(body, Replace):
                        self._replace(body)
                except LabelError as error:
                    refusals[entry.seq] = str(error)
        if entries:
            self.seq = entries[-1].seq
        return refusals

    def _learn(self, entries: list[Entry], prepared: Prepared, refusals: Refusals) -> None:
        key = entries[0].seq * 2 + (len(entries) > 1)
        if key not in prepared:
            bodies = [entry.body for entry in entries if isinstance(entry.body, Learn)]
            documents = [taught for body in bodies for taught in body.documents]
            hashed = self.model.hash_many([taught.text for taught in documents])
            labels = [self.labels.translate(taught.labels) for taught in documents]
            prepared[key] = hashed, LabelSets.of(labels)
        hashed, sets = prepared[key]
        before = self.model.documents
        try:
            self.step(hashed, sets)
        except LabelCapacityError as error:
            if len(entries) == 1:
                refusals[entries[0].seq] = str(error)
                return
            for entry in entries:
                self._learn([entry], prepared, refusals)
            return
        self.learned += len(sets)
        self._note_alarms(before, entries)

    def _note_alarms(self, before: int, entries: Sequence[Entry]) -> None:
        """Note the times of alarms at documents after number ``before``, from these entries."""
        known = {alarm.document for alarm in self.model.alarms}
        if known <= self.rung.keys():
            return
        times = [entry.at for entry in entries for _ in range(documents_of(entry))]
        rung = dict(enumerate(times, before + 1)) | self.rung
        self.rung = {number: rung[number] for number in sorted(rung.keys() & known)}

    def _answer(self, answer: Feedback) -> None:
        before, after = self.labels.translate(answer.before), self.labels.translate(answer.after)
        try:
            if after is None:
                self.model.unlearn(answer.text, before)
            elif before is None:
                self.model.learn(answer.text, after)
            else:
                self.model.correct(answer.text, before, after)
        except LabelCapacityError:
            raise
        except (NotLearntError, LabelError):  # a label in ``before`` was retired since
            if after is not None:
                self.model.learn(answer.text, after)
        self.adopt()
        if answer.is_judged:
            self._judge(answer, before, -1)
            self._judge(answer, after, 1)
        self.drop_evicted()
        more = (after is not None) - (before is not None)
        self.learned, self.taught = self.learned + more, self.taught + more

    def _judge(self, answer: Feedback, labels: Labels, sign: int) -> None:
        if labels is None:
            return
        known = self.labels.numbers
        if isinstance(labels, dict):
            labels = {name: yes for name, yes in labels.items() if name in known}
        else:
            labels = [name for name in labels if name in known]
        predicted = LabelSets.of([self.labels.known(answer.predicted)])
        self.quality.judge(LabelSets.of([labels]), predicted, self.labels.numbers, sign)

    def _relabel(self, body: Relabel) -> None:
        label = self.labels.now(body.label)
        into = "" if body.into is None else normal_name(body.into)
        if body.action == "rename":
            self.model.rename_label(label, into)
            if into != label:
                self.labels.rename(label, into)
        elif body.action == "merge":
            into = self.labels.now(into)
            self.model.merge_labels(label, into)
            self.quality.drop(self.labels.numbers[label], self.labels.numbers[into])
            self.labels.merge(label, into)
        elif body.action == "retire":
            self.model.retire_label(label)
            self.quality.drop(self.labels.drop(label))
        elif label not in self.labels.numbers:
            raise LabelError(f"the model knows no label {label!r}")
        elif body.action == "pin":
            self.labels.pinned.add(self.labels.numbers[label])
        else:
            self.labels.pinned.discard(self.labels.numbers[label])
        self._pin_in_model()

    def _replace(self, body: Replace) -> None:
        """Take another model: labels of the same name keep their numbers, quality restarts."""
        assert self.models is not None
        self.model = self.models(body.digest)
        for name in self.labels.numbers.keys() - set(self.model.labels):
            self.labels.drop(name)
        self.labels.adopt(self.model.labels)
        self.quality = Quality()
        self.rung = {}
        self._pin_in_model()

    def _pin_in_model(self) -> None:
        names = self.labels.names()
        self.model.pinned = {names[number] for number in self.labels.pinned}

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"rung": list(self.rung.items())}

    def copy(self) -> ServiceState:
        return ServiceState.of(self.to_plain(), self.model.copy(), self.models)

    @classmethod
    def of(
        cls, plain: dict[str, Any], model: Clasher, models: Models | None = None
    ) -> ServiceState:
        state = cls(model, models)
        state.restore(plain)
        state.rung = dict(plain["rung"])
        state._pin_in_model()
        return state


def documents_of(entry: Entry) -> int:
    """Count the documents of an entry."""
    return len(entry.body.documents) if isinstance(entry.body, Learn) else 1
