"""Small streams and the oracle: what a flow must learn and write."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clasher import Clasher
from clasher.settings import Settings
from tests.service.plain import file_bytes, model_of

SETTINGS = Settings(dimensions=64, max_labels=16)
TOPICS = {
    "grain": ["wheat", "corn", "barley", "harvest"],
    "metal": ["gold", "zinc", "copper", "smelter"],
    "energy": ["crude", "barrel", "pipeline", "gas"],
}

Record = dict[str, Any]


def records(count: int, seed: int = 0, labelled: float = 0.8) -> list[Record]:
    """Make documents of one or two topics, most of them labelled."""
    draw = random.Random(seed)
    made: list[Record] = []
    for number in range(count):
        topics = draw.sample(sorted(TOPICS), draw.choice([1, 1, 2]))
        words = [word for topic in topics for word in draw.sample(TOPICS[topic], 2)]
        labels = topics if draw.random() < labelled else None
        made.append({"id": f"d{number}", "text": " ".join(words), "labels": labels})
    return made


def lines(rows: Iterable[Record]) -> bytes:
    return msgspec.json.Encoder().encode_lines(list(rows))


def learnt(rows: Sequence[Record], settings: Settings = SETTINGS) -> bytes:
    """Return the file of a model that was taught records one by one."""
    model = model_of(settings)
    for row in rows:
        model.learn(row["text"], row["labels"])
    return file_bytes(model)


def predictions(rows: Sequence[Record], settings: Settings = SETTINGS) -> list[Record]:
    """Predict each record before it is learnt."""
    model = model_of(settings)
    made = []
    for row in rows:
        made.append({"id": row["id"], "labels": sorted(model.predict(row["text"]))})
        model.learn(row["text"], row["labels"])
    return made


def model_in(folder: Path) -> bytes:
    """Return the model file of a flow."""
    return file_bytes(Clasher.load(folder / "model.clasher"))
