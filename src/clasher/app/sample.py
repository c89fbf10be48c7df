"""A few documents of a stream, kept to be looked at when it has ended."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from clasher.io.records import Batch, Id
from clasher.label_columns import UNLABELLED
from clasher.labels import LabelSets


class Document(NamedTuple):
    """A document and what is known of its labels: all of them, or those of a mapping."""

    id: Id
    text: str
    labels: frozenset[str] | Mapping[str, bool]

    def truth(self, label: str) -> bool | None:
        """Whether the label is true of the document; None where that is unknown."""
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
    """Keeps a few documents of a stream, each with the same chance, in bounded memory.

    Every document draws a number from a seeded generator, the lowest ones stay: the same stream
    gives the same sample, however it is cut into batches.

    Parameters
    ----------
    size
        Documents to keep.
    seed
        Of the generator.
    longest
        Documents of more characters are passed over.
    labelled
        Whether those without labels are passed over too.

    Examples
    --------
    >>> from clasher.io import Batch, Fields
    >>> sample = Sample(size=2)
    >>> batch = Batch.of([1, 2, 3], ["oil", "gold", "corn"], [["a"], None, ["b"]], Fields())
    >>> for texts, labels in sample.watch([batch]):
    ...     pass  # learn from them
    >>> [(document.id, set(document.labels)) for document in sample.documents]
    [(1, {'a'}), (3, {'b'})]
    """

    def __init__(
        self, size: int = 64, *, seed: int = 0, longest: int = 10_000, labelled: bool = True
    ) -> None:
        self.size = size
        self.longest = longest
        self.labelled = labelled
        self._random = np.random.default_rng(seed)
        self._met = 0
        self._kept: list[tuple[float, int, Document]] = []  # a heap, the first to go on top

    def watch(self, batches: Iterable[Batch]) -> Iterator[tuple[Any, LabelSets]]:
        """Look at batches as they pass by, as pairs (texts, labels) for ``evaluate``."""
        for batch in batches:
            self.add(batch)
            yield batch.texts, batch.labels

    def add(self, batch: Batch) -> None:
        """Consider the documents of a batch."""
        draws = self._random.random(len(batch))
        drawn = draws < -self._kept[0][0] if len(self._kept) == self.size else draws < 1
        if self.labelled:
            drawn &= batch.labels.known != UNLABELLED
        for at in np.flatnonzero(drawn).tolist():
            text = batch.texts[at].as_py()
            if text and len(text) <= self.longest:
                document = Document(batch.ids[at], text, _labels(batch.labels, at))
                entry = (-float(draws[at]), self._met + at, document)
                if len(self._kept) < self.size:
                    heapq.heappush(self._kept, entry)
                else:
                    heapq.heappushpop(self._kept, entry)
        self._met += len(batch)

    @property
    def documents(self) -> list[Document]:
        """The documents kept, in the order of the stream."""
        return [document for _, _, document in sorted(self._kept, key=lambda entry: entry[1])]


def _labels(sets: LabelSets, at: int) -> frozenset[str] | Mapping[str, bool]:
    given = sets.as_given(at)
    return given if isinstance(given, Mapping) else frozenset(given or ())
