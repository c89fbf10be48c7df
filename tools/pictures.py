"""Draw the pictures of docs/explanation/clashing.md with the kernels: ``python -m tools.pictures``.

Each function of ``PICTURES`` draws docs/pictures/NAME.svg.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from clasher import Clasher, HashedTfidf
from clasher.datasets.synthetic import Stream
from clasher.evaluate import evaluate
from clasher.kernels.sketch import weigh
from clasher.learning import memory
from clasher.settings import RULES
from clasher.text.hashing import Hasher
from clasher.theory.distortion import Sample, Vectors

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
INK, FAINT, RULE = "#1f2430", "#667085", "#d5d9e2"
BLUE, RED, GREEN = "#3f51b5", "#c2410c", "#15803d"
COLOURS = (BLUE, RED, GREEN, FAINT)
NEWS = (
    ("Wheat and corn prices fell after a good harvest", {"economy", "grain"}),
    ("The central bank raised interest rates again", {"economy"}),
    ("The smelter buys gold and zinc", {"metal"}),
    ("A late goal decided the cup final", {"sport"}),
    ("A bad harvest of corn and barley", {"grain"}),
    ("Gold prices rose as the bank lowered rates", {"economy", "metal"}),
    ("Farmers sell barley and wheat", {"economy", "grain"}),
    ("The striker scored twice in the cup", {"sport"}),
    ("Wheat prices rose again", {"economy", "grain"}),
    ("A new mine of copper and zinc", {"metal"}),
    ("The final was decided by a penalty", {"sport"}),
    ("Interest on bank loans fell", {"economy"}),
)
DOCUMENT = "Corn and wheat prices after the harvest"


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────


class Picture:
    """An SVG picture.

    >>> picture = Picture("An example", 100, 50)
    >>> picture.line(0, 0, 10, 10)
    >>> str(picture).count("<line")
    1
    """

    def __init__(self, title: str, width: int, height: int) -> None:
        self.title, self.width, self.height = title, width, height
        self._shapes: list[str] = []

    def __str__(self) -> str:
        shapes = "\n".join(self._shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'font-family="system-ui, sans-serif" font-size="14" fill="{INK}" role="img">\n'
            f"<title>{escape(self.title)}</title>\n"
            f'<rect width="{self.width}" height="{self.height}" rx="8" fill="#fbfbfd"/>\n'
            f"{shapes}\n</svg>\n"
        )

    def text(
        self, x: float, y: float, words: str, *, at: str = "start", colour: str = INK,
        size: int = 14, bold: bool = False,
    ) -> None:  # fmt: skip
        """Draw text that starts, ends or is centred at a point."""
        weight = ' font-weight="600"' if bold else ""
        self._add(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{at}" fill="{colour}" '
            f'font-size="{size}"{weight}>{escape(words)}</text>'
        )

    def line(
        self, x: float, y: float, x2: float, y2: float, *, colour: str = RULE, width: float = 1,
        dashes: str = "",
    ) -> None:  # fmt: skip
        """Draw a straight line."""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._add(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dashed}/>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str = "none",
        edge: str = "none", round_: float = 2,
    ) -> None:  # fmt: skip
        """Draw a rectangle."""
        self._add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{round_}" fill="{fill}" stroke="{edge}"/>'
        )

    def dots(self, points: Iterable[tuple[float, float]], colour: str = BLUE) -> None:
        """Draw small dots, as one shape."""
        path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
        self._add(
            f'<path d="{path}" stroke="{colour}" stroke-width="4" stroke-linecap="round" '
            f'stroke-opacity=".45"/>'
        )

    def curve(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def _add(self, shape: str) -> None:
        self._shapes.append(shape)


@dataclass(frozen=True)
class Axes:
    """A rectangle of a picture; x and y are the values at its upper right corner."""

    picture: Picture
    left: float
    top: float
    width: float
    height: float
    x: float
    y: float
    low: float = 0.0

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point in the picture, clipped to the frame."""
        share = min(max((y - self.low) / (self.y - self.low), 0.0), 1.0)
        across = min(max((x - self.x0) / (self.x - self.x0), 0.0), 1.0)
        return self.left + self.width * across, self.top + self.height * (1.0 - share)

    @property
    def x0(self) -> float:
        """The start of the x axis: that of the y axis if negative, else 0."""
        return min(self.low, 0.0)

    def frame(self, xs: Sequence[float], ys: Sequence[float], form: str = "{:g}") -> None:
        """Draw lines and numbers at these values."""
        for y in ys:
            _, at = self.place(0.0, y)
            self.picture.line(self.left, at, self.left + self.width, at, colour=RULE)
            self.picture.text(
                self.left - 8, at + 4, form.format(y), at="end", colour=FAINT, size=11
            )
        for x in xs:
            at, _ = self.place(x, 0.0)
            below = self.top + self.height + 16
            self.picture.text(at, below, form.format(x), at="middle", colour=FAINT, size=11)


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────


def buckets() -> Picture:
    """Draw the words of a document and their signed buckets, by the hash that models use."""
    dimensions, width, cell = 16, 760, 42
    words = Hasher(dimensions).words(DOCUMENT)
    picture = Picture(f"Seven words in {dimensions} signed buckets", width, 250)
    picture.text(20, 30, f"“{DOCUMENT}”, hashed to {dimensions} buckets", bold=True)
    left, step = (width - dimensions * cell) / 2, (width - 40) / len(words)
    sums: Counter[int] = Counter()
    for number, word in enumerate(words):
        middle = 20 + step * (number + 0.5)
        colour = BLUE if word.sign > 0 else RED
        picture.text(middle, 72, word.text, at="middle", colour=colour)
        picture.line(middle, 80, left + cell * (word.bucket + 0.5), 160, colour=colour, width=1.5)
        sums[word.bucket] += int(word.sign)
    for bucket in range(dimensions):
        x = left + bucket * cell
        picture.box(x, 160, cell, 36, fill="#ffffff", edge=RULE)
        picture.text(x + cell / 2, 212, str(bucket), at="middle", colour=FAINT, size=11)
        if bucket in sums:
            colour = BLUE if sums[bucket] > 0 else RED if sums[bucket] < 0 else FAINT
            value = f"{sums[bucket]:+d}" if sums[bucket] else "0"
            picture.text(x + cell / 2, 183, value, at="middle", colour=colour, bold=True)
    picture.text(20, 236, "blue: sign +1, red: sign −1", colour=FAINT, size=12)
    return picture


def weights() -> Picture:
    """Draw a curve per word: its online IDF, which is its weight in a text that has no other."""
    words, documents = ("the", "wheat", "penalty", "quinoa"), 120
    vectors = HashedTfidf(dimensions=4096, norm="none")
    values: dict[str, list[float]] = {word: [] for word in words}
    for text, _ in islice(cycle(NEWS), documents):
        vectors.partial_fit([text])
        for word in words:
            values[word].append(abs(float(vectors.to_arrays([word]).weights[0])))
    picture = Picture("The weight of four words while a stream goes on", 760, 300)
    picture.text(20, 30, "ln((n+1) / (C+1)) after n documents, C of which had the word", bold=True)
    axes = Axes(picture, 60, 56, 580, 200, documents, 5.0)
    axes.frame(range(0, documents + 1, 20), range(6))
    for word, colour in zip(words, COLOURS, strict=True):
        curve = [axes.place(n, value) for n, value in enumerate(values[word], start=1)]
        picture.curve(curve, colour)
        x, y = curve[-1]
        picture.text(x + 8, y + 4, word, colour=colour)
    picture.text(350, 292, "documents", at="middle", size=11)
    return picture


def geometry() -> Picture:
    """Draw cosines before and after hashing; on the diagonal, hashing changes nothing."""
    count = 300
    sample = Sample((text for text, _ in Stream(documents=200, labels=8, seed=3)), idf=False)
    pairs = sample.pairs[:count]
    exact = sample.exact.products(pairs) / _lengths(sample.exact, pairs)
    picture = Picture("Cosines of pairs of documents, before and after hashing", 760, 300)
    picture.text(
        20, 30, f"cosines of {count} pairs of documents: exact (→) and hashed (↑)", bold=True
    )
    for panel, size in enumerate((5, 8, 11)):
        hashed = Hasher(2**size).hash_many(sample.texts)
        signed = Vectors(
            hashed.indptr, hashed.buckets.astype(np.int64), hashed.counts.astype(np.float64)
        )
        found = signed.products(pairs) / _lengths(signed, pairs)
        axes = Axes(picture, 50 + panel * 240, 70, 190, 190, 1.0, 1.0, low=-0.5)
        axes.frame((-0.5, 0, 0.5, 1), (-0.5, 0, 0.5, 1))
        picture.line(*axes.place(-0.5, -0.5), *axes.place(1, 1), colour=FAINT, dashes="4 3")
        picture.dots(axes.place(x, y) for x, y in zip(exact, found, strict=True))
        picture.text(145 + panel * 240, 60, f"{2**size:,} dimensions", at="middle", size=13)
    return picture


def _lengths(vectors: Vectors, pairs: np.ndarray) -> np.ndarray:
    squared = np.maximum(vectors.squared_lengths(), np.finfo(np.float64).tiny)
    return np.sqrt(squared[pairs].prod(axis=1))


BAR = 240  # the length of the value 1


def regions() -> Picture:
    """Draw Algorithm 1: cosines with all prototypes, label statistics of the nearest region."""
    model = Clasher(dimensions=4096, rule="centroid", threshold=0.5)
    for text, labels in NEWS:
        model.learn(text, labels)
    state, names = model._state, model.labels
    hashed = model.hash_many([DOCUMENT])
    work, words = memory.work_for(state, hashed), hashed.words
    length = weigh(
        state, model._setting, hashed.buckets, hashed.counts, words.places, words.keys, work
    )
    sums = memory.values(state, "rows", len(names))[0, hashed.buckets]
    products = work.x[: len(hashed.buckets)] @ sums * state.scales[: len(names)] / length
    cosines = dict(zip(names, products.tolist(), strict=True))
    region, predicted = model.explain(DOCUMENT).region, model.predict(DOCUMENT)
    fractions = model.probabilities(DOCUMENT)
    picture = Picture("The nearest prototype, and the labels of its region", 760, 270)
    picture.text(20, 30, f"“{DOCUMENT}”", bold=True)
    picture.text(20, 62, "1. cosine with each prototype: the nearest wins", size=13)
    picture.text(400, 62, f"2. of the documents of region {region}, so many had", size=13)
    for row, label in enumerate(sorted(cosines)):
        y, is_region = 80 + row * 34, label == region
        _bar(picture, 20, y, label, cosines[label], BLUE if is_region else RULE)
        _bar(picture, 400, y, label, fractions[label], GREEN if label in predicted else RULE)
    edge = 400 + 75 + BAR * 0.5
    picture.line(edge, 74, edge, 80 + len(cosines) * 34, colour=FAINT, dashes="4 3")
    picture.text(edge, 92 + len(cosines) * 34, "θ = ½", at="middle", size=12, colour=FAINT)
    labels = ", ".join(sorted(predicted))
    picture.text(20, 252, f"predicted: {labels}", colour=GREEN, bold=True)
    return picture


def _bar(picture: Picture, x: float, y: float, label: str, value: float, fill: str) -> None:
    picture.text(x + 68, y + 16, label, at="end", size=13)
    picture.box(x + 75, y + 2, max(BAR * value, 1), 20, fill=fill)
    picture.text(x + 81 + BAR * value, y + 17, f"{value:.2f}", size=12, colour=FAINT)


def learning() -> Picture:
    """Draw micro F1 of the last documents, test then train, one curve per rule."""
    documents, every = 6000, 250
    stream = Stream(documents=documents, labels=20, drift="sudden", seed=5)
    texts, labels = zip(*stream, strict=True)
    picture = Picture("Micro F1 of the four rules along a stream that changes", 760, 300)
    picture.text(
        20, 30, f"micro F1 of the last {4 * every:,} documents, test then train", bold=True
    )
    axes = Axes(picture, 60, 56, 580, 200, documents, 1.0)
    axes.frame(range(0, documents + 1, 1000), (0, 0.25, 0.5, 0.75, 1))
    change, _ = axes.place(stream.points[0], 0)
    picture.line(change, 56, change, 256, colour=FAINT, dashes="4 3")
    picture.text(change + 6, 250, "half of the labels are written about in other words", size=11)
    ends = []
    for rule, colour in zip(RULES, COLOURS, strict=True):
        model = Clasher(dimensions=16384, rule=rule)
        result = evaluate(model, [(texts, labels)], every=every, window=4)
        curve = [axes.place(p.documents, p.window.micro_f1) for p in result.curve]
        picture.curve(curve, colour)
        ends.append((curve[-1][1], rule, colour))
    lowest = 0.0
    for y, rule, colour in sorted(ends):  # names that would lie upon each other move apart
        lowest = max(y + 4, lowest + 15)
        picture.text(648, lowest, rule, colour=colour)
    picture.text(350, 292, "documents", at="middle", size=11)
    return picture


PICTURES = {draw.__name__: draw for draw in (buckets, weights, geometry, regions, learning)}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(str(draw()), encoding="utf-8")
        print(f"wrote docs/pictures/{name}.svg")
