"""Named values → signed sums of buckets: Algorithm 2 for documents that are not text."""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.hashing import note, place, release


@kernel
def fold_values(words, values, dimensions, slots, indptr, buckets, counts, noting, records):
    """Add the signed value of each word to its bucket; ``counts`` must be zero to begin with."""
    filled, noted = 0, 0
    indptr[0] = 0
    for document in range(words.indptr.shape[0] - 1):
        base = filled
        first, last = words.indptr[document], words.indptr[document + 1]
        for word in range(first, last):
            bucket, sign = place(words.keys[word], dimensions)
            slot = np.int64(slots[bucket])
            at = base + slot - 1 if slot > 0 else filled
            buckets[at] = bucket
            counts[at] += values[word] * np.float32(sign)
            if slot == 0:
                filled += 1
                slots[bucket] = filled - base
        if noting:
            noted = note(
                words.keys[first:last], words.starts[first:last], words.stops[first:last],
                last - first, dimensions, slots, base, records, noted,
            )  # fmt: skip
            records.indptr[document + 1] = noted
        release(slots, base, filled, buckets)
        indptr[document + 1] = filled
