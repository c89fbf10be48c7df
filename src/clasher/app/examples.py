"""Documents with the words that decided: chosen from a sample, told label by label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from clasher.app.sample import Document, Sample
from clasher.explain import Explanation
from clasher.hashing import Hasher
from clasher.io.records import Id
from clasher.model import Clasher

MOST_LABELS = 5  # told of a document
MOST_WORDS = 8  # listed for a label
SHOWN_CHARACTERS = 1500  # of a document
STRENGTHS = 5  # of a highlight
GOOD_LENGTH = range(120, SHOWN_CHARACTERS)  # of a document that is pleasant to read


class Piece(NamedTuple):
    """A stretch of text and how strongly it spoke, from −5 (against) over 0 to +5 (for)."""

    text: str
    strength: int


class Share(NamedTuple):
    """What a word, or what is not a word, added to the score; ``part`` is of the largest share."""

    name: str
    weight: float
    part: float
    is_word: bool


@dataclass(frozen=True)
class View:
    """A document as one of its labels sees it."""

    explanation: Explanation
    truth: bool | None
    pieces: list[Piece]
    shares: list[Share]

    @property
    def outcome(self) -> str:
        """``hit``, ``alarm`` (false), ``miss``, ``none``, or ``unknown`` where the truth is."""
        if self.truth is None:
            return "unknown"
        if self.explanation.predicted:
            return "hit" if self.truth else "alarm"
        return "miss" if self.truth else "none"


@dataclass(frozen=True)
class Example:
    """A document and its views, the labels it has and was given."""

    id: Id
    right: bool
    views: list[View]
    cut: int  # characters not shown


def examples(model: Clasher, sample: Sample, count: int = 6) -> list[Example]:
    """Explain a few documents of a sample: right and wrong ones, in turn, of varied labels.

    >>> from clasher.io import Batch, Fields
    >>> model, sample = Clasher(dimensions=1024), Sample()
    >>> texts, labels = ["crude oil prices", "gold and silver"] * 5, [["oil"], ["metal"]] * 5
    >>> sample.add(Batch.of(list(range(10)), texts, labels, Fields()))
    >>> model.learn_many(texts, labels)
    >>> example = examples(model, sample, count=1)[0]
    >>> example.right, example.views[0].outcome, example.views[0].pieces[0]
    (True, 'hit', Piece(text='crude', strength=5))
    """
    documents = sample.documents
    known = set(model.labels)
    predicted = model.predict_many([document.text for document in documents])
    right, wrong = [], []
    for document, labels in zip(documents, predicted, strict=True):
        shown = (document.true_labels | labels) & known
        if shown:
            told = all(document.truth(label) in (True, None) for label in labels)
            good = told and document.true_labels <= labels
            (right if good else wrong).append((document, shown))
    turns = _in_turn(_varied(right), _varied(wrong))
    return [
        explain_document(model, document, shown)
        for (document, shown), _ in zip(turns, range(count))  # noqa: B905
    ]


def explain_document(model: Clasher, document: Document, labels: set[str]) -> Example:
    """Tell a document by the labels it has and was given."""
    views = [_view(model, document, label) for label in sorted(labels)]
    order = ("hit", "alarm", "miss", "unknown", "none")
    views.sort(key=lambda view: (order.index(view.outcome), -view.explanation.score))
    right = all(view.outcome in ("hit", "unknown") for view in views)
    cut = max(0, len(document.text) - SHOWN_CHARACTERS)
    return Example(document.id, right, views[:MOST_LABELS], cut)


def _varied(
    documents: list[tuple[Document, set[str]]],
) -> Iterator[tuple[Document, set[str]]]:
    """The documents, first those of a good length, those with labels not yet shown before others."""
    met: set[str] = set()
    left = list(documents)
    while left:
        best = max(left, key=lambda pair: (len(pair[0].text) in GOOD_LENGTH, len(pair[1] - met)))
        left.remove(best)
        met |= best[1]
        yield best


def _in_turn(
    first: Iterator[tuple[Document, set[str]]], second: Iterator[tuple[Document, set[str]]]
) -> Iterator[tuple[Document, set[str]]]:
    """One of each while there are both, then the rest."""
    for one in first:
        yield one
        if (other := next(second, None)) is not None:
            yield other
    yield from second


def _view(model: Clasher, document: Document, label: str) -> View:
    explanation = model.explain(document.text, label)
    return View(
        explanation,
        document.truth(label),
        _pieces(model, document.text, explanation),
        _shares(explanation),
    )


def _pieces(model: Clasher, text: str, explanation: Explanation) -> list[Piece]:
    """The text in stretches of equal strength; where words overlap, the strongest shows."""
    settings = model.settings
    hasher = Hasher(settings.dimensions, settings.seed, settings.analyzer)
    weights = dict(explanation.words)
    largest = max((abs(weight) for weight in weights.values()), default=0.0) or 1.0
    strengths = [0] * len(text)
    for word in hasher.words(text):
        strength = round(STRENGTHS * weights.get(word.text, 0.0) / largest)
        for at in range(word.start, word.stop):
            strengths[at] = max(strengths[at], strength, key=abs)
    return _runs(text[:SHOWN_CHARACTERS], strengths)


def _runs(text: str, strengths: list[int]) -> list[Piece]:
    pieces = []
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or strengths[at] != strengths[start]:
            pieces.append(Piece(text[start:at], strengths[start]))
            start = at
    return pieces


def _shares(explanation: Explanation) -> list[Share]:
    """The weightiest words, the other words together, and what is not a word."""
    listed = explanation.words[:MOST_WORDS]
    rest = explanation.words[MOST_WORDS:]
    rows = [(word, weight, True) for word, weight in listed]
    if rest:
        rows.append((f"{len(rest)} other words", sum(weight for _, weight in rest), False))
    rows += [(name, weight, False) for name, weight in explanation.other.items()]
    largest = max((abs(weight) for _, weight, _ in rows), default=0.0) or 1.0
    return [Share(name, weight, abs(weight) / largest, word) for name, weight, word in rows]
