"""What a part of a stream adds to a model, learnt from where that model stands.

Parts of a stream that are learnt side by side all begin with the same model. What each hands back
is a difference: sums of what it has seen, and how far it has moved the weights. Differences merge
as models do (see ``adding``): sums add up, moves become means by how far they were learnt, and what
only one part has moved is moved as far as there. The model then takes the merged difference over.
"""

from __future__ import annotations

import numpy as np

from clasher.errors import SettingError
from clasher.kernels.margin import EVERY, FADE
from clasher.kernels.merge import add_columns
from clasher.kernels.regions import halve
from clasher.kernels.rules import COUNT_LIMIT
from clasher.kernels.state import LABELLED
from clasher.labels import LabelIndex
from clasher.learning import memory
from clasher.learning.merge import MERGES, Pair, Rules, Sketch, add
from clasher.model import Clasher
from clasher.settings import MEASURES, Settings

MOVED = (
    "rows", "counts", "together", "squares", "bias", "shared", "classes", "members", "terms",
)  # fmt: skip
"""What a part begins with, and hands back the difference to."""
KNOWN = (*MOVED, "norms", "scales", "cut", "floor", "odds")
"""What a part begins with."""


def begins_anew(settings: Settings) -> bool:
    """Whether a part learns the same whatever was learnt before: then it needs word counts only."""
    return settings.rule == "centroid" and settings.weighting not in MEASURES


def check(settings: Settings, is_new: bool) -> None:
    """Refuse settings with which parts of a stream cannot be learnt side by side."""
    if settings.forgets:
        name = "half_life" if settings.half_life is not None else "detector"
        raise SettingError(
            f"a model that forgets learns in the order of its stream, not in parts side by side: "
            f"leave out {name}, or learn in one process"
        )
    if settings.on_full == "evict" and not (is_new or begins_anew(settings)):
        raise SettingError(
            f"parts that go on with a {settings.rule} model cannot each give up labels of their "
            f"own: raise max_labels, and set on_full='error'"
        )


def make_room(model: Clasher) -> None:
    """Halve the sums of labels that parts could otherwise count beyond what they can count."""
    state = model.state
    if state.together.size:
        for label in np.flatnonzero(state.counts >= COUNT_LIMIT / 2).tolist():
            halve(state, label)


def begin(start: Clasher, before: Sketch) -> Clasher:
    """A model that learns a part of a stream.

    Parameters
    ----------
    start
        Where all parts begin.
    before
        The documents before this part, and how many of them have each bucket: of ``start`` at
        least, and of the parts that come before this one where those are known.

    Examples
    --------
    >>> model = Clasher(1024)
    >>> before = Sketch.of(model.state)
    >>> part = begin(model, before)
    >>> part.learn("wheat and corn", {"grain"})
    >>> take_over(model, difference(part, model, before))
    >>> model.documents, model.support
    (1, {'grain': 1})
    """
    part = start._fresh()
    if not begins_anew(start.settings):
        part._index = LabelIndex(start.settings.max_labels, start.labels)
        part._state = memory.grow(part._state, start.settings, len(start.labels))
        part._state.totals[LABELLED:] = start._state.totals[LABELLED:]
        for name in KNOWN:
            ours, theirs = getattr(part._state, name), getattr(start._state, name)
            both = map(min, ours.shape, theirs.shape)  # there may be room for more on either side
            inside = tuple(slice(0, size) for size in both)
            ours[inside] = theirs[inside]
    before.put_into(part._state)
    return part


def difference(part: Clasher, start: Clasher, before: Sketch) -> Clasher:
    """What ``part`` has learnt since ``begin(start, before)``; it becomes that itself."""
    state = part._state
    before.take_out_of(state)
    if begins_anew(start.settings):
        return part
    known = memory.grow(start._state, start.settings, len(part.labels))
    if (fewer := np.flatnonzero(state.counts < known.counts[: len(state.counts)])).size:
        raise SettingError(
            f"label {part.labels[fewer[0]]!r} has more than {COUNT_LIMIT / 2:,.0f} documents in "
            f"one part of the stream; cut it into more parts"
        )
    state.totals[LABELLED] -= known.totals[LABELLED]
    for name in MOVED:
        ours, theirs = getattr(state, name), getattr(known, name)
        ours -= theirs[tuple(slice(0, size) for size in ours.shape)]
    return part


def take_over(model: Clasher, learnt: Clasher) -> None:
    """Add what parts have learnt since they began with ``model``; ``learnt`` stays as it is."""
    if learnt.documents:
        names = learnt._index.names
        model._state = add(
            model.settings, model._index, model._state, names, learnt._state, TAKEN_OVER
        )


def _rows(pair: Pair) -> None:
    for layer in range(pair.mine.rows.shape[1]):
        add_columns(pair.mine.rows[:, layer], pair.theirs.rows[:, layer], pair.kept, pair.places)


def _bias(pair: Pair) -> None:
    add_columns(pair.mine.bias, pair.theirs.bias, pair.kept, pair.places)


def _shared(pair: Pair) -> None:
    pair.mine.shared[:] += pair.theirs.shared


def _margins(pair: Pair) -> None:
    """What was there before fades by the documents that came since."""
    pair.mine.margins[:] *= FADE ** (pair.theirs.totals[LABELLED] / EVERY)
    pair.mine.margins[:] += pair.theirs.margins


def _bests(pair: Pair) -> None:
    """Fade these as the histograms of all labels."""
    pair.mine.bests[:] *= FADE ** (pair.theirs.totals[LABELLED] / EVERY)
    pair.mine.bests[:] += pair.theirs.bests


TAKEN_OVER: Rules = MERGES | {
    "rows": _rows, "bias": _bias, "shared": _shared, "margins": _margins, "bests": _bests,
}  # fmt: skip
"""How each array of a difference is added to where it began."""
