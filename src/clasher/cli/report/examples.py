"""Sample documents of a stream, and explain a few of them label by label."""

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby, islice, zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clasher.io.records import Batch, Id
from clasher.labels import UNLABELLED, LabelSets
from clasher.learning.explain import Explanation
from clasher.model import Clasher
from clasher.text.hashing import Hasher


class Document(NamedTuple):
    """A document; a mapping says which labels are known to be true or false."""

    id: Id
    text: str
    labels: frozenset[str] | Mapping[str, bool]

    def truth(self, label: str) -> bool | None:
        """Whether the document has the label; None if unknown."""
        if isinstance(self.labels, Mapping):
            return self.labels.get(label)
        return label in self.labels

    @property
    def true_labels(self) -> set[str]:
        """The labels known to be true."""
        if isinstance(self.labels, Mapping):
            return {label for label, state in self.labels.items() if state}
        return set(self.labels)


class Sample:
    """A uniform random sample of a stream, in bounded memory.

    Every document draws a number from a seeded generator and the lowest stay: the same stream
    gives the same sample, whatever the batches. Documents of more than ``longest`` characters are
    skipped, and, if ``labelled``, documents without labels.
    """

    def __init__(
        self, size: int = 64, *, seed: int = 0, longest: int = 10_000, labelled: bool = True
    ) -> None:
        self.size = size
        self.longest = longest
        self.labelled = labelled
        self._random = np.random.default_rng(seed)
        self._seen = 0
        self._kept: list[tuple[float, int, Document]] = []  # a heap: the next to drop is first

    def watch(self, batches: Iterable[Batch]) -> Iterator[tuple[Any, LabelSets]]:
        """Yield batches as pairs (texts, labels) for ``evaluate``, sampling them on the way."""
        for batch in batches:
            self.add(batch)
            yield batch.texts, batch.labels

    def add(self, batch: Batch) -> None:
        """Sample from a batch."""
        draws = self._random.random(len(batch))
        drawn = draws < -self._kept[0][0] if len(self._kept) == self.size else draws < 1
        if self.labelled:
            drawn &= batch.labels.known != UNLABELLED
        for at in np.flatnonzero(drawn).tolist():
            text = batch.texts[at].as_py()
            if text and len(text) <= self.longest:
                given = batch.labels.as_given(at)
                labels = given if isinstance(given, Mapping) else frozenset(given or ())
                document = Document(batch.ids[at], text, labels)
                entry = (-float(draws[at]), self._seen + at, document)
                if len(self._kept) < self.size:
                    heapq.heappush(self._kept, entry)
                else:
                    heapq.heappushpop(self._kept, entry)
        self._seen += len(batch)

    @property
    def documents(self) -> list[Document]:
        """The sampled documents, in the order of the stream."""
        return [document for _, _, document in sorted(self._kept, key=lambda entry: entry[1])]


MOST_LABELS = 5  # explained for a document
MOST_WORDS = 8  # listed for a label
SHOWN_CHARACTERS = 1500  # of a document
STRENGTHS = 5  # of a highlight
WEAKEST = 0.15  # the least share of the largest weight to highlight
WEAKEST_LISTED = 0.02
GOOD_LENGTH = range(100, SHOWN_CHARACTERS)  # characters of a readable document
GOOD_PROSE = 0.9  # its least share of letters, spaces and punctuation


_Candidate: TypeAlias = tuple[Document, set[str], bool]  # with known labels; predicted right?


class Piece(NamedTuple):
    """A piece of text and its strength, from −5 (against) to +5 (for)."""

    text: str
    strength: int


class Share(NamedTuple):
    """The evidence of a word or another cause; ``part`` is relative to the largest share."""

    name: str
    evidence: float
    part: float
    is_word: bool


class View(NamedTuple):
    """The explanation of one label of a document."""

    explanation: Explanation
    truth: bool | None
    pieces: list[Piece]
    shares: list[Share]

    @property
    def outcome(self) -> str:
        """``hit``, ``alarm`` (a false one), ``miss`` or ``unknown``."""
        if self.truth is None:
            return "unknown"
        if self.truth:
            return "hit" if self.explanation.predicted else "miss"
        return "alarm"


class Example(NamedTuple):
    """A document and the views of its true and predicted labels."""

    id: Id
    right: bool
    views: list[View]
    cut: int  # characters not shown


def examples(model: Clasher, sample: Sample, count: int = 6) -> list[Example]:
    """Explain a few documents of a sample: right and wrong ones in turn, with varied labels."""
    documents, known = sample.documents, set(model.labels)
    candidates: dict[bool, list[_Candidate]] = {True: [], False: []}
    predicted = model.predict_many([document.text for document in documents])
    for document, labels in zip(documents, predicted, strict=True):
        false_alarm = any(document.truth(label) is False for label in labels)
        right = not false_alarm and document.true_labels <= labels
        if shown := (document.true_labels | labels) & known:
            candidates[right].append((document, shown, right))
    pairs = zip_longest(_varied(candidates[True]), _varied(candidates[False]))
    chosen = islice(filter(None, chain.from_iterable(pairs)), count)
    settings = model.settings
    hasher = Hasher(settings.dimensions, settings.seed, settings.analyzer)
    return [_explained(model, hasher, *candidate) for candidate in chosen]


def _varied(left: list[_Candidate]) -> Iterator[_Candidate]:
    """Yield the candidates, readable ones first, then those with labels not shown yet."""
    met: set[str] = set()
    while left:
        best = max(left, key=lambda one: (_is_readable(one[0].text), len(one[1] - met)))
        left.remove(best)
        met |= best[1]
        yield best


def _is_readable(text: str) -> bool:
    """Whether a text is neither short nor long, and prose rather than a table."""
    if len(text) not in GOOD_LENGTH:
        return False
    prose = sum(character.isalpha() or character in " ,.\n" for character in text)
    return prose >= GOOD_PROSE * len(text)


def _explained(
    model: Clasher, hasher: Hasher, document: Document, labels: set[str], right: bool
) -> Example:
    views = []
    for label in sorted(labels):
        explanation = model.explain(document.text, label)
        pieces = _pieces(hasher, document.text, explanation)
        views.append(View(explanation, document.truth(label), pieces, _shares(explanation)))
    order = ("alarm", "miss", "hit", "unknown")
    views.sort(key=lambda view: (order.index(view.outcome), -view.explanation.probability))
    cut = max(0, len(document.text) - SHOWN_CHARACTERS)
    return Example(document.id, right, views[:MOST_LABELS], cut)


def _pieces(hasher: Hasher, text: str, explanation: Explanation) -> list[Piece]:
    """Cut the text into pieces of equal strength; the strongest of overlapping words shows."""
    weights = dict(explanation.words)
    largest = max((abs(weight) for weight in weights.values()), default=0.0) or 1.0
    strengths = [0] * len(text)
    for word in hasher.words(text):
        part = weights.get(word.text, 0.0) / largest
        size = math.ceil(STRENGTHS * abs(part)) if abs(part) >= WEAKEST else 0
        strength = size if part > 0 else -size
        for at in range(word.start, word.stop):
            strengths[at] = max(strengths[at], strength, key=abs)
    shown = zip(text[:SHOWN_CHARACTERS], strengths, strict=False)
    runs = groupby(shown, key=lambda pair: pair[1])
    return [Piece("".join(character for character, _ in run), size) for size, run in runs]


def _shares(explanation: Explanation) -> list[Share]:
    """Return the strongest words, the sum of the others, and causes that are not words."""
    words = explanation.words
    least = WEAKEST_LISTED * abs(words[0].evidence) if words else 0.0
    listed = [pair for pair in words[:MOST_WORDS] if abs(pair.evidence) > least]
    rest = words[len(listed) :]
    rows = [(word, weight, True) for word, weight in listed]
    if rest:
        rows.append((f"{len(rest)} other words", sum(weight for _, weight in rest), False))
    rows += [(name, weight, False) for name, weight in explanation.other.items()]
    largest = max((abs(weight) for _, weight, _ in rows), default=0.0) or 1.0
    return [Share(name, weight, abs(weight) / largest, word) for name, weight, word in rows]
