"""What people are shown: labels, their pages, alarms; built from one consistent state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from clasher.explain import Explanation
from clasher.service.awaiting import Predicted
from clasher.service.estimates import estimate_f1
from clasher.service.quality import NONE, Pane, figures
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
    "support": lambda label: -label.support,
    "name": lambda label: label.name,
    "precision": lambda label: -label.precision.value,
    "recall": lambda label: -label.recall.value,
    "f1": lambda label: -label.f1.value,
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


def labels(state: State, query: str, sort: str) -> list[LabelInfo]:
    """All labels with this text in their names."""
    wanted, support = query.casefold(), state.model.support
    drifted = _drifted(state)
    found = [
        label_info(state, name, support[name], name in drifted)
        for name in state.model.labels
        if wanted in name.casefold()
    ]
    return sorted(sorted(found, key=ORDERS["name"]), key=ORDERS[sort])


def label_info(state: State, name: str, support: int, has_drifted: bool) -> LabelInfo:
    """One label, without its words."""
    number = state.labels.number(name)
    precision, recall, f1 = state.quality.label(number)
    return LabelInfo(
        id=number, name=name, support=support, precision=precision, recall=recall, f1=f1,
        is_pinned=number in state.labels.pinned, has_drifted=has_drifted,
        history=state.quality.history(number),
    )  # fmt: skip


def words(state: State, name: str, most: int) -> list[tuple[str, float]]:
    """The words of a label, none where the model keeps none."""
    if most < 1 or not state.model.settings.keeps_words:
        return []
    return [(word, weight) for word, weight in state.model.top_words(name, most)]


def label_page(state: State, name: str, recent: Sequence[Predicted], most: int) -> LabelPage:
    """All about one label; its documents are those that it was predicted or taught for."""
    info = label_info(state, name, state.model.support[name], name in _drifted(state))
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
            document=alarm.document, label=alarm.label,
            error_before=alarm.error_before, error_after=alarm.error_after,
            gained=list(alarm.gained), lost=list(alarm.lost), words=str(alarm),
            recovered=_recovered(state, recent, alarm.label),
            teach=[d.id for d in uncertain if alarm.label is None or alarm.label in d.scores][
                :TO_TEACH
            ],
        )
        for alarm in reversed(state.model.alarms)
    ]  # fmt: skip


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
