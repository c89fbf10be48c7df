"""Learn parts of a stream side by side, each starting from the same model.

Each part hands back a difference: the sums of what it saw, and how far it moved the weights.
Differences merge as models do (``clasher.learning.merge``): sums add up, moves become means by how
far they were learnt, and a weight that only one part moved keeps that move. ``Clasher.merge``
merges differences, ``Clasher.add_difference`` adds the result to the model.
"""

import numpy as np

from clasher.errors import SettingError
from clasher.kernels.regions import COUNT_LIMIT, halve
from clasher.kernels.state import LABELLED
from clasher.learning import memory
from clasher.learning.merge import Sketch
from clasher.model import Clasher
from clasher.settings import MEASURES, Settings

# Arrays of which a part hands back the difference, and those that it starts with.
MOVED = ("counts", "squares", "bias", "shared", "members", "terms")
KNOWN = (*MOVED, "norms", "scales", "cut", "floor", "odds", "spent")


def is_independent(settings: Settings) -> bool:
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
    if settings.on_full == "evict" and not (is_new or is_independent(settings)):
        raise SettingError(
            f"parts that continue a {settings.rule} model cannot evict labels independently: "
            f"raise max_labels, and set on_full='error'"
        )


def make_room(model: Clasher) -> None:
    """Halve the sums of labels whose counts the parts could push beyond their limit."""
    state = model.state
    if state.together.size:
        for label in np.flatnonzero(state.counts >= COUNT_LIMIT / 2).tolist():
            halve(state, label)


def begin(start: Clasher, before: Sketch) -> Clasher:
    """Return a model that learns a part of a stream, after the word counts ``before`` it."""
    labels = [] if is_independent(start.settings) else start.labels
    state = memory.allocate(start.settings, len(labels))
    if not is_independent(start.settings):
        state.totals[LABELLED:] = start.state.totals[LABELLED:]
        memory.copy_cells(start.state, state.pool)
        for ours, theirs in memory.in_common(state, start.state, (*KNOWN, *memory.HEADS)):
            ours[...] = theirs
    before.put_into(state)
    return Clasher.from_state(start.settings, labels, state)


def difference(part: Clasher, start: Clasher, before: Sketch) -> Clasher:
    """Subtract ``start`` from what ``part`` has learnt since ``begin(start, before)``, in place."""
    state, known = part.state, start.state
    before.take_out_of(state)
    if is_independent(start.settings):
        return part
    common = min(len(state.counts), len(known.counts))
    if (fewer := np.flatnonzero(state.counts[:common] < known.counts[:common])).size:
        raise SettingError(
            f"label {part.labels[fewer[0]]!r} has more than {COUNT_LIMIT / 2:,.0f} documents in "
            f"one part of the stream; cut it into more parts"
        )
    state.totals[LABELLED] -= known.totals[LABELLED]
    memory.subtract_cells(state, known)
    for ours, theirs in memory.in_common(state, known, MOVED):
        ours -= theirs
    return part
