"""What people are shown: labels, their pages, alarms; built from one consistent state."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from clasher.explain import Explanation
from clasher.service.awaiting import Predicted
from clasher.service.estimates import estimate_f1
from clasher.service.listing import Listing
from clasher.service.quality import NONE, PANE, Pane, figures
from clasher.service.state import State
from clasher.service.structs import (
    Alarmed,
    Estimate,
    Explained,
    LabelPage,
    Stretch,
)

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
