"""How the rules learn: F1 over a stream, from scratch."""

from __future__ import annotations

from clasher import Clasher
from clasher.datasets.synthetic import Stream
from clasher.evaluate import evaluate
from clasher.settings import RULES
from tools.pictures.axes import Axes
from tools.pictures.svg import COLOURS, FAINT, Picture

DOCUMENTS, EVERY = 6000, 250


def draw() -> Picture:
    """Draw micro F1 of the last documents, test then train, one curve per rule."""
    stream = Stream(documents=DOCUMENTS, labels=20, drift="sudden", seed=5)
    texts, labels = zip(*stream, strict=True)
    picture = Picture("Micro F1 of the four rules along a stream that changes", 760, 300)
    picture.text(
        20, 30, f"micro F1 of the last {4 * EVERY:,} documents, test then train", bold=True
    )
    axes = Axes(picture, 60, 56, 580, 200, DOCUMENTS, 1.0)
    axes.frame(range(0, DOCUMENTS + 1, 1000), (0, 0.25, 0.5, 0.75, 1))
    change, _ = axes.place(stream.points[0], 0)
    picture.line(change, 56, change, 256, colour=FAINT, dashes="4 3")
    picture.text(change + 6, 250, "half of the labels are written about in other words", size=11)
    ends = []
    for rule, colour in zip(RULES, COLOURS, strict=True):
        model = Clasher(dimensions=16384, rule=rule)
        result = evaluate(model, [(texts, labels)], every=EVERY, window=4)
        curve = [axes.place(p.documents, p.window.micro_f1) for p in result.curve]
        picture.curve(curve, colour)
        ends.append((curve[-1][1], rule, colour))
    lowest = 0.0
    for y, rule, colour in sorted(ends):  # names that would lie upon each other move apart
        lowest = max(y + 4, lowest + 15)
        picture.text(648, lowest, rule, colour=colour)
    picture.text(350, 292, "documents", at="middle", size=11)
    return picture
