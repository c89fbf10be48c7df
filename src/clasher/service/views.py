"""What people are shown: labels, their pages, alarms; built from one consistent state.

The labels of a state as a list: what is told of each, in which order.

Predictions with their probabilities, and what is kept of them.
"""

from __future__ import annotations

import heapq
import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clasher.learning.explain import Explanation
from clasher.runtime.quality import NONE, PANE, Estimate, Pane, estimate_f1, figures
from clasher.service.documents import Predicted
from clasher.service.state import State
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

RECENTLY = 20_000  # documents since an alarm for which a label is marked

ORDERS = ("support", "name", "precision", "recall", "f1", "unseen")
"""How labels can be sorted."""


class Listing:
    """What is told of the labels of one state, without their words.

    Thousands of labels are sorted by what is at hand; the rest is only worked out for those that
    are shown.

    Examples
    --------
    >>> from clasher.model import Clasher
    >>> model = Clasher(1024)
    >>> model.learn_many(["wheat", "gold", "iron"], [{"grain"}, {"metal"}, {"metal"}])
    >>> listing = Listing(State(model))
    >>> listing.names(), listing.names(sort="name"), listing.names(query="ME")
    (['metal', 'grain'], ['grain', 'metal'], ['metal'])
    >>> listing.of("grain").unseen
    2
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._support = state.model.support
        self._unseen = state.model.unseen
        self._drifted = _drifted(state)
        self._next = self._goes_next()

    def names(
        self, query: str = "", sort: str = "support", descending: bool | None = None
    ) -> list[str]:
        """Labels with this text in their names; equals by name, which alone ascends by itself."""
        wanted = query.casefold()
        found = sorted(name for name in self._support if wanted in name.casefold())
        is_turned = sort != "name" if descending is None else descending
        return sorted(found, key=self._key(sort), reverse=is_turned)

    def all_names(self) -> NameList:
        """The names of all labels, the most frequent first."""
        numbers, pinned = self._state.labels.numbers, self._state.labels.pinned
        rows = [
            (numbers[name], name, self._support[name], numbers[name] in pinned)
            for name in self.names()
        ]
        return NameList(version=self._state.seq, names=rows)

    def of(self, name: str) -> LabelInfo:
        """One label."""
        number, quality = self._state.labels.number(name), self._state.quality
        precision, recall, f1 = quality.label(number)
        return LabelInfo(
            id=number, name=name, support=self._support[name],
            precision=precision, recall=recall, f1=f1,
            is_pinned=number in self._state.labels.pinned, has_drifted=name in self._drifted,
            unseen=self._unseen[name], weight=self._weight(name, number),
            is_next=name == self._next, history=quality.history(number),
        )  # fmt: skip

    def _key(self, sort: str) -> Callable[[str], Any]:
        """What labels are sorted by."""
        keys: dict[str, Callable[[str], Any]] = {
            "support": self._support.__getitem__, "unseen": self._unseen.__getitem__, "name": str,
        }  # fmt: skip
        return keys.get(sort, partial(self._share, sort))

    def _share(self, measure: str, name: str) -> float:
        """The share of hits in what a measure looks at: F1 grows with it, and the others are it."""
        counts = self._state.quality.all.counts.get(self._state.labels.number(name), NONE)
        hits, false_alarms, misses = counts
        others = {"precision": false_alarms, "recall": misses, "f1": false_alarms + misses}
        return hits / (hits + others[measure]) if hits else 0.0

    def _weight(self, name: str, number: int) -> float:
        """What is left of the documents that taught a label, as far as they were judged."""
        taught = self._state.quality.all.support(number)
        if not self._state.model.settings.forgets or self._support[name] >= taught:
            return 1.0
        return self._support[name] / taught

    def _goes_next(self) -> str | None:
        """The label that a new one would take the place of."""
        if self._state.model.settings.on_full != "evict":
            return None
        free = [name for name in self._unseen if name not in self._state.model.pinned]
        return max(free, key=self._unseen.__getitem__, default=None)


def _drifted(state: State) -> set[str]:
    """The labels that a recent alarm is about."""
    since = state.model.documents - RECENTLY
    return {
        alarm.label
        for alarm in state.model.alarms
        if alarm.label is not None and alarm.document >= since
    }


CELLS = 4_000_000  # probabilities at a time, so that many labels take no more memory than few


def predict(state: State, documents: Sequence[Document], top: int, at: float) -> list[Predicted]:
    """The labels of documents, their probabilities and those of the ``top`` best others."""
    step = max(1, CELLS // max(1, len(state.model.labels)))
    return [
        predicted
        for start in range(0, len(documents), step)
        for predicted in _predict(state, documents[start : start + step], top, at)
    ]


def _predict(state: State, documents: Sequence[Document], top: int, at: float) -> list[Predicted]:
    sets, probabilities = state.model.decide_many([document.text for document in documents])
    columns = _Columns(state.model.labels, probabilities, top)
    margins = np.abs(probabilities - state.model.threshold).min(axis=1, initial=1.0).tolist()
    ids, ends = sets.ids.tolist(), sets.indptr.tolist()
    names, drawn = sets.names, _draw(len(documents))
    predicted = []
    for place, document in enumerate(documents):
        own = {names[number] for number in ids[ends[place] : ends[place + 1]]}
        told = columns.told(place, own)
        predicted.append(
            Predicted(
                id=drawn[place] if document.id is None else document.id, at=at,
                text=document.text, labels=[name for name in told if name in own],
                probabilities=told, version=state.seq, margin=margins[place],
            )
        )  # fmt: skip
    return predicted


def shown(document: Predicted) -> Prediction:
    """A prediction as it is given out."""
    return Prediction(
        id=document.id, labels=document.labels, probabilities=list(document.probabilities.items()),
        version=document.version,
    )  # fmt: skip


class _Columns:
    """The probabilities of documents, a column per label; the ``top`` best are given out."""

    def __init__(self, names: list[str], probabilities: npt.NDArray[np.float32], top: int) -> None:
        self._names = names
        self._probabilities = probabilities
        best = _best(probabilities, min(top, len(names)))
        self._best = best.tolist()
        self._negated = (-np.take_along_axis(probabilities, best, axis=1)).tolist()

    def told(self, place: int, own: set[str]) -> dict[str, float]:
        """The probabilities of one document that are given out, the best first, equals by name."""
        names = [self._names[number] for number in self._best[place]]
        pairs = sorted(zip(self._negated[place], names, strict=True))
        if missing := own.difference(names):
            pairs = sorted([*pairs, *self._others(place, missing)])
        return {name: -negated for negated, name in pairs}

    def _others(self, place: int, wanted: set[str]) -> list[tuple[float, str]]:
        row = self._probabilities[place]
        numbers = (number for number, name in enumerate(self._names) if name in wanted)
        return [(-float(row[number]), self._names[number]) for number in numbers]


def _best(probabilities: npt.NDArray[np.float32], top: int) -> npt.NDArray[np.intp]:
    """The columns of the best labels of each document, in no order."""
    if top >= probabilities.shape[1]:
        return np.broadcast_to(np.arange(probabilities.shape[1]), probabilities.shape)
    if top < 1:
        return np.zeros((len(probabilities), 0), np.intp)
    return np.argpartition(-probabilities, top - 1, axis=1)[:, :top]


def _draw(number: int) -> list[str]:
    """So many random ids."""
    drawn = secrets.token_hex(8 * number)
    return [drawn[at : at + 16] for at in range(0, len(drawn), 16)]


NEIGHBOURS = 10
RECENT = 20  # documents of a label
TO_TEACH = 5
STRETCHES = 1000  # of an explained text, for one label
LEFT_OUT = "words left out"


def explained(explanation: Explanation, most: int = STRETCHES) -> Explained:
    """An explanation as plain values, with the ``most`` weightiest stretches."""
    spoken: dict[tuple[int, int], float] = defaultdict(float)
    for start, stop, weight in explanation.spans:
        spoken[start, stop] += weight
    told = heapq.nlargest(most, spoken, key=lambda place: abs(spoken[place]))
    other = explanation.other
    if len(told) < len(spoken):
        rest = sum(spoken.values()) - sum(spoken[place] for place in told)
        other = {**other, LEFT_OUT: rest}
    return Explained(
        label=explanation.label,
        is_predicted=explanation.predicted,
        probability=explanation.probability,
        words=[Stretch(start=a, stop=b, evidence=spoken[a, b]) for a, b in sorted(told)],
        other=other,
    )


def words(state: State, name: str, most: int) -> list[tuple[str, float]]:
    """The words of a label, none where the model keeps none."""
    if most < 1 or not state.model.settings.keeps_words:
        return []
    return [(word, weight) for word, weight in state.model.top_words(name, most)]


def label_page(state: State, name: str, recent: Sequence[Predicted], most: int) -> LabelPage:
    """All about one label; its documents are those that it was predicted or taught for."""
    info = Listing(state).of(name)
    own = [document.recent() for document in recent if _has(document, name)]
    return LabelPage(
        label=replace(info, words=words(state, name, most)),
        neighbours=state.model.neighbours(name, NEIGHBOURS),
        recent=own[:RECENT],
    )


def alarms(state: State, untaught: Sequence[Predicted]) -> list[Alarmed]:
    """The changes that the model noticed, the newest first, and what would help to teach."""
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


def _frequency(state: State, recent: Pane, label: str | None, *, is_recent: bool) -> float | None:
    """The share of a label in the recent past, or before it; None where that is not known."""
    number, every = state.labels.numbers.get(label or "", 0), state.quality.all
    documents, own = recent.documents, recent.support(number)
    if not is_recent:
        documents, own = every.documents - documents, every.support(number) - own
    return own / documents if label is not None and documents >= PANE else None


def _recovered(state: State, recent: Pane, label: str | None) -> Estimate | None:
    if label is None:
        estimate = figures(recent).micro_f1
    else:
        number = state.labels.numbers.get(label, 0)
        estimate = estimate_f1(recent.counts.get(number, NONE))
    return estimate if estimate.is_enough else None


def _has(document: Predicted, name: str) -> bool:
    if document.taught is None:
        return name in document.labels
    taught = document.taught
    return taught.get(name, False) if isinstance(taught, dict) else name in taught
