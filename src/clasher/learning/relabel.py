"""Labels that were wrong, merge with others or go.

Learning has an exact inverse for all that is a sum: the sketch, the prototypes and the statistics
of regions. Weights learnt step by step (``margin``, ``perceptron``) have none: they stay until new
documents move them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clasher.errors import LabelError, NotLearntError
from clasher.kernels.clash import unlearn_document
from clasher.kernels.decay import settle
from clasher.kernels.state import DOCUMENTS, LABELLED, LABELS, Setting, State
from clasher.labels import LabelIndex, LabelSets
from clasher.learning import memory
from clasher.settings import Settings
from clasher.text.hashing import Hashed


def unlearn(
    hashed: Hashed, sets: LabelSets, index: LabelIndex, state: State, setting: Setting
) -> None:
    """Take back one document and its labels; refuse what cannot have been learnt."""
    if not state.totals[DOCUMENTS] or not state.frequencies[0, hashed.buckets].all():
        raise NotLearntError("this document was never learnt: the model has not seen its words")
    if sets.known[0] and not state.totals[LABELLED]:
        raise NotLearntError("no labelled document is left to unlearn")
    for number, yes in zip(sets.ids, sets.yes, strict=True):
        name = sets.names[number]
        if not state.counts[index.number(name)] > 0.0 and yes:
            raise NotLearntError(f"label {name!r} has no document left to unlearn")
    truth = index.translate(sets)
    unlearn_document(
        hashed.buckets, hashed.counts, hashed.words.places, hashed.words.keys,
        truth.known[0], truth.ids, truth.yes,
        state, setting, memory.work_for(state, len(hashed.words.keys)),
    )  # fmt: skip


def retire(state: State, index: LabelIndex, number: int, settings: Settings) -> None:
    """Forget a label; the last one takes its number, so that numbers stay dense."""
    last = len(index) - 1
    if number != last:
        memory.move_label(state, last, number)
    memory.clear_label(state, last, settings)
    state.totals[LABELS] = last
    index.remove(number)


def join(state: State, index: LabelIndex, source: str, target: str) -> None:
    """Add one label to another; the caller then retires the first.

    Documents that carried both count once. Their number is known, so counts stay exact; which ones
    they were is not, so sums are scaled down to the number of documents. For a third label, the two
    are assumed independent in its region, as in the paper. Without such documents the result is
    exact.
    """
    a, b = index.number(source), index.number(target)
    if a == b:
        raise LabelError(f"label {source!r} cannot be merged with itself")
    settle(state)
    fed = state.counts[a] + state.counts[b]
    share = float(state.counts[a] / fed) if fed else 0.5
    both = 0.0  # documents that carried both labels; the perceptron does not know
    if state.together.size:
        pair = min(state.together[a, b], state.together[b, a])
        both = float(min(pair, state.counts[a], state.counts[b]))
    left = fed - both
    shrink = np.float32(left / fed if fed else 1.0)
    _blend(state.bias, a, b, share)
    if state.squares.size:
        _blend(state.rows[:, 1], a, b, share)
    if state.together.size:
        together = state.together.astype(np.float64)  # join rows and columns (Eq. 15)
        with np.errstate(divide="ignore", invalid="ignore"):
            independent = together[:, a] * together[:, b] / state.counts
        thrice = np.minimum(both, np.nan_to_num(independent))
        column = together[:, a] + together[:, b] - thrice
        row = together[a] + together[b] - thrice
        state.together[:, b] = np.minimum(column, state.counts)
        state.together[b] = np.clip(row, 0.0, left)
        state.together[b, b] = left
        sums = state.rows[:, 0]
        sums[:, b] = (sums[:, b] + sums[:, a]) * shrink
        column = sums[:, b].astype(np.float64)
        state.norms[b] = column @ column
        state.scales[b] = 1.0 / np.sqrt(column @ column) if column.any() else 0.0
    else:
        _blend(state.rows[:, 0], a, b, share)
    if state.classes.size:
        for array in (state.classes, state.members):
            array[:, b] = (array[:, b] + array[:, a]) * shrink
    state.counts[b] = left
    state.seen[b] = max(state.seen[b], state.seen[a])


def _blend(array: npt.NDArray[np.floating], a: int, b: int, share: float) -> None:
    array[:, b] = share * array[:, a] + (1.0 - share) * array[:, b]
