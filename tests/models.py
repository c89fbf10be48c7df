"""Small models that have learnt something, and their state."""

from __future__ import annotations

from typing import Any

from clasher import Clasher
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


def state_bytes(model: Clasher) -> list[bytes]:
    """Return the state of a model as bytes."""
    return [array.tobytes() for array in model.state]
