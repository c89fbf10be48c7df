"""Predictions with their probabilities, and what is kept of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clasher.service.awaiting import Predicted
from clasher.service.state import State
from clasher.service.structs import Document, Prediction

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
