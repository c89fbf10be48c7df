"""What a change detector looks at: errors per label and stretch, and the latest documents."""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.labels import NO, UNKNOWN
from clasher.kernels.state import LABELLED

OPEN = 0  # the place of the block that is being filled, in the rows of State.blocks
TRIALS, ERRORS = 0, 1


@kernel
def watch(state, buckets, x, chosen, ids, yes, truth):
    """Note how well a labelled document was predicted, and keep some of it."""
    for predicted in chosen:
        if truth[predicted] != UNKNOWN:
            judge(state, predicted, truth[predicted] == NO)
    for at in range(ids.shape[0]):
        if yes[at] and state.counts[ids[at]] > 0.0:  # a new label could not be predicted
            missed = True
            for predicted in chosen:
                if predicted == ids[at]:
                    missed = False
            if missed:
                judge(state, ids[at], True)
    keep(state, buckets, x, ids, yes)


@kernel
def judge(state, label, wrong):
    """Count a label that was true or predicted, and whether it was not both."""
    state.blocks[label, OPEN, TRIALS] += np.float32(1.0)
    state.all_blocks[0, OPEN, TRIALS] += np.float32(1.0)
    if wrong:
        state.blocks[label, OPEN, ERRORS] += np.float32(1.0)
        state.all_blocks[0, OPEN, ERRORS] += np.float32(1.0)


@kernel
def keep(state, buckets, x, ids, yes):
    """Put a document in the place of the oldest that is kept.

    Of a long one, buckets are taken at even distances and weighed for those between them.
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
