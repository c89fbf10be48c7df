"""What a word is worth, as a model that has counted so many documents has it."""

from __future__ import annotations

from itertools import cycle, islice

from clasher import HashedTfidf
from tools.pictures.axes import Axes
from tools.pictures.news import NEWS
from tools.pictures.svg import COLOURS, Picture

WORDS = ("the", "wheat", "penalty", "quinoa")
DOCUMENTS = 120


def draw() -> Picture:
    """One curve per word: its online IDF, which is its weight in a text that has no other."""
    vectors = HashedTfidf(dimensions=4096, norm="none")
    values: dict[str, list[float]] = {word: [] for word in WORDS}
    for text, _ in islice(cycle(NEWS), DOCUMENTS):
        vectors.partial_fit([text])
        for word in WORDS:
            values[word].append(abs(float(vectors.to_arrays([word]).weights[0])))
    picture = Picture("The weight of four words while a stream goes on", 760, 300)
    picture.text(20, 30, "ln((n+1) / (C+1)) after n documents, C of which had the word", bold=True)
    axes = Axes(picture, 60, 56, 580, 200, DOCUMENTS, 5.0)
    axes.frame(range(0, DOCUMENTS + 1, 20), range(6))
    for word, colour in zip(WORDS, COLOURS, strict=True):
        curve = [axes.place(n, value) for n, value in enumerate(values[word], start=1)]
        picture.curve(curve, colour)
        x, y = curve[-1]
        picture.text(x + 8, y + 4, word, colour=colour)
    picture.text(350, 292, "documents", at="middle", size=11)
    return picture
