"""Weighed documents without labels."""

from clasher.kernels import kernel
from clasher.kernels.sketch import count, weigh


@kernel
def weigh_documents(indptr, buckets, counts, state, setting, work, counting, weights):
    """Weigh each document of a batch; then count it, where asked to, before the next."""
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        weigh(state, setting, buckets[inside], counts[inside], work.x)
        for at in range(indptr[document], indptr[document + 1]):
            weights[at] = work.x[at - indptr[document]]
        if counting:
            count(state, buckets[inside])


@kernel
def count_documents(indptr, buckets, state):
    """Count each document of a batch."""
    for document in range(indptr.shape[0] - 1):
        count(state, buckets[indptr[document] : indptr[document + 1]])
