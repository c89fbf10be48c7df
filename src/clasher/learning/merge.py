"""Merge models of parts of a stream into the model of the whole, and labels of one model.

Sums add up: the result is that of a single model that saw both streams. Weights that were learnt
step by step become means, weighted by how far each side learnt them (the root of the AdaGrad sum of
each weight; the perceptron has none and uses the documents of the label). Positions in the stream
count as if the other stream came after this one.
"""

import operator
from dataclasses import fields
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelError, SettingError
from clasher.kernels import merge as kernels
from clasher.kernels.classes import look_again
from clasher.kernels.decay import settle
from clasher.kernels.margin import (
    EARLY,
    EVERY,
    FADE,
    add_up_spent,
    best_cut,
    best_floor,
    calibrate,
)
from clasher.kernels.regions import COUNT_LIMIT, halve, scale_label
from clasher.kernels.scan import merge_votes
from clasher.kernels.state import DOCUMENTS, FADED, LABELLED, LABELS, NOW, State
from clasher.labels import LabelIndex, LabelSets
from clasher.learning import memory
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
    def of(cls, state: State) -> Self:
        faded = float(state.clock[FADED])
        return cls(int(state.totals[DOCUMENTS]), faded, state.frequencies.copy())

    def plus(self, other: Self) -> Self:
        return type(self)(*map(operator.add, self, other))

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
    settings: Settings, index: LabelIndex, mine: State, names: list[str], theirs: State,
    difference: bool = False,
) -> State:  # fmt: skip
    """Add ``theirs``, whose labels are ``names``, to ``mine``; return it, grown if need be.

    A ``difference`` is what a part of a stream added to mine, so that weights add up too.
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
    mine.totals[LABELS] = len(index)
    if settings.half_life is not None:  # mine fade by the time that theirs took
        half_lives = float(theirs.totals[DOCUMENTS]) / settings.half_life
        mine.clock[NOW] *= 2.0 ** min(half_lives, MOST_HALF_LIVES)
    if _is_faded(mine):
        settle(mine)
    if _is_faded(theirs):
        theirs = memory.copy(theirs)
        settle(theirs)
    places = np.array([index.numbers[names[number]] for number in kept], np.int64)
    _add_labels(settings, mine, theirs, np.array(kept, np.int64), places, difference)
    _add_stream(mine, theirs, difference)
    if mine.terms.size:
        mine.terms[0] += theirs.terms[0]
        look_again(mine, settings.for_kernels().measure)
    for label in places:
        while mine.counts[label] >= COUNT_LIMIT and mine.together.size:
            halve(mine, label)
    return mine


def _is_faded(state: State) -> bool:
    return bool(state.clock[NOW] != 1.0 or np.any(state.gains != 1.0))


def _make_room(
    settings: Settings, index: LabelIndex, mine: State, names: list[str], theirs: State
) -> list[int]:
    """Retire the longest unseen labels of both until there is room; return theirs that stay."""
    before = int(mine.totals[DOCUMENTS])
    seen = {name: int(mine.seen[number]) for number, name in enumerate(index.names)}
    for number, name in enumerate(names):
        theirs_seen = int(theirs.seen[number])
        seen[name] = before + theirs_seen if theirs_seen else seen.get(name, 0)
    oldest = sorted(seen, key=seen.__getitem__)
    dropped = dict.fromkeys(oldest[: max(0, len(seen) - memory.most_labels(settings))])
    for name in dropped:
        if name in index.numbers:
            retire_label(mine, index, index.numbers[name], settings)
    return [number for number, name in enumerate(names) if name not in dropped]


def _add_labels(
    settings: Settings, mine: State, theirs: State, kept: Numbers, places: Numbers,
    difference: bool,
) -> None:  # fmt: skip
    """Add the arrays with an entry per label: their label ``kept[i]`` to mine at ``places[i]``."""
    here, there = mine.counts[places], theirs.counts[kept]
    known = here + there > 0
    shares = np.divide(there, here + there, out=np.full(len(places), 0.5), where=known)
    mine.counts[places] += there
    has_regions, has_weights = mine.together.size > 0, mine.squares.size > 0
    factors = np.ones(len(theirs.counts), np.float32)
    if not (has_regions or difference):  # means
        for share, here_, there_ in zip(shares, places, kept, strict=True):
            scale_label(mine.rows, mine.pool, here_, np.float32(1.0 - share))
            factors[there_] = share
    how = kernels.NO_WEIGHTS
    if has_weights:
        how = kernels.ADD if difference else kernels.BLEND
    target = np.full(len(theirs.counts), -1, np.int64)
    target[kept] = places
    _add_cells(settings, mine, theirs, "rows", target, factors, how)
    if has_regions:
        _add_cells(settings, mine, theirs, "together", target, factors, kernels.NO_WEIGHTS)
        chosen = np.zeros(len(mine.counts), np.bool_)
        chosen[places] = True
        memory.set_norms(mine, chosen)
    seen = theirs.seen[kept]
    mine.seen[places] = np.where(seen > 0, mine.totals[DOCUMENTS] + seen, mine.seen[places])
    if difference:
        kernels.add_columns(mine.bias, theirs.bias, kept, places)
    elif has_weights:
        _blend_steps(mine.bias, theirs.bias, kept, places)
    else:
        kernels.blend_columns(mine.bias[:1], theirs.bias[:1], kept, places, shares)
    if mine.classes.size:
        _add_cells(settings, mine, theirs, "classes", target, factors, kernels.NO_WEIGHTS)
        kernels.add_columns(mine.members, theirs.members, kept, places)
    add_up_spent(mine)


def _add_cells(
    settings: Settings, mine: State, theirs: State, name: str, target: Numbers,
    factors: npt.NDArray[np.float32], how: int,
) -> None:  # fmt: skip
    """Add the cells of their rows to mine, and make room where there is none."""
    heads, other = getattr(mine, name), getattr(theirs, name)
    rows = target if name == "together" else target[:0]
    parts = _label_shares(mine), _label_shares(theirs)
    labels = int(mine.totals[LABELS])

    def step(done: int) -> int:
        return int(kernels.add_cells(
            done, heads, mine.pool, other, theirs.pool, rows, target, factors, how, mine.squares,
            theirs.squares, *parts, labels,
        ))  # fmt: skip

    memory.in_steps(mine, settings, len(other), step)


def _label_shares(state: State) -> Floats:
    """Estimate the share of each label in the AdaGrad sum of any bucket."""
    sums: Floats = state.bias[1]
    return np.asarray(sums / max(float(sums.sum()), 1e-300))


def _blend_steps(mine: Floats, theirs: Floats, kept: Numbers, places: Numbers) -> None:
    """Blend the values in the first row by the AdaGrad sums in the second, which add up."""
    kernels.blend_learnt(mine[:1], theirs[:1], mine[1:], theirs[1:], kept, places)
    kernels.add_columns(mine[1:], theirs[1:], kept, places)


def _add_stream(mine: State, theirs: State, difference: bool) -> None:
    """Add the arrays about the whole stream: derived ones after their sources.

    The errors and latest documents of theirs say nothing of mine, and stay out.
    """
    labelled = int(theirs.totals[LABELLED])
    share = labelled / max(1, labelled + int(mine.totals[LABELLED]))  # of all labelled documents
    mine.totals[:LABELS] += theirs.totals[:LABELS]
    mine.clock[FADED] += theirs.clock[FADED]
    mine.frequencies[:] += theirs.frequencies
    mine.squares[:] += theirs.squares
    if difference:  # histograms fade by the labelled documents of theirs
        mine.shared[:] += theirs.shared
        mine.margins[:] *= FADE ** (labelled / EVERY)
        mine.bests[:] *= FADE ** (labelled / EVERY)
    else:
        every = np.arange(mine.shared.shape[1])
        _blend_steps(mine.shared, theirs.shared, every, every)
    mine.dropped[:] += theirs.dropped
    mine.margins[:] += theirs.margins
    mine.bests[:] += theirs.bests
    mine.cut[:] += share * (theirs.cut - mine.cut)
    mine.odds[:] += share * (theirs.odds - mine.odds)
    if share:  # choose from the merged histograms if they hold enough
        if mine.totals[LABELLED] >= EVERY:
            mine.cut[0] = best_cut(mine.margins, mine.cut[0])
        if mine.totals[LABELLED] >= EARLY and mine.squares.size:
            calibrate(mine.margins, mine.odds)
        mine.floor[0] = best_floor(mine.bests)
    if mine.words.size:
        merge_votes(mine, theirs)
    if mine.late_marks.size:
        for document in waiting(theirs):
            put(mine, document)
        mine.late_marks[DROPPED] += theirs.late_marks[DROPPED]


def retire_label(state: State, index: LabelIndex, number: int, settings: Settings) -> None:
    """Forget a label; the last one takes its number, so that numbers stay dense."""
    last = len(index) - 1
    if number != last:
        memory.move_label(state, last, number)
    memory.clear_label(state, last, settings)
    state.totals[LABELS] = last
    index.remove(number)


def join_labels(
    state: State, index: LabelIndex, source: str, target: str, settings: Settings
) -> None:
    """Add one label to another; the caller then retires the first.

    Documents that carried both count once. Their number is known, so counts stay exact; which ones
    they were is not, so sums are scaled down to the number of documents. For a third label, the two
    are assumed independent in its region, as in the paper. Without such documents the result is
    exact.
    """
    a, b = index.number(source), index.number(target)
    if a == b:
        raise LabelError(f"label {source!r} cannot be merged with itself")
    if _is_faded(state):
        settle(state)
    fed = state.counts[a] + state.counts[b]
    share = float(state.counts[a] / fed) if fed else 0.5
    both = 0.0  # documents that carried both labels; the perceptron does not know
    if state.together.size:
        labels = len(index)
        rows = [memory.row(state, "together", i, labels).astype(np.float64) for i in (a, b)]
        columns = [memory.column(state, "together", i)[0][:labels] for i in (a, b)]
        pair = min(rows[0][b], rows[1][a])
        both = float(min(pair, state.counts[a], state.counts[b]))
    left = fed - both
    shrink = np.float32(left / fed if fed else 1.0)
    _blend(state.bias, a, b, share)
    if state.together.size:
        counts = state.counts[:labels]
        col_a, col_b = (column.astype(np.float64) for column in columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            independent = col_a * col_b / counts
        thrice = np.minimum(both, np.nan_to_num(independent))
        column = np.minimum(col_a + col_b - thrice, counts)  # join columns and rows (Eq. 15)
        row = np.clip(rows[0] + rows[1] - thrice, 0.0, left)
        row[b] = left
        entries: list[tuple[Any, Any, Any]] = [
            (i, b, column[i]) for i in np.flatnonzero((column != 0) | (col_b != 0))
        ]
        entries += [(b, j, row[j]) for j in np.flatnonzero((row != 0) | (rows[1] != 0))]
        memory.put(state, settings, "together", entries)
        _join_cells(state, settings, "rows", a, b, (shrink, shrink, share))
        chosen = np.arange(len(state.counts)) == b
        memory.set_norms(state, chosen)
    else:
        _join_cells(state, settings, "rows", a, b, (share, 1.0 - share, share))
    if state.classes.size:
        _join_cells(state, settings, "classes", a, b, (shrink, shrink, share))
        state.members[:, b] = (state.members[:, b] + state.members[:, a]) * shrink
    state.counts[b] = left
    state.seen[b] = max(state.seen[b], state.seen[a])


def _join_cells(
    state: State, settings: Settings, name: str, a: int, b: int, how: tuple[Any, Any, Any]
) -> None:
    heads, labels, factors = getattr(state, name), int(state.totals[LABELS]), map(np.float32, how)
    step = partial(kernels.join_cells, heads, state.pool, a, b, *factors, labels)
    memory.in_steps(state, settings, len(heads), step)


def _blend(array: npt.NDArray[np.floating], a: int, b: int, share: float) -> None:
    array[:, b] = share * array[:, a] + (1.0 - share) * array[:, b]
