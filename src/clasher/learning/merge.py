"""Merge models of parts of a stream into the model of the whole.

Sums add up: the result is that of a single model that saw both streams. Weights that were learnt
step by step become means, weighted by how far each side learnt them (the root of the AdaGrad sum of
each weight; the perceptron has none and uses the documents of the label). Positions in the stream
count as if the other stream came after this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError
from clasher.kernels.classes import look_again
from clasher.kernels.decay import settle
from clasher.kernels.margin import EARLY, EVERY, FADE, best_cut, best_floor, calibrate
from clasher.kernels.merge import (
    add_columns,
    blend_columns,
    blend_learnt,
    blend_weights,
    sum_squares,
)
from clasher.kernels.regions import halve
from clasher.kernels.rules import COUNT_LIMIT
from clasher.kernels.scan import merge_votes
from clasher.kernels.state import DOCUMENTS, FADED, LABELLED, LABELS, NOW, State
from clasher.labels import LabelIndex, LabelSets
from clasher.learning import memory, relabel
from clasher.learning.late_labels import DROPPED, put, waiting
from clasher.settings import Settings

MOST_HALF_LIVES = 900.0  # older documents count nothing, and float64 ends a little further

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Sketch(NamedTuple):
    """How many documents were counted, and how many of them have each bucket."""

    documents: int
    faded: float
    frequencies: Floats

    @classmethod
    def of(cls, state: State) -> Sketch:
        faded = float(state.clock[FADED])
        return cls(int(state.totals[DOCUMENTS]), faded, state.frequencies.copy())

    def plus(self, other: Sketch) -> Sketch:
        faded, frequencies = self.faded + other.faded, self.frequencies + other.frequencies
        return Sketch(self.documents + other.documents, faded, frequencies)

    def put_into(self, state: State) -> None:
        state.totals[DOCUMENTS] = self.documents
        state.clock[FADED] = self.faded
        state.frequencies[:] = self.frequencies

    def take_out_of(self, state: State) -> None:
        """Subtract this sketch: leave what was counted since."""
        state.totals[DOCUMENTS] -= self.documents
        state.clock[FADED] -= self.faded
        state.frequencies[:] -= self.frequencies
        state.seen[state.seen > 0] -= self.documents


class Pair(NamedTuple):
    """Two states: ``theirs`` is added to ``mine``, label ``kept[i]`` to label ``places[i]``."""

    mine: State
    theirs: State
    kept: Numbers
    places: Numbers
    shares: Floats  # their share of the documents of each of these labels
    share: float  # their share of all labelled documents
    before: int  # documents before theirs
    measure: int  # of the weighting


Rules: TypeAlias = dict[str, Callable[[Pair], None]]


def check_settings(mine: Settings, theirs: Settings) -> None:
    """Refuse to merge models of different settings; name the first difference."""
    differences = mine.differences(theirs)
    for name in sorted(differences, key="analyzer".__eq__):  # last: it may follow from the rule
        here, there = getattr(mine, name), getattr(theirs, name)
        if name == "analyzer":
            differing = (f.name for f in fields(here) if vars(here)[f.name] != vars(there)[f.name])
            inner = next(differing)
            name, here, there = f"analyzer's {inner}", vars(here)[inner], vars(there)[inner]
        raise SettingError(
            f"models merge when their settings agree: {name} is {here!r} here and {there!r} there"
        )


def bounds(documents: int, parts: int) -> list[tuple[int, int]]:
    """Cut documents into parts of about equal size, none of them empty."""
    cuts = [documents * part // parts for part in range(parts + 1)]
    return [(start, stop) for start, stop in pairwise(cuts) if stop > start]


def add(
    settings: Settings,
    index: LabelIndex,
    mine: State,
    names: list[str],
    theirs: State,
    rules: Rules,
) -> State:
    """Add ``theirs``, whose labels are ``names``, to ``mine``; return it, grown if need be.

    ``rules`` are ``MODELS``, or ``DIFFERENCES`` if theirs is what a part of a stream added to mine.
    """
    kept = list(range(len(names)))
    if settings.on_full == "evict":
        kept = _make_room(settings, index, mine, names, theirs)
    else:
        indptr = np.array([0, len(names)], np.int64)
        index.check(LabelSets(names, np.arange(len(names), dtype=np.int32), indptr))
    new = [names[number] for number in kept if names[number] not in index.numbers]
    mine = memory.grow(mine, settings, len(index) + len(new))  # may fail, so before the names
    index.extend(new)
    if settings.half_life is not None:  # mine fade by the time that theirs took
        half_lives = float(theirs.totals[DOCUMENTS]) / settings.half_life
        mine.clock[NOW] *= 2.0 ** min(half_lives, MOST_HALF_LIVES)
    if _is_faded(mine):
        settle(mine)
    if _is_faded(theirs):
        theirs = memory.copy(theirs)
        settle(theirs)
    places = np.array([index.numbers[names[number]] for number in kept], np.int64)
    here, there = mine.counts[places], theirs.counts[kept]
    known = here + there > 0
    shares = np.divide(there, here + there, out=np.full(len(places), 0.5), where=known)
    labelled = int(theirs.totals[LABELLED])
    share = labelled / max(1, labelled + int(mine.totals[LABELLED]))
    before, measure = int(mine.totals[DOCUMENTS]), settings.for_kernels().measure
    pair = Pair(mine, theirs, np.array(kept, np.int64), places, shares, share, before, measure)
    mine.totals[LABELS] = len(index)
    for merge in rules.values():
        merge(pair)
    for label in pair.places:
        while mine.counts[label] >= COUNT_LIMIT and mine.together.size:
            halve(mine, label)
    return mine


def _is_faded(state: State) -> bool:
    return bool(state.clock[NOW] != 1.0 or np.any(state.gains != 1.0))


def _make_room(
    settings: Settings, index: LabelIndex, mine: State, names: list[str], theirs: State
) -> list[int]:
    """Retire the longest unseen labels of both, down to ``max_labels``; return theirs that stay."""
    before = int(mine.totals[DOCUMENTS])
    seen = {name: int(mine.seen[number]) for number, name in enumerate(index.names)}
    for number, name in enumerate(names):
        theirs_seen = int(theirs.seen[number])
        seen[name] = before + theirs_seen if theirs_seen else seen.get(name, 0)
    oldest = sorted(seen, key=lambda name: seen[name])
    dropped = set(oldest[: max(0, len(seen) - settings.max_labels)])
    for name in dropped & index.numbers.keys():
        relabel.retire(mine, index, index.numbers[name], settings)
    return [number for number, name in enumerate(names) if name not in dropped]


# ── one rule per array ───────────────────────────────────────────────────────────────────────────


def _sum_of(name: str) -> Callable[[Pair], None]:
    def add_up(pair: Pair) -> None:
        getattr(pair.mine, name)[:] += getattr(pair.theirs, name)

    return add_up


def _columns_of(name: str) -> Callable[[Pair], None]:
    def add_up(pair: Pair) -> None:
        mine, theirs = getattr(pair.mine, name), getattr(pair.theirs, name)
        if mine.size:
            add_columns(mine, theirs, pair.kept, pair.places)

    return add_up


def _totals(pair: Pair) -> None:
    pair.mine.totals[:LABELS] += pair.theirs.totals[:LABELS]
    pair.mine.counts[pair.places] += pair.theirs.counts[pair.kept]
    pair.mine.clock[FADED] += pair.theirs.clock[FADED]


def _rows(pair: Pair) -> None:
    """Add the first layer (blend it for the perceptron); blend the weights in the second."""
    mine, theirs = pair.mine, pair.theirs
    if mine.together.size:
        add_columns(mine.rows[:, 0], theirs.rows[:, 0], pair.kept, pair.places)
    else:
        blend_columns(mine.rows[:, 0], theirs.rows[:, 0], pair.kept, pair.places, pair.shares)
    if mine.squares.size:
        blend_weights(
            mine.rows[:, 1], theirs.rows[:, 1], mine.squares, theirs.squares,
            _label_shares(mine), _label_shares(theirs), pair.kept, pair.places,
        )  # fmt: skip


def _label_shares(state: State) -> Floats:
    """Estimate the share of each label in the AdaGrad sum of any bucket."""
    sums: Floats = state.bias[1]
    return np.asarray(sums / max(float(sums.sum()), 1e-300))


def _norms(pair: Pair) -> None:
    """Recompute them from the merged sums, so that they do not drift."""
    norms = pair.mine.norms
    if pair.mine.together.size:
        sum_squares(pair.mine.rows[:, 0], pair.places, norms)
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


def _bias(pair: Pair) -> None:
    mine, theirs = pair.mine.bias, pair.theirs.bias
    if pair.mine.squares.size:
        _blend_steps(mine, theirs, pair.kept, pair.places)
    else:
        blend_columns(mine[:1], theirs[:1], pair.kept, pair.places, pair.shares)


def _shared(pair: Pair) -> None:
    every = np.arange(pair.mine.shared.shape[1])
    _blend_steps(pair.mine.shared, pair.theirs.shared, every, every)


def _blend_steps(mine: Floats, theirs: Floats, kept: Numbers, places: Numbers) -> None:
    """Blend the values in the first row by the AdaGrad sums in the second, which add up."""
    blend_learnt(mine[:1], theirs[:1], mine[1:], theirs[1:], kept, places)
    add_columns(mine[1:], theirs[1:], kept, places)


def _cut(pair: Pair) -> None:
    """Choose the threshold from the merged histograms if they hold enough, else average."""
    mean = pair.mine.cut[0] + pair.share * (pair.theirs.cut[0] - pair.mine.cut[0])
    enough = pair.share and pair.mine.totals[LABELLED] >= EVERY
    pair.mine.cut[0] = best_cut(pair.mine.margins, mean) if enough else mean


def _floor(pair: Pair) -> None:
    if pair.share:
        pair.mine.floor[0] = best_floor(pair.mine.bests)


def _odds(pair: Pair) -> None:
    mine = pair.mine
    mine.odds[:] += pair.share * (pair.theirs.odds - mine.odds)
    if mine.squares.size and pair.share and mine.totals[LABELLED] >= EARLY:
        calibrate(mine.margins, mine.odds)


def _terms(pair: Pair) -> None:
    if pair.mine.terms.size:
        pair.mine.terms[0] += pair.theirs.terms[0]
        look_again(pair.mine, pair.measure)


def _late(pair: Pair) -> None:
    if pair.mine.late_marks.size:
        for document in waiting(pair.theirs):
            put(pair.mine, document)
        pair.mine.late_marks[DROPPED] += pair.theirs.late_marks[DROPPED]


MODELS: Rules = {
    "totals": _totals,
    "frequencies": _sum_of("frequencies"),
    "rows": _rows,
    "norms": _norms,
    "together": _together,
    "seen": _seen,
    "squares": _sum_of("squares"),
    "bias": _bias,
    "shared": _shared,
    "margins": _sum_of("margins"),
    "cut": _cut,
    "bests": _sum_of("bests"),
    "floor": _floor,
    "odds": _odds,
    "classes": _columns_of("classes"),
    "members": _columns_of("members"),
    "terms": _terms,
    "late_marks": _late,
    "words": lambda pair: merge_votes(pair.mine, pair.theirs),
}
"""How to add each array of another model, in this order: derived arrays after their sources."""

UNMERGED = (
    "late_keys", "late_spans", "late_buckets", "late_counts", "word_keys", "word_votes", "gains",
    "blocks", "all_blocks", "recent_buckets", "recent_x", "recent_labels", "counts", "clock",
    "scales",
)  # fmt: skip
"""Arrays without a rule: parts of another array's, gains, which are all 1 by then, and the errors
and latest documents of the other model, which say nothing of this one."""


def _difference_rows(pair: Pair) -> None:
    for layer in range(pair.mine.rows.shape[1]):
        add_columns(pair.mine.rows[:, layer], pair.theirs.rows[:, layer], pair.kept, pair.places)


def _fading_sum_of(name: str) -> Callable[[Pair], None]:
    """Return the rule for histograms: fade mine by the labelled documents of theirs, then add."""

    def fade_and_add(pair: Pair) -> None:
        getattr(pair.mine, name)[:] *= FADE ** (pair.theirs.totals[LABELLED] / EVERY)
        getattr(pair.mine, name)[:] += getattr(pair.theirs, name)

    return fade_and_add


DIFFERENCES: Rules = MODELS | {
    "rows": _difference_rows,
    "bias": _columns_of("bias"),
    "shared": _sum_of("shared"),
    "margins": _fading_sum_of("margins"),
    "bests": _fading_sum_of("bests"),
}
"""How to add each array of a difference to the model that it started from."""
