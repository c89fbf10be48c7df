"""Views of one consistent state: predictions, explanations, labels and alarms for people."""

from __future__ import annotations

import heapq
import secrets
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clasher.learning.explain import Explanation
from clasher.runtime.quality import NONE, PANE, Estimate, Pane, estimate_f1, figures
from clasher.service.documents import PredictedDocument
from clasher.service.state import ServiceState
from clasher.service.structs import (
    Alarmed,
    Document,
    Explained,
    LabelInfo,
    LabelPage,
    NameList,
    Prediction,
    Stretch,
)

ORDERS = ("support", "name", "precision", "recall", "f1", "unseen")
"""The orders of labels."""

RECENTLY = 20_000  # documents since an alarm for which its label counts as drifted
CELLS = 4_000_000  # probabilities at a time, so that many labels take no more memory than few
NEIGHBOURS = 10
RECENT = 20  # documents of a label
TO_TEACH = 5
STRETCHES = 1000  # of an explained text, for one label
LEFT_OUT = "words left out"

# ── predictions ──────────────────────────────────────────────────────────────────────────────────


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
    sets, probabilities = state.model.decide_many([document.text for document in documents])
    best = _BestLabels(state.model.labels, probabilities, top)
    margins = np.abs(probabilities - state.model.threshold).min(axis=1, initial=1.0).tolist()
    ids, ends, names = sets.ids.tolist(), sets.indptr.tolist(), sets.names
    drawn = secrets.token_hex(8 * len(documents))
    predicted = []
    for place, document in enumerate(documents):
        own = {names[number] for number in ids[ends[place] : ends[place + 1]]}
        shown = best.of(place, own)
        predicted.append(
            PredictedDocument(
                id=drawn[16 * place : 16 * place + 16] if document.id is None else document.id,
                at=at, text=document.text, labels=[name for name in shown if name in own],
                probabilities=shown, version=state.seq, margin=margins[place],
            )
        )  # fmt: skip
    return predicted


def prediction(document: PredictedDocument) -> Prediction:
    """Return a prediction as people see it."""
    return Prediction(
        id=document.id, labels=document.labels, probabilities=list(document.probabilities.items()),
        version=document.version,
    )  # fmt: skip


class _BestLabels:
    """The ``top`` best labels of documents, from their probabilities (one column per label)."""

    def __init__(self, names: list[str], probabilities: npt.NDArray[np.float32], top: int) -> None:
        self._names = names
        self._probabilities = probabilities
        labels = probabilities.shape[1]
        if top >= labels:
            best = np.broadcast_to(np.arange(labels), probabilities.shape)
        elif top < 1:
            best = np.zeros((len(probabilities), 0), np.intp)
        else:
            best = np.argpartition(-probabilities, top - 1, axis=1)[:, :top]
        self._best = best.tolist()
        self._negated = (-np.take_along_axis(probabilities, best, axis=1)).tolist()

    def of(self, place: int, own: set[str]) -> dict[str, float]:
        """Return the best labels and the ``own`` ones of a document, best first, then by name."""
        names = [self._names[number] for number in self._best[place]]
        pairs = sorted(zip(self._negated[place], names, strict=True))
        if missing := own.difference(names):
            row = self._probabilities[place]
            others = [
                (-float(row[number]), name)
                for number, name in enumerate(self._names)
                if name in missing
            ]
            pairs = sorted([*pairs, *others])
        return {name: -negated for negated, name in pairs}


def explained(explanation: Explanation, most: int = STRETCHES) -> Explained:
    """Return an explanation as plain values, with the ``most`` weightiest stretches."""
    evidence: dict[tuple[int, int], float] = defaultdict(float)
    for start, stop, weight in explanation.spans:
        evidence[start, stop] += weight
    shown = heapq.nlargest(most, evidence, key=lambda place: abs(evidence[place]))
    other = explanation.other
    if len(shown) < len(evidence):
        rest = sum(evidence.values()) - sum(evidence[place] for place in shown)
        other = {**other, LEFT_OUT: rest}
    return Explained(
        label=explanation.label,
        is_predicted=explanation.predicted,
        probability=explanation.probability,
        words=[Stretch(start=a, stop=b, evidence=evidence[a, b]) for a, b in sorted(shown)],
        other=other,
    )


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


class Listing:
    """The labels of one state.

    Sorting thousands of labels uses cheap values; the rest is computed only for those shown.
    """

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
        """Return the labels whose names contain ``query``, sorted; equal ones by name.

        By default names ascend, and the largest values come first.
        """
        part = query.casefold()
        found = sorted(name for name in self._support if part in name.casefold())
        is_turned = sort != "name" if descending is None else descending
        return sorted(found, key=lambda name: self._key(sort, name), reverse=is_turned)

    def all_names(self) -> NameList:
        numbers, pinned = self._state.labels.numbers, self._state.labels.pinned
        rows = [
            (numbers[name], name, self._support[name], numbers[name] in pinned)
            for name in self.names()
        ]
        return NameList(version=self._state.seq, names=rows)

    def of(self, name: str, words: int = 0) -> LabelInfo:
        model, number = self._state.model, self._state.labels.number(name)
        precision, recall, f1 = self._state.quality.label(number)
        shown = words if model.settings.keeps_words else 0
        return LabelInfo(
            id=number, name=name, support=self._support[name],
            precision=precision, recall=recall, f1=f1,
            is_pinned=number in self._state.labels.pinned, has_drifted=name in self._drifted,
            unseen=self._unseen[name], weight=self._weight(name, number),
            is_next=name == self._next, history=self._state.quality.history(number),
            words=[(word, by) for word, by in model.top_words(name, shown)] if shown > 0 else [],
        )  # fmt: skip

    def _key(self, sort: str, name: str) -> Any:
        if sort == "support":
            return self._support[name]
        if sort == "unseen":
            return self._unseen[name]
        if sort == "name":
            return name
        number = self._state.labels.number(name)
        tp, fp, fn = self._state.quality.all.counts.get(number, NONE)
        others = {"precision": fp, "recall": fn, "f1": fp + fn}  # F1 grows with the share of tp
        return tp / (tp + others[sort]) if tp else 0.0

    def _weight(self, name: str, number: int) -> float:
        """Return the part of a label's documents that has not faded, as far as they were judged."""
        taught = self._state.quality.all.support(number)
        if not self._state.model.settings.forgets or self._support[name] >= taught:
            return 1.0
        return self._support[name] / taught


def label_page(
    state: ServiceState, name: str, recent: Sequence[PredictedDocument], words: int
) -> LabelPage:
    """Describe a label with its neighbours and the recent documents that have it."""
    own = [document.recent() for document in recent if _has(document, name)]
    return LabelPage(
        label=Listing(state).of(name, words),
        neighbours=state.model.neighbours(name, NEIGHBOURS),
        recent=own[:RECENT],
    )


def _has(document: PredictedDocument, name: str) -> bool:
    labels = document.labels if document.taught is None else document.taught
    return labels.get(name, False) if isinstance(labels, dict) else name in labels


# ── alarms ───────────────────────────────────────────────────────────────────────────────────────


def alarms(state: ServiceState, untaught: Sequence[PredictedDocument]) -> list[Alarmed]:
    """Describe the alarms of the model, newest first, with documents worth teaching."""
    uncertain = sorted(untaught, key=lambda document: document.margin)
    recent = state.quality.recent()
    return [
        Alarmed(
            document=alarm.document, label=alarm.label, at=state.rung.get(alarm.document),
            frequency_before=_frequency(state, recent, alarm.label, is_recent=False),
            frequency=_frequency(state, recent, alarm.label, is_recent=True),
            error_before=alarm.error_before, error_after=alarm.error_after,
            gained=list(alarm.gained), lost=list(alarm.lost), words=str(alarm),
            recovered=_recovered(state, recent, alarm.label),
            teach=[
                d.id
                for d in uncertain
                if alarm.label is None or alarm.label in d.probabilities
            ][:TO_TEACH],
        )
        for alarm in reversed(state.model.alarms)
    ]  # fmt: skip


def _frequency(
    state: ServiceState, recent: Pane, label: str | None, *, is_recent: bool
) -> float | None:
    """Return a label's share of recent or of earlier documents; None if there are too few."""
    number, every = state.labels.numbers.get(label or "", 0), state.quality.all
    documents, own = recent.documents, recent.support(number)
    if not is_recent:
        documents, own = every.documents - documents, every.support(number) - own
    return own / documents if label is not None and documents >= PANE else None


def _recovered(state: ServiceState, recent: Pane, label: str | None) -> Estimate | None:
    if label is None:
        estimate = figures(recent).micro_f1
    else:
        number = state.labels.numbers.get(label, 0)
        estimate = estimate_f1(recent.counts.get(number, NONE))
    return estimate if estimate.is_enough else None
