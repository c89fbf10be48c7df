"""Models of parts of a stream become the model of the whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher import memory
from clasher.adding import add
from clasher.errors import SettingError
from clasher.hashing import Hashed
from clasher.kernels.state import DOCUMENTS, FADED, State
from clasher.labels import LabelIndex, LabelSets
from clasher.parts import Parts
from clasher.settings import Settings
from clasher.text import Buffers


class Merging(Parts):
    """What a model can take over from others with the same settings."""

    def merge(self, other: Self) -> None:
        """Add all that another model has learnt, as if its stream had come after this one's.

        Exact, to float rounding, for the sketch, the prototypes and the statistics of regions;
        with ``weighting="tfidf"`` each model has weighed its documents with the frequencies of its
        own stream. The weights of ``margin`` and ``perceptron`` become means, each by how far it
        was learnt. Labels unite; ``other`` stays as it is.

        >>> from clasher import Clasher
        >>> one, other = Clasher(1024), Clasher(1024)
        >>> one.learn("wheat prices rise", {"grain"})
        >>> other.learn("crude oil prices fall", {"oil"})
        >>> one.merge(other)
        >>> one.documents, one.support
        (2, {'grain': 1, 'oil': 1})
        """
        if other is self:
            raise SettingError("a model cannot be merged with itself")
        _check_agreement(self.settings, other.settings)
        if other._state.totals.any():
            names = other._index.names
            self._state = add(self.settings, self._index, self._state, names, other._state)

    def _learn_in_threads(
        self, source: Hashed | Buffers, sets: LabelSets, threads: int
    ) -> list[tuple[slice, Hashed]]:
        """Learn parts of a stream side by side, each into a model of its own, and merge them.

        Every part begins with the document frequencies of those before it, so that each document
        is weighed as in a single pass. Returns which documents each part has, hashed.
        """
        bounds = _bounds(source.documents, threads)
        models = [self, *(self._fresh() for _ in bounds[1:])]
        with ThreadPoolExecutor(len(bounds)) as pool:
            hashed = list(pool.map(self._hashed, [source.part(*bound) for bound in bounds]))
            counted = list(pool.map(self._counted, hashed[:-1]))
            begun = [Sketch.of(self._state), *counted]
            starts = list(accumulate(begun, Sketch.plus))[1:]
            for model, start in zip(models[1:], starts, strict=True):
                start.put_into(model._state)
            list(pool.map(_learn, models, hashed, [sets[a:b] for a, b in bounds]))
        for model, start in zip(models[1:], starts, strict=True):
            start.take_out_of(model._state)
            self.merge(model)
        return [(slice(*bound), part) for bound, part in zip(bounds, hashed, strict=True)]

    def _fresh(self) -> Self:
        """A model with the same settings that has learnt nothing."""
        model = type(self).__new__(type(self))
        index = LabelIndex(self.settings.max_labels)
        model._set_up(self.settings, index, memory.allocate(self.settings))
        return model

    def _hashed(self, part: Hashed | Buffers) -> Hashed:
        return next(self._hasher.batches(part, part.documents))

    def _counted(self, hashed: Hashed) -> Sketch:
        """The words of some documents, counted."""
        model = self._fresh()
        _learn(model, hashed, LabelSets.unlabelled(hashed.documents))
        return Sketch.of(model._state)


class Sketch(NamedTuple):
    """How many documents there were, and how many with each bucket."""

    documents: int
    faded: float
    frequencies: npt.NDArray[np.float64]

    @classmethod
    def of(cls, state: State) -> Sketch:
        """The sketch of a state, as it is now."""
        faded = float(state.clock[FADED])
        return cls(int(state.totals[DOCUMENTS]), faded, state.frequencies.copy())

    def plus(self, other: Sketch) -> Sketch:
        """The sketch of both streams."""
        faded, frequencies = self.faded + other.faded, self.frequencies + other.frequencies
        return Sketch(self.documents + other.documents, faded, frequencies)

    def put_into(self, state: State) -> None:
        """Let an empty state begin here."""
        state.totals[DOCUMENTS] = self.documents
        state.clock[FADED] = self.faded
        state.frequencies[:] = self.frequencies

    def take_out_of(self, state: State) -> None:
        """Leave what was counted since."""
        state.totals[DOCUMENTS] -= self.documents
        state.clock[FADED] -= self.faded
        state.frequencies[:] -= self.frequencies
        state.seen[state.seen > 0] -= self.documents


def _bounds(documents: int, parts: int) -> list[tuple[int, int]]:
    """Cut so many documents into parts of about the same number, none of them empty.

    >>> _bounds(7, 3), _bounds(1, 2)
    ([(0, 2), (2, 4), (4, 7)], [(0, 1)])
    """
    cuts = [documents * part // parts for part in range(parts + 1)]
    return [(start, stop) for start, stop in pairwise(cuts) if stop > start]


def _check_agreement(mine: Settings, theirs: Settings) -> None:
    """Refuse different settings, naming the first difference."""
    for name in mine.differences(theirs):
        here, there = getattr(mine, name), getattr(theirs, name)
        if name == "analyzer":
            differing = (f.name for f in fields(here) if vars(here)[f.name] != vars(there)[f.name])
            inner = next(differing)
            name, here, there = f"analyzer's {inner}", vars(here)[inner], vars(there)[inner]
        raise SettingError(
            f"models merge when their settings agree: {name} is {here!r} here and {there!r} there"
        )


def _learn(model: Merging, hashed: Hashed, sets: LabelSets) -> None:
    model._step(hashed, sets, predicting=False)
