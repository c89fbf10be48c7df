"""Open addressing: tables of 64-bit keys, a power of two in size; 0 is a free place."""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.hashing import finalise


@kernel
def home(table, key):
    """Where a key is looked for first."""
    return np.int64(finalise(key) & np.uint64(table.shape[0] - 1))


@kernel
def find(table, key):
    """The place of a key, or the free place where it belongs; the table is never full."""
    at = home(table, key)
    while table[at] != 0 and table[at] != key:
        at = (at + 1) & (table.shape[0] - 1)
    return at


@kernel
def insert(table, keys, places):
    """Put keys into a table, and tell the place of each."""
    for i in range(keys.shape[0]):
        places[i] = find(table, keys[i])
        table[places[i]] = keys[i]


@kernel
def drop_known(table, indptr, keys, starts, stops):
    """Leave out the words that a table holds, in place."""
    kept, first = 0, 0
    for document in range(indptr.shape[0] - 1):
        last = indptr[document + 1]
        for word in range(first, last):
            keys[kept], starts[kept], stops[kept] = keys[word], starts[word], stops[word]
            kept += np.int64(table[find(table, keys[word])] == 0)
        indptr[document + 1] = kept
        first = last


@kernel
def recall(table, values, keys, missing):
    """Replace keys by their values where a table has them; lists the others and counts them.

    Each key has one place only, so the table forgets a key when another one needs its place.
    """
    count = 0
    for word in range(keys.shape[0]):
        at = home(table, keys[word])
        if table[at] == keys[word]:
            keys[word] = values[at]
        else:
            missing[count] = word
            count += 1
    return count


@kernel
def remember(table, values, keys, new):
    """Keep the values of some keys, in the place of what was there."""
    for i in range(keys.shape[0]):
        at = home(table, keys[i])
        table[at], values[at] = keys[i], new[i]
