"""What people are shown: labels, their pages, alarms; built from one consistent state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from clasher.explain import Explanation
from clasher.service.awaiting import Predicted
from clasher.service.estimates import estimate_f1
from clasher.service.quality import NONE, PANE, Pane, figures
from clasher.service.state import State
from clasher.service.structs import (
    Alarmed,
    Estimate,
    Explained,
    LabelInfo,
    LabelPage,
    Stretch,
)

NEIGHBOURS = 10
RECENT = 20  # documents of a label
RECENTLY = 20_000  # documents since an alarm for which a label is marked
TO_TEACH = 5

ORDERS: dict[str, Callable[[LabelInfo], Any]] = {
    "support": lambda label: label.support,
    "name": lambda label: label.name,
    "precision": lambda label: label.precision.value,
    "recall": lambda label: label.recall.value,
    "f1": lambda label: label.f1.value,
    "unseen": lambda label: label.unseen,
}
"""How labels can be sorted."""


def explained(explanation: Explanation) -> Explained:
    """An explanation as plain values."""
    return Explained(
        label=explanation.label,
        is_predicted=explanation.predicted,
        probability=explanation.probability,
        words=[Stretch(start=a, stop=b, weight=weight) for a, b, weight in explanation.spans],
        other=explanation.other,
    )


def labels(state: State, query: str, sort: str, descending: bool | None = None) -> list[LabelInfo]:
    """All labels with this text in their names; equals by name, which alone ascends by itself."""
    wanted, about = query.casefold(), LabelInfos(state)
    found = [about.of(name) for name in state.model.labels if wanted in name.casefold()]
    is_turned = sort != "name" if descending is None else descending
    return sorted(sorted(found, key=ORDERS["name"]), key=ORDERS[sort], reverse=is_turned)


class LabelInfos:
    """What is told of the labels of one state, without their words."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._support = state.model.support
        self._unseen = state.model.unseen
        self._drifted = _drifted(state)
        self._next = self._goes_next()

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


def words(state: State, name: str, most: int) -> list[tuple[str, float]]:
    """The words of a label, none where the model keeps none."""
    if most < 1 or not state.model.settings.keeps_words:
        return []
    return [(word, weight) for word, weight in state.model.top_words(name, most)]


def label_page(state: State, name: str, recent: Sequence[Predicted], most: int) -> LabelPage:
    """All about one label; its documents are those that it was predicted or taught for."""
    info = LabelInfos(state).of(name)
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
            teach=[d.id for d in uncertain if alarm.label is None or alarm.label in d.scores][
                :TO_TEACH
            ],
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


def _drifted(state: State) -> set[str]:
    since = state.model.documents - RECENTLY
    return {
        alarm.label
        for alarm in state.model.alarms
        if alarm.label is not None and alarm.document >= since
    }


def _has(document: Predicted, name: str) -> bool:
    if document.taught is None:
        return name in document.labels
    taught = document.taught
    return taught.get(name, False) if isinstance(taught, dict) else name in taught
