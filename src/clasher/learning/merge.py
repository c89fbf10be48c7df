"""Models of parts of a stream become the model of the whole.

State adds: how each array of two models becomes that of one.

Sums add up, and are those of a single model that had seen both streams. What was learnt step by
step is no sum: it becomes a mean, weighted by how far it was learnt on either side (the root of
the AdaGrad sum of each weight; the perceptron has none, and goes by the documents of the label).
Places in the stream count as if the other stream had come after this one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import accumulate, pairwise
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError
from clasher.kernels.classes import look_again
from clasher.kernels.fading import settle
from clasher.kernels.margin import EARLY, EVERY, best_cut, best_floor, calibrate
from clasher.kernels.merge import (
    add_columns,
    blend_columns,
    blend_learnt,
    blend_weights,
    sum_squares,
)
from clasher.kernels.regions import halve
from clasher.kernels.rules import COUNT_LIMIT
from clasher.kernels.state import DOCUMENTS, FADED, LABELLED, LABELS, NOW, State
from clasher.labels import LabelIndex, LabelSets
from clasher.learning import memory, relabel
from clasher.learning.explain import merge_words
from clasher.learning.late_labels import DROPPED, put, waiting
from clasher.learning.parts import Parts
from clasher.settings import Settings
from clasher.text.hashing import Hashed
from clasher.text.tokens import Buffers

MOST_HALF_LIVES = 900.0  # what is older does not count, and float64 ends a little further

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Pair(NamedTuple):
    """Two states: ``theirs`` is added to ``mine``, label ``kept[i]`` to label ``places[i]``."""

    mine: State
    theirs: State
    kept: Numbers
    places: Numbers
    shares: Floats  # how much of each of these labels is theirs, by documents
    share: float  # how much of all labelled documents is theirs
    before: int  # documents that came before theirs
    measure: int  # what the weighting asks of labels


Rules: TypeAlias = dict[str, Callable[[Pair], None]]


def add(
    settings: Settings,
    index: LabelIndex,
    mine: State,
    names: list[str],
    theirs: State,
    rules: Rules | None = None,
) -> State:
    """Add ``theirs``, whose labels are ``names``, to ``mine``; returns it, grown if need be.

    ``rules`` say how each array is added, ``MERGES`` where none are given.
    """
    kept = list(range(len(names)))
    if settings.on_full == "evict":
        kept = _make_room(settings, index, mine, names, theirs)
    else:
        indptr = np.array([0, len(names)], np.int64)
        index.check(LabelSets(names, np.arange(len(names), dtype=np.int32), indptr))
    new = [names[number] for number in kept if names[number] not in index.numbers]
    mine = memory.grow(mine, settings, len(index) + len(new))  # may fail: names come after
    index.extend(new)
    theirs = _as_if_after(mine, theirs, settings)
    places = [index.numbers[names[number]] for number in kept]
    pair = _pair(mine, theirs, kept, places, settings.for_kernels().measure)
    mine.totals[LABELS] = len(index)
    for merge in (MERGES if rules is None else rules).values():
        merge(pair)
    for label in pair.places:
        while mine.counts[label] >= COUNT_LIMIT and mine.together.size:
            halve(mine, label)
    return mine


def _as_if_after(mine: State, theirs: State, settings: Settings) -> State:
    """Fade ``mine`` by the time that ``theirs`` took, and count both in whole documents."""
    if settings.half_life is not None:
        half_lives = float(theirs.totals[DOCUMENTS]) / settings.half_life
        mine.clock[NOW] *= 2.0 ** min(half_lives, MOST_HALF_LIVES)
    for state in (mine, theirs):
        if state.clock[NOW] != 1.0 or np.any(state.gains != 1.0):
            if state is theirs:
                theirs = state = State(*(array.copy() for array in theirs))
            settle(state)
    return theirs


def _make_room(
    settings: Settings, index: LabelIndex, mine: State, names: list[str], theirs: State
) -> list[int]:
    """Retire the longest unseen labels of both, down to ``max_labels``; returns those of theirs."""
    before = int(mine.totals[DOCUMENTS])
    seen = {name: int(mine.seen[number]) for number, name in enumerate(index.names)}
    for number, name in enumerate(names):
        theirs_seen = int(theirs.seen[number])
        seen[name] = before + theirs_seen if theirs_seen else seen.get(name, 0)
    oldest = sorted(seen, key=lambda name: seen[name])
    given_up = set(oldest[: max(0, len(seen) - settings.max_labels)])
    for name in given_up & index.numbers.keys():
        relabel.retire(mine, index, index.numbers[name], settings)
    return [number for number, name in enumerate(names) if name not in given_up]


def _pair(mine: State, theirs: State, kept: list[int], places: list[int], measure: int) -> Pair:
    ours, others = np.array(places, np.int64), np.array(kept, np.int64)
    here, there = mine.counts[ours], theirs.counts[others]
    known = here + there > 0
    shares = np.divide(there, here + there, out=np.full(len(ours), 0.5), where=known)
    labelled = int(theirs.totals[LABELLED])
    share = labelled / max(1, labelled + int(mine.totals[LABELLED]))
    return Pair(mine, theirs, others, ours, shares, share, int(mine.totals[DOCUMENTS]), measure)


# ── array by array ───────────────────────────────────────────────────────────────────────────────


def _totals(pair: Pair) -> None:
    pair.mine.totals[:LABELS] += pair.theirs.totals[:LABELS]


def _frequencies(pair: Pair) -> None:
    pair.mine.frequencies[:] += pair.theirs.frequencies


def _rows(pair: Pair) -> None:
    """The first layer are sums, but for the perceptron; the second are weights."""
    mine, theirs = pair.mine, pair.theirs
    if mine.together.size:
        add_columns(mine.rows[:, 0], theirs.rows[:, 0], pair.kept, pair.places)
    else:
        blend_columns(mine.rows[:, 0], theirs.rows[:, 0], pair.kept, pair.places, pair.shares)
    if mine.squares.size:
        blend_weights(
            mine.rows[:, 1], theirs.rows[:, 1], mine.squares, theirs.squares,
            _parts(mine), _parts(theirs), pair.kept, pair.places,
        )  # fmt: skip


def _parts(state: State) -> Floats:
    """How much of the AdaGrad sum of any bucket belongs to each label."""
    sums: Floats = state.bias[1]
    parts: Floats = sums / max(float(sums.sum()), 1e-300)
    return parts


def _counts(pair: Pair) -> None:
    pair.mine.counts[pair.places] += pair.theirs.counts[pair.kept]


def _norms(pair: Pair) -> None:
    """From the merged sums, so that they do not drift."""
    if pair.mine.together.size:
        sum_squares(pair.mine.rows[:, 0], pair.places, pair.mine.norms)


def _scales(pair: Pair) -> None:
    norms = pair.mine.norms
    roots = np.sqrt(norms, out=np.ones_like(norms), where=norms > 0.0)
    pair.mine.scales[:] = np.where(norms > 0.0, 1.0 / roots, 0.0)


def _together(pair: Pair) -> None:
    if pair.mine.together.size:
        there = pair.theirs.together[np.ix_(pair.kept, pair.kept)]
        pair.mine.together[np.ix_(pair.places, pair.places)] += there


def _seen(pair: Pair) -> None:
    there = pair.theirs.seen[pair.kept]
    here = pair.mine.seen[pair.places]
    pair.mine.seen[pair.places] = np.where(there > 0, pair.before + there, here)


def _squares(pair: Pair) -> None:
    pair.mine.squares[:] += pair.theirs.squares


def _bias(pair: Pair) -> None:
    mine, theirs = pair.mine.bias, pair.theirs.bias
    if pair.mine.squares.size:
        _steps(mine, theirs, pair.kept, pair.places)
    else:
        blend_columns(mine[:1], theirs[:1], pair.kept, pair.places, pair.shares)


def _shared(pair: Pair) -> None:
    every = np.arange(pair.mine.shared.shape[1])
    _steps(pair.mine.shared, pair.theirs.shared, every, every)


def _steps(mine: Floats, theirs: Floats, kept: Numbers, places: Numbers) -> None:
    """Values in the first row, their AdaGrad sums in the second."""
    blend_learnt(mine[:1], theirs[:1], mine[1:], theirs[1:], kept, places)
    add_columns(mine[1:], theirs[1:], kept, places)


def _margins(pair: Pair) -> None:
    pair.mine.margins[:] += pair.theirs.margins


def _cut(pair: Pair) -> None:
    """Chosen anew from the merged histograms, once there is enough to choose from."""
    mean = pair.mine.cut[0] + pair.share * (pair.theirs.cut[0] - pair.mine.cut[0])
    enough = pair.share and pair.mine.totals[LABELLED] >= EVERY
    pair.mine.cut[0] = best_cut(pair.mine.margins, mean) if enough else mean


def _bests(pair: Pair) -> None:
    pair.mine.bests[:] += pair.theirs.bests


def _floor(pair: Pair) -> None:
    """Choose it from the merged histograms."""
    if pair.share:
        pair.mine.floor[0] = best_floor(pair.mine.bests)


def _odds(pair: Pair) -> None:
    """Fitted anew to the merged histograms, once there is enough to fit to."""
    mine = pair.mine
    mine.odds[:] += pair.share * (pair.theirs.odds - mine.odds)
    if mine.squares.size and pair.share and mine.totals[LABELLED] >= EARLY:
        calibrate(mine.margins, mine.odds)


def _late(pair: Pair) -> None:
    """Both wait on, the oldest of too many being dropped."""
    if pair.mine.late_marks.size:
        for document in waiting(pair.theirs):
            put(pair.mine, document)
        pair.mine.late_marks[DROPPED] += pair.theirs.late_marks[DROPPED]


def _classes(pair: Pair) -> None:
    if pair.mine.classes.size:
        add_columns(pair.mine.classes, pair.theirs.classes, pair.kept, pair.places)


def _members(pair: Pair) -> None:
    if pair.mine.members.size:
        add_columns(pair.mine.members, pair.theirs.members, pair.kept, pair.places)


def _terms(pair: Pair) -> None:
    """Words were seen in both streams; what their labels tell follows from those."""
    if pair.mine.terms.size:
        pair.mine.terms[0] += pair.theirs.terms[0]
        look_again(pair.mine, pair.measure)


def _words(pair: Pair) -> None:
    merge_words(pair.mine, pair.theirs)


def _clock(pair: Pair) -> None:
    pair.mine.clock[FADED] += pair.theirs.clock[FADED]


def _gains(_: Pair) -> None:
    """All one on either side by now."""


def _blocks(pair: Pair) -> None:
    """Errors of another model tell nothing of this one's: its own record goes on."""


def _with_another(_: Pair) -> None:
    """Merged along with another array."""


MERGES: Rules = {
    "totals": _totals,
    "frequencies": _frequencies,
    "rows": _rows,
    "counts": _counts,
    "norms": _norms,
    "scales": _scales,
    "together": _together,
    "seen": _seen,
    "squares": _squares,
    "bias": _bias,
    "shared": _shared,
    "margins": _margins,
    "cut": _cut,
    "bests": _bests,
    "floor": _floor,
    "odds": _odds,
    "classes": _classes,
    "members": _members,
    "terms": _terms,
    "late_keys": _with_another,
    "late_spans": _with_another,
    "late_buckets": _with_another,
    "late_counts": _with_another,
    "late_marks": _late,
    "word_keys": _with_another,
    "word_votes": _with_another,
    "words": _words,
    "clock": _clock,
    "gains": _gains,
    "blocks": _blocks,
    "all_blocks": _blocks,
    "recent_buckets": _blocks,
    "recent_x": _blocks,
    "recent_labels": _blocks,
}
"""How each array of the state is merged, in this order: what is derived comes after its source."""


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
