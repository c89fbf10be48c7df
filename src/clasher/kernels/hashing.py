"""Named values → signed sums of buckets: Algorithm 2 for documents that are not text.

Word hashes → signed counts of buckets. Frozen: models depend on every bit of it.

Open addressing: tables of 64-bit keys, a power of two in size; 0 is a free place.
"""

from typing import NamedTuple

import numpy as np

from clasher.kernels import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: short words cannot collide
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)

ONE_WORD = np.float32(1.0)  # what a word counts
PAIR = np.float32(0.5)  # what a pair of neighbouring words counts


class Records(NamedTuple):
    """Where the distinct words of documents are noted; ``heads`` is zero to begin with."""

    indptr: np.ndarray  # int64[documents + 1]
    places: np.ndarray  # int32[words]: the bucket's place within its document
    keys: np.ndarray  # uint64[words]: the hash before it was finalised
    starts: np.ndarray  # int64[words]: where its first occurrence starts
    stops: np.ndarray  # int64[words]: and stops
    heads: np.ndarray  # int64[buckets]: one more than the last word noted of a bucket
    nexts: np.ndarray  # int64[words]: the same for the word noted before


@kernel
def absorb(state, code):
    """Add one code point to the hash of a word."""
    return (state ^ np.uint64(code)) * GOLDEN


@kernel
def finalise(state):
    """Spread every bit over all others (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * MIX_1
    state = (state ^ (state >> np.uint64(27))) * MIX_2
    return state ^ (state >> np.uint64(31))


@kernel
def place(state, dimensions):
    """The bucket (from the upper half) and the sign (from the lowest bit) of a word's hash."""
    mixed = finalise(state)
    bucket = ((mixed >> HALF) * np.uint64(dimensions)) >> HALF
    return bucket, np.int64(1) - np.int64(2) * np.int64(mixed & ONE)


@kernel
def row_bucket(key, row, dimensions):
    """The bucket of a word in a row of the sketch; in row 0 it is that of ``place``."""
    mixed = finalise(key ^ (np.uint64(row) * GOLDEN))
    return ((mixed >> HALF) * np.uint64(dimensions)) >> HALF


@kernel
def fold(hashes, found, weight, dimensions, slots, base, filled, buckets, counts):
    """Algorithm 2: add the signs of ``found`` words, each of this weight, to their buckets.

    ``counts`` must be zero to begin with. The document's buckets start at ``base`` and end at
    ``filled`` (which is returned, moved on); ``slots[bucket]`` is one more than the bucket's place
    after ``base``, 0 where it has none.
    """
    for word in range(found):
        bucket, sign = place(hashes[word], dimensions)
        slot = np.int64(slots[bucket])
        new = np.int64(slot == 0)
        at = np.uint64(new * filled + (1 - new) * (base + slot - 1))  # no branch: it is a coin toss
        buckets[at] = bucket
        counts[at] += weight * np.float32(sign)
        slots[bucket] = np.int64(at) - base + 1
        filled += new
    return filled


@kernel
def note(hashes, starts, stops, found, dimensions, slots, base, records, noted):
    """Note those of ``found`` folded words that the document had not had; returns how many are.

    The words of one bucket form a chain, hardly ever longer than one.
    """
    for word in range(found):
        bucket, _ = place(hashes[word], dimensions)
        at = np.int64(slots[bucket]) - 1
        link = records.heads[base + at]
        while link > 0 and records.keys[link - 1] != hashes[word]:
            link = records.nexts[link - 1]
        if link == 0:
            records.places[noted] = at
            records.keys[noted] = hashes[word]
            records.starts[noted], records.stops[noted] = starts[word], stops[word]
            records.nexts[noted] = records.heads[base + at]
            noted += 1
            records.heads[base + at] = noted
    return noted


@kernel
def chain(key, following):
    """The hash of words in a row: that of all but the last, and that of the last."""
    return (finalise(key) ^ following) * GOLDEN


@kernel
def pair_up(hashes, starts, stops, found):
    """Put each of ``found`` words but the last together with the one after it; returns how many."""
    for word in range(found - 1):
        hashes[word] = chain(hashes[word], hashes[word + 1])
        stops[word] = stops[word + 1]
    return max(found - 1, 0)


@kernel
def release(slots, base, filled, buckets):
    """Forget where the document's buckets were."""
    for at in range(base, filled):
        slots[buckets[at]] = 0


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
