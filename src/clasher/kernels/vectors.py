"""Weighed documents without labels."""

from clasher.kernels import kernel
from clasher.kernels.sketch import count, weigh


@kernel
def weigh_documents(
    indptr, buckets, counts, word_indptr, places, keys, state, setting, work, counting, weights
):
    """Weigh each document of a batch; then count it, where asked to, before the next."""
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        words = slice(word_indptr[document], word_indptr[document + 1])
        own = buckets[inside]
        weigh(state, setting, own, counts[inside], places[words], keys[words], work)
        for at in range(own.shape[0]):
            weights[indptr[document] + at] = work.x[at]
        if counting:
            count(state, setting, own, places[words], keys[words], work)


@kernel
def count_documents(indptr, buckets, word_indptr, places, keys, state, setting, work):
    """Count each document of a batch."""
    for document in range(indptr.shape[0] - 1):
        own = buckets[indptr[document] : indptr[document + 1]]
        words = slice(word_indptr[document], word_indptr[document + 1])
        count(state, setting, own, places[words], keys[words], work)
