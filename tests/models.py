"""Small models that have learnt something, and their state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from clasher import Clasher
from clasher.learning import memory
from clasher.settings import RULES

__all__ = ["RULES"]

TEXTS = [
    "crude oil prices rose",
    "wheat and corn harvest",
    "gold and oil traded higher",
    "the harvest of wheat fell",
    "an unlabelled text on oil",
    "corn prices, wheat prices, 小麦",
    "gold mine opened ☂",
    "",
    "oil oil oil and gas",
    "nothing that concerns us",
]
LABELS: list[Any] = [
    {"oil"},
    {"grain", "corn"},
    {"gold", "oil"},
    {"grain"},
    None,
    {"grain": True, "corn": True, "oil": False},
    {"gold"},
    {"oil"},
    {"oil": True},
    set(),
]
UNSEEN = ["oil and wheat prices", "corn", "a gold mine of grain", "", "小麦 ☂", "unheard of"]


def taught(rule: str = "margin", times: int = 3, **settings: Any) -> Clasher:
    """Make a model that has learnt the stream above a few times."""
    model = Clasher(**{"dimensions": 128, "max_labels": 8, "rule": rule, **settings})
    for _ in range(times):
        model.learn_many(TEXTS, LABELS)
    return model


def state_bytes(model: Any) -> list[bytes]:
    """Return what a model has learnt as bytes."""
    return [array.tobytes() for array in memory.contents(model._state).values()]


AXES = memory.LABEL_AXIS | {"rows": 2, "together": 1, "classes": 1}
"""The last label axis of the arrays that ``dense`` returns."""


def dense(model: Any) -> SimpleNamespace:
    """Return copies of the arrays of a model, with its cells as dense arrays.

    These are ``rows`` [bucket, layer, label], ``together`` and ``classes`` [row, label].
    """
    state = getattr(model, "_state", model)
    arrays = {name: array.copy() for name, array in state._asdict().items() if name != "pool"}
    labels = len(state.counts)
    for name in memory.HEADS:
        arrays[name] = memory.values(state, name, labels)[0]
    arrays["rows"] = np.moveaxis(memory.values(state, "rows", labels), 0, 1)
    return SimpleNamespace(**arrays)
