"""Predictions with their scores, and what is kept of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from clasher.service.awaiting import Predicted
from clasher.service.state import State
from clasher.service.structs import Document, Prediction

CELLS = 4_000_000  # scores at a time, so that many labels take no more memory than few


def predict(state: State, documents: Sequence[Document], top: int, at: float) -> list[Predicted]:
    """The labels of documents, their scores and those of the ``top`` best others."""
    step = max(1, CELLS // max(1, len(state.model.labels)))
    return [
        predicted
        for start in range(0, len(documents), step)
        for predicted in _predict(state, documents[start : start + step], top, at)
    ]


def _predict(state: State, documents: Sequence[Document], top: int, at: float) -> list[Predicted]:
    sets, scores = state.model.decide_many([document.text for document in documents])
    names = state.model.labels
    best = _best(scores, min(top, len(names)))
    margins = np.abs(scores - state.model.threshold).min(axis=1, initial=1.0).tolist()
    predicted = []
    for place, document in enumerate(documents):
        chosen = sets.ids[sets.indptr[place] : sets.indptr[place + 1]].tolist()
        row, own = scores[place], [sets.names[number] for number in chosen]
        told = _told(row, names, own, best[place])
        predicted.append(
            Predicted(
                id=secrets.token_hex(8) if document.id is None else document.id, at=at,
                text=document.text, labels=[name for name in told if name in set(own)],
                scores=told, version=state.seq, margin=margins[place],
            )
        )  # fmt: skip
    return predicted


def shown(document: Predicted) -> Prediction:
    """A prediction as it is given out."""
    return Prediction(
        id=document.id, labels=document.labels, scores=document.scores, version=document.version
    )


def _best(scores: Any, top: int) -> list[list[int]]:
    """The numbers of the best labels of each document, in no order."""
    if top < 1 or not len(scores):
        return [[] for _ in scores]
    if top >= scores.shape[1]:
        return [list(range(scores.shape[1]))] * len(scores)
    best: list[list[int]] = np.argpartition(-scores, top - 1, axis=1)[:, :top].tolist()
    return best


def _told(row: Any, names: list[str], own: list[str], best: list[int]) -> dict[str, float]:
    """The scores that are given out, the best first, equals by name."""
    wanted = {names[number]: float(row[number]) for number in best}
    if not all(name in wanted for name in own):
        numbers = {name: number for number, name in enumerate(names) if name in own}
        wanted |= {name: float(row[number]) for name, number in numbers.items()}
    return dict(sorted(wanted.items(), key=lambda pair: (-pair[1], pair[0])))
