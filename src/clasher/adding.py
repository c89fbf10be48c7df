"""State adds: how each array of two models becomes that of one.

Sums add up, and are those of a single model that had seen both streams. What was learnt step by
step is no sum: it becomes a mean, weighted by how far it was learnt on either side (the root of
the AdaGrad sum of each weight; the perceptron has none, and goes by the documents of the label).
Places in the stream count as if the other stream had come after this one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from clasher import memory, relabelling
from clasher.kernels.classes import look_again
from clasher.kernels.fading import settle
from clasher.kernels.learning import COUNT_LIMIT
from clasher.kernels.merging import (
    add_columns,
    blend_columns,
    blend_learnt,
    blend_weights,
    sum_squares,
)
from clasher.kernels.regions import halve
from clasher.kernels.state import DOCUMENTS, FADED, LABELLED, LABELS, NOW, State
from clasher.kernels.thresholds import EARLY, EVERY, best_cut, best_floor, calibrate
from clasher.labels import LabelIndex, LabelSets
from clasher.pending import DROPPED, put, waiting
from clasher.settings import Settings
from clasher.words import merge_words

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
        relabelling.retire(mine, index, index.numbers[name], settings)
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
