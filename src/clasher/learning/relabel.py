"""A label gets another name, becomes one with another, or goes: what happens to the arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clasher.kernels.fading import settle
from clasher.kernels.state import LABELS, State
from clasher.labels import LabelIndex
from clasher.learning import memory
from clasher.settings import Settings


def retire(state: State, index: LabelIndex, number: int, settings: Settings) -> None:
    """Forget a label; the last one gets its number, so that numbers stay dense."""
    last = len(index) - 1
    if number != last:
        memory.move_label(state, last, number)
    memory.clear_label(state, last, settings)
    state.totals[LABELS] = last
    index.remove(number)


def join(state: State, source: int, target: int) -> None:
    """Add all that is known of one label to another; the first is then to be retired.

    Documents that carried both must count once. How many they are is known, so counts stay exact;
    which they are is not: the sums are scaled down to the number of documents, and where a third
    label is concerned, the labels are taken to be independent in its region, as the paper does.
    Without such documents all of this is exact.
    """
    settle(state)
    share = _join_linear(state, source, target)
    fed = state.counts[source] + state.counts[target]
    both = _both(state, source, target)
    left = fed - both
    shrink = np.float32(left / fed if fed else 1.0)
    if state.together.size:
        _join_statistics(state, source, target, both, left)
        sums = state.rows[:, 0]
        sums[:, target] = (sums[:, target] + sums[:, source]) * shrink
        column = sums[:, target].astype(np.float64)
        state.norms[target] = column @ column
        state.scales[target] = 1.0 / np.sqrt(column @ column) if column.any() else 0.0
    else:
        _blend(state.rows[:, 0], source, target, share)
    if state.classes.size:
        for array in (state.classes, state.members):
            array[:, target] = (array[:, target] + array[:, source]) * shrink
    state.counts[target] = left
    state.seen[target] = max(state.seen[target], state.seen[source])


def _both(state: State, source: int, target: int) -> float:
    """How many documents carried both labels; the perceptron does not know."""
    if not state.together.size:
        return 0.0
    pair = float(min(state.together[source, target], state.together[target, source]))
    return min(pair, float(state.counts[source]), float(state.counts[target]))


def _join_statistics(state: State, source: int, target: int, both: float, left: float) -> None:
    """The row and the column of two labels as those of one (Eq. 15)."""
    together = state.together.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        independent = together[:, source] * together[:, target] / state.counts
    thrice = np.minimum(both, np.nan_to_num(independent))
    column = together[:, source] + together[:, target] - thrice
    row = together[source] + together[target] - thrice
    state.together[:, target] = np.minimum(column, state.counts)
    state.together[target] = np.clip(row, 0.0, left)
    state.together[target, target] = left


def _join_linear(state: State, source: int, target: int) -> float:
    """The weights of the linear rules: means by the documents of the labels."""
    total = state.counts[source] + state.counts[target]
    share = float(state.counts[source] / total) if total else 0.5
    _blend(state.bias, source, target, share)
    if state.squares.size:
        _blend(state.rows[:, 1], source, target, share)
    return share


def _blend(array: npt.NDArray[np.floating], source: int, target: int, share: float) -> None:
    array[:, target] = share * array[:, source] + (1.0 - share) * array[:, target]
