"""Records for a change detector: errors per label and block, and the latest documents."""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.labels import NO, UNKNOWN, is_missed, stated
from clasher.kernels.state import LABELLED

OPEN = 0  # the place in State.blocks of the block that is being filled
TRIALS, ERRORS = 0, 1


@kernel
def watch(state, buckets, x, chosen, known, ids, yes, truth):
    """Record how well a labelled document was predicted, and keep a sample of it."""
    for predicted in chosen:
        verdict = stated(truth, known, predicted)
        if verdict != UNKNOWN:
            judge(state, predicted, verdict == NO)
    for at in range(ids.shape[0]):
        known = state.counts[ids[at]] > 0.0  # a new label could not be predicted
        if yes[at] and known and is_missed(ids[at], chosen):
            judge(state, ids[at], True)
    keep(state, buckets, x, ids, yes)


@kernel
def judge(state, label, wrong):
    """Count a label that was true or predicted, and an error if it was not both."""
    state.blocks[label, OPEN, TRIALS] += np.float32(1.0)
    state.all_blocks[0, OPEN, TRIALS] += np.float32(1.0)
    if wrong:
        state.blocks[label, OPEN, ERRORS] += np.float32(1.0)
        state.all_blocks[0, OPEN, ERRORS] += np.float32(1.0)


@kernel
def keep(state, buckets, x, ids, yes):
    """Replace the oldest kept document.

    Of a long document keep buckets at even distances, scaled to stand for those between.
    """
    place = state.totals[LABELLED] % state.recent_labels.shape[0]
    used, room = buckets.shape[0], state.recent_buckets.shape[1]
    kept = min(used, room)
    share = np.float32(used / max(kept, 1))
    for at in range(room):
        chosen = at * used // room if used > room else at
        state.recent_buckets[place, at] = buckets[chosen] if at < kept else -1
        state.recent_x[place, at] = share * x[chosen] if at < kept else np.float32(0.0)
    filled = 0
    for at in range(ids.shape[0]):
        if yes[at] and filled < state.recent_labels.shape[1]:
            state.recent_labels[place, filled] = ids[at]
            filled += 1
    for at in range(filled, state.recent_labels.shape[1]):
        state.recent_labels[place, at] = -1
