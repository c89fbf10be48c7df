"""Views of one consistent state: predictions, explanations, labels and alarms for people."""

import heapq
import secrets
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from clasher.labels import LabelSets
from clasher.learning.explain import Explanation
from clasher.model import Clasher
from clasher.runtime.quality import NONE, PANE, estimate_f1, figures
from clasher.service import structs
from clasher.service.documents import PredictedDocument
from clasher.service.log import Feedback
from clasher.service.state import ServiceState
from clasher.service.structs import Document

ORDERS = ("support", "name", "precision", "recall", "f1", "unseen")  # of labels
RECENTLY = 20_000  # documents since an alarm for which its label counts as drifted
CELLS = 4_000_000  # probabilities at a time, so that many labels take no more memory than few
RECENT = 20  # documents of a label
TO_TEACH = 5
STRETCHES = 1000  # of an explained text, for one label
LEFT_OUT = "words left out"
SHOWN = 200  # characters of a changed document


def predict(
    state: ServiceState, documents: Sequence[Document], top: int, at: float
) -> list[PredictedDocument]:
    """Predict documents; keep the probabilities of their labels and of the ``top`` best."""
    step = max(1, CELLS // max(1, len(state.model.labels)))
    return [
        predicted
        for start in range(0, len(documents), step)
        for predicted in _predict(state, documents[start : start + step], top, at)
    ]


def _predict(
    state: ServiceState, documents: Sequence[Document], top: int, at: float
) -> list[PredictedDocument]:
    labels = state.model.labels
    sets, probabilities = state.model.decide_many([document.text for document in documents])
    top = max(0, min(top, len(labels)))
    places = np.zeros((len(documents), 0), np.intp)
    if top:
        places = np.argpartition(-probabilities, top - 1, axis=1)[:, :top]
    best, negated = places.tolist(), (-np.take_along_axis(probabilities, places, axis=1)).tolist()
    margins = np.abs(probabilities - state.model.threshold).min(axis=1, initial=1.0).tolist()
    ids, ends, names = sets.ids.tolist(), sets.indptr.tolist(), sets.names
    drawn = secrets.token_hex(8 * len(documents))
    predicted = []
    for place, document in enumerate(documents):
        own = {names[number] for number in ids[ends[place] : ends[place + 1]]}
        pairs = list(zip(negated[place], [labels[number] for number in best[place]], strict=True))
        if missing := own.difference(name for _, name in pairs):
            row = probabilities[place]
            pairs += [(-float(row[i]), name) for i, name in enumerate(labels) if name in missing]
        shown = {name: -value for value, name in sorted(pairs)}  # best first, then by name
        predicted.append(
            PredictedDocument(
                id=drawn[16 * place : 16 * place + 16] if document.id is None else document.id,
                at=at, text=document.text, labels=[name for name in shown if name in own],
                probabilities=shown, version=state.seq, margin=margins[place],
            )
        )  # fmt: skip
    return predicted


def explained(explanation: Explanation, most: int = STRETCHES) -> structs.Explained:
    """Return an explanation as plain values, with the ``most`` weightiest stretches."""
    evidence: dict[tuple[int, int], float] = defaultdict(float)
    for start, stop, weight in explanation.spans:
        evidence[start, stop] += weight
    shown = heapq.nlargest(most, evidence, key=lambda place: abs(evidence[place]))
    other = explanation.other
    if len(shown) < len(evidence):
        rest = sum(evidence.values()) - sum(evidence[place] for place in shown)
        other = {**other, LEFT_OUT: rest}
    return structs.Explained(
        label=explanation.label,
        is_predicted=explanation.predicted,
        probability=explanation.probability,
        words=[structs.Passage(start=a, stop=b, evidence=evidence[a, b]) for a, b in sorted(shown)],
        other=other,
    )


class Listing:
    """The labels of one state: sorted by cheap values, described only as far as they are shown."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self._support = state.model.support
        self._unseen = state.model.unseen
        since = state.model.documents - RECENTLY
        self._drifted = {alarm.label for alarm in state.model.alarms if alarm.document >= since}
        self._next: str | None = None
        if state.model.settings.on_full == "evict":
            free = [name for name in self._unseen if name not in state.model.pinned]
            self._next = max(free, key=self._unseen.__getitem__, default=None)

    def names(
        self, query: str = "", sort: str = "support", descending: bool | None = None
    ) -> list[str]:
        part = query.casefold()
        found = sorted(name for name in self._support if part in name.casefold())
        is_turned = sort != "name" if descending is None else descending
        return sorted(found, key=lambda name: self._key(sort, name), reverse=is_turned)

    def all_names(self) -> structs.NameList:
        numbers, pinned = self._state.labels.numbers, self._state.labels.pinned
        rows = [
            (numbers[name], name, self._support[name], numbers[name] in pinned)
            for name in self.names()
        ]
        return structs.NameList(version=self._state.seq, names=rows)

    def of(self, name: str, words: int = 0) -> structs.LabelInfo:
        model, number = self._state.model, self._state.labels.numbers[name]
        precision, recall, f1 = self._state.quality.label(number)
        shown = words if model.settings.keeps_words else 0
        # the part of its documents that has not faded, as far as they were judged
        judged = self._state.quality.all.support(number) if model.settings.forgets else 0
        weight = min(1.0, self._support[name] / judged) if judged else 1.0
        return structs.LabelInfo(
            id=number, name=name, support=self._support[name],
            precision=precision, recall=recall, f1=f1,
            is_pinned=number in self._state.labels.pinned, has_drifted=name in self._drifted,
            unseen=self._unseen[name], weight=weight,
            is_next=name == self._next, history=self._state.quality.history(number),
            words=[(word, by) for word, by in model.top_words(name, shown)] if shown > 0 else [],
        )  # fmt: skip

    def _key(self, sort: str, name: str) -> Any:
        if sort == "name":
            return name
        if sort in ("support", "unseen"):
            return (self._support if sort == "support" else self._unseen)[name]
        number = self._state.labels.numbers[name]
        tp, fp, fn = self._state.quality.all.counts.get(number, NONE)
        others = {"precision": fp, "recall": fn, "f1": fp + fn}  # F1 grows with the share of tp
        return tp / (tp + others[sort]) if tp else 0.0


def label_page(
    state: ServiceState, name: str, recent: Sequence[PredictedDocument], words: int
) -> structs.LabelPage:
    """Describe a label with its neighbours and the recent documents that have it."""
    own = []
    for document in recent:
        labels = document.labels if document.taught is None else document.taught
        if labels.get(name, False) if isinstance(labels, dict) else name in labels:
            own.append(document.recent())
    neighbours = state.model.neighbours(name, 10)
    return structs.LabelPage(
        label=Listing(state).of(name, words), neighbours=neighbours, recent=own[:RECENT]
    )


def alarms(state: ServiceState, untaught: Sequence[PredictedDocument]) -> list[structs.DriftAlarm]:
    """Describe the alarms of the model, newest first, with documents worth teaching."""
    uncertain = sorted(untaught, key=lambda document: document.margin)
    every, recent = state.quality.all, state.quality.recent()
    found = []
    for alarm in reversed(state.model.alarms):
        frequency = frequency_before = None
        teach, label = uncertain, alarm.label
        if label is None:
            f1 = figures(recent).micro_f1
        else:
            number = state.labels.numbers.get(label, 0)
            own = recent.support(number)
            frequency = _share(own, recent.documents)
            earlier = every.documents - recent.documents
            frequency_before = _share(every.support(number) - own, earlier)
            teach = [document for document in uncertain if label in document.probabilities]
            f1 = estimate_f1(recent.counts.get(number, NONE))
        found.append(
            structs.DriftAlarm(
                **msgspec.to_builtins(alarm), words=str(alarm), at=state.rung.get(alarm.document),
                frequency_before=frequency_before, frequency=frequency,
                recovered=f1 if f1.is_enough else None,
                teach=[document.id for document in teach[:TO_TEACH]],
            )
        )  # fmt: skip
    return found


def _share(own: int, documents: int) -> float | None:
    return own / documents if documents >= PANE else None


class Decisions(NamedTuple):
    """What a model says of some answered and recent documents."""

    labels: LabelSets
    probabilities: list[dict[str, float]]  # of the answered documents
    threshold: float


def decisions(
    model: Clasher, recent: Sequence[PredictedDocument], answers: Sequence[Feedback]
) -> Decisions:
    """Predict the documents of answers, and recent ones."""
    texts = [answer.text for answer in answers] + [document.text for document in recent]
    labels, rows = model.decide_many(texts)
    names = model.labels if answers else []
    own = [dict(zip(names, row.tolist(), strict=True)) for row in rows[: len(answers)]]
    return Decisions(labels, own, model.threshold)


def changes_of(
    before: Decisions, after: Decisions, recent: Sequence[PredictedDocument],
    answers: Sequence[Feedback],
) -> list[structs.Changes]:  # fmt: skip
    """Return what each answer has changed: predictions of it and of recent documents."""
    old, new = before.labels[len(answers) :], after.labels[len(answers) :]
    otherwise = [
        structs.ChangedPrediction(
            id=document.id, text=document.text[:SHOWN], before=sorted(was), after=sorted(now)
        )
        for document, was, now in zip(recent, old, new, strict=True)
        if was != now
    ]
    changes = []
    for place, answer in enumerate(answers):
        named = dict.fromkeys([*answer.predicted, *(answer.before or ()), *(answer.after or ())])
        first, then = before.probabilities[place], after.probabilities[place]
        changes.append(
            structs.Changes(
                probabilities=[(name, first.get(name, 0.0), then.get(name, 0.0)) for name in named],
                threshold=(before.threshold, after.threshold),
                documents=[other for other in otherwise if other.id != answer.id],
            )
        )
    return changes
