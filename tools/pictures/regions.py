"""A document clashes into a region, whose statistics decide its labels."""

from __future__ import annotations

from typing import NamedTuple

from clasher import Clasher
from clasher.kernels.clash import choose, clash
from clasher.kernels.sketch import weigh
from clasher.learning import memory
from tools.pictures.news import DOCUMENT, NEWS
from tools.pictures.svg import BLUE, FAINT, GREEN, RULE, Picture

THRESHOLD = 0.5
BAR, STEP = 240, 34


class Clash(NamedTuple):
    """The results of the kernels: scores by label, the region, and the predicted labels."""

    cosines: dict[str, float]
    fractions: dict[str, float]
    region: str
    chosen: set[str]


def look(model: Clasher, text: str) -> Clash:
    """Run Algorithm 1 up to the prediction, and keep the results of its steps."""
    state, setting, names = model._state, model._setting, model.labels
    hashed = model.hash_many([text])
    words = hashed.words
    work = memory.work_for(state, len(words.keys))
    length = weigh(state, setting, hashed.buckets, hashed.counts, words.places, words.keys, work)
    region = int(clash(state, setting, hashed.buckets, length, len(names), work))
    chosen = work.chosen[: choose(state, setting, length, len(names), work)]
    return Clash(
        dict(zip(names, work.cosines.tolist(), strict=False)),
        dict(zip(names, work.scores.tolist(), strict=False)),
        names[region],
        {names[label] for label in chosen},
    )


def draw() -> Picture:
    """Draw the cosines with all prototypes, and the label statistics of the nearest region."""
    model = Clasher(dimensions=4096, rule="centroid", threshold=THRESHOLD)
    for text, labels in NEWS:
        model.learn(text, labels)
    found = look(model, DOCUMENT)
    picture = Picture("The nearest prototype, and the labels of its region", 760, 270)
    picture.text(20, 30, f"“{DOCUMENT}”", bold=True)
    picture.text(20, 62, "1. cosine with each prototype: the nearest wins", size=13)
    picture.text(400, 62, f"2. of the documents of region {found.region}, so many had", size=13)
    for row, label in enumerate(sorted(found.cosines)):
        y, is_region = 80 + row * STEP, label == found.region
        _bar(picture, 20, y, label, found.cosines[label], BLUE if is_region else RULE)
        _bar(picture, 400, y, label, found.fractions[label], _colour(label in found.chosen))
    edge = 400 + 75 + BAR * THRESHOLD
    picture.line(edge, 74, edge, 80 + len(found.cosines) * STEP, colour=FAINT, dashes="4 3")
    picture.text(edge, 92 + len(found.cosines) * STEP, "θ = ½", at="middle", size=12, colour=FAINT)
    labels = ", ".join(sorted(found.chosen))
    picture.text(20, 252, f"predicted: {labels}", colour=GREEN, bold=True)
    return picture


def _colour(chosen: bool) -> str:
    return GREEN if chosen else RULE


def _bar(picture: Picture, x: float, y: float, label: str, value: float, fill: str) -> None:
    picture.text(x + 68, y + 16, label, at="end", size=13)
    picture.box(x + 75, y + 2, max(BAR * value, 1), 20, fill=fill)
    picture.text(x + 81 + BAR * value, y + 17, f"{value:.2f}", size=12, colour=FAINT)
