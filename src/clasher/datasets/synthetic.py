"""Streams of multi-label text with a known drift, to measure and test forgetting.

A document has one to three labels. Some of its words belong to them, the others are common words.
Labels, topical and common words follow Zipf's law, and words can be pronounced. The seed decides
everything, on every machine.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate

from clasher.errors import SettingError

DRIFTS = ("none", "sudden", "gradual", "recurring", "new-labels", "vanishing-labels")

COMMON = 4000  # common words
OWN = 24  # words of a label, before a change or after it
SHORT = 1000  # the most common words are short, as in every language
SHORTEST, LONGEST = 20, 80  # words of a document
TOPICAL = 0.2  # share of topical words
NUMBERS_OF_LABELS = (0.5, 0.85, 1.0)  # half of the documents have one, a third two
TOGETHER = 0.5  # how often the next label is the partner of the last one

_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def word(number: int) -> str:
    """Return the word of a number, of two or three syllables.

    >>> [word(n) for n in (0, 1, 2, 1000, 1001)]
    ['baba', 'liri', 'taku', 'bababa', 'keledu']
    """
    base = len(_SYLLABLES)
    syllables, step = (2, 1937) if number < SHORT else (3, 104729)
    left = (number if number < SHORT else number - SHORT) * step % base**syllables
    spelt = ""
    for _ in range(syllables):
        left, digit = divmod(left, base)
        spelt = _SYLLABLES[digit] + spelt
    return spelt


@dataclass(frozen=True)
class Stream:
    """A stream of (text, labels) pairs, the same each time it is iterated.

    Parameters
    ----------
    documents
        The number of documents.
    labels
        The number of labels, including those that appear later or vanish.
    drift
        ``none``; ``sudden``: at one document, half of the labels change their words, some of which
        another label had before; ``gradual``: the same, in more and more documents; ``recurring``:
        the same, back and forth; ``new-labels``: a third of the labels appear one by one;
        ``vanishing-labels``: a third of them disappear one by one.
    at
        The document at which the drift starts. None: half-way.
    width
        How many documents it takes, or lie between two of its turns. None: a tenth of all.
    seed
        The seed of all random choices.

    Examples
    --------
    >>> stream = Stream(documents=1000, labels=6, drift="sudden", seed=1)
    >>> text, labels = next(iter(stream))
    >>> text.split()[:4], labels
    (['mimo', 'kipe', 'rafane', 'sara'], ['topic003'])
    >>> stream.points, stream.changed
    ([500], ['topic000', 'topic002', 'topic004'])
    """

    documents: int = 10_000
    labels: int = 50
    drift: str = "sudden"
    at: int | None = None
    width: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {"documents": (1, 2**53), "labels": (1, 4096), "seed": (0, 2**63 - 1)}
        ranges |= {"at": (0, self.documents), "width": (1, 2**53)}
        for name, (least, most) in ranges.items():
            value, is_optional = getattr(self, name), name in ("at", "width")
            is_good = type(value) is int and least <= value <= most
            if not is_good and not (value is None and is_optional):
                wanted = f"{'None or ' if is_optional else ''}an integer from {least} to {most}"
                raise SettingError.of(name, wanted, value, "Stream")
        if self.drift not in DRIFTS:
            wanted = f"one of {', '.join(map(repr, DRIFTS))}"
            raise SettingError.of("drift", wanted, self.drift, "Stream")

    @property
    def points(self) -> list[int]:
        """The documents at which a change starts, or a label appears or vanishes."""
        if self.drift in ("sudden", "gradual"):
            return [self._start]
        if self.drift == "recurring":
            return list(range(self._start, self.documents, self._width))
        return sorted(set(self._turns.values()))

    @property
    def changed(self) -> list[str]:
        """The labels that change, appear or vanish."""
        is_change = self.drift in ("sudden", "gradual", "recurring")
        return [_name(label) for label in (range(0, self.labels, 2) if is_change else self._turns)]

    def __len__(self) -> int:
        return self.documents

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        draw = random.Random(self.seed).random  # the only method whose results never change
        for document in range(self.documents):
            topics = self._topics(document, draw)
            after = draw() < self._share_changed(document)
            length = SHORTEST + int(draw() * (LONGEST - SHORTEST + 1))
            words = [self._word(topics, after, draw) for _ in range(length)]
            yield " ".join(words), [_name(label) for label in sorted(topics)]

    @property
    def _start(self) -> int:
        return self.documents // 2 if self.at is None else self.at

    @property
    def _width(self) -> int:
        return max(1, self.documents // 10) if self.width is None else self.width

    @cached_property
    def _turns(self) -> dict[int, int]:
        """The document at which a label appears or vanishes."""
        if self.drift not in ("new-labels", "vanishing-labels"):
            return {}
        labels = range(2, self.labels, 3)  # every third, so that some are frequent
        return {
            label: min(self._start + place * self._width // len(labels), self.documents)
            for place, label in enumerate(labels)
        }

    def _topics(self, document: int, draw: Callable[[], float]) -> list[int]:
        """Draw one to three labels; replace an absent one by the label before it."""
        count = bisect_right(NUMBERS_OF_LABELS, draw()) + 1
        topics: list[int] = []
        for _ in range(count):
            label = _zipf(self.labels, draw())
            if topics and draw() < TOGETHER:
                label = min(topics[-1] ^ 1, self.labels - 1)
            turn = self._turns.get(label)
            if turn is not None and (document >= turn) != (self.drift == "new-labels"):
                label -= 1
            if label not in topics:
                topics.append(label)
        return topics

    def _share_changed(self, document: int) -> float:
        """Return the probability that a document uses the new words."""
        since = document - self._start
        if since < 0 or self.drift not in ("sudden", "gradual", "recurring"):
            return 0.0
        if self.drift == "gradual":
            return min(1.0, since / self._width)
        return 1.0 if self.drift == "sudden" or since // self._width % 2 == 0 else 0.0

    def _word(self, topics: list[int], after: bool, draw: Callable[[], float]) -> str:
        if draw() >= TOPICAL:
            return word(_zipf(COMMON, draw()))
        label = topics[int(draw() * len(topics))]
        place = _zipf(OWN, draw())
        if after and label % 2 == 0:
            if place % 2:  # a new word
                return word(COMMON + (self.labels + label) * OWN + place)
            label = (label + 2) % (self.labels + self.labels % 2)  # a word of another label
        return word(COMMON + label * OWN + place)


def _name(label: int) -> str:
    return f"topic{label:03}"


@cache
def _heights(size: int) -> list[float]:
    """Return cumulative probabilities proportional to 1 / (i + 1)."""
    heights = list(accumulate(1.0 / (i + 1) for i in range(size)))
    return [height / heights[-1] for height in heights]


def _zipf(size: int, draw: float) -> int:
    return min(bisect_right(_heights(size), draw), size - 1)
