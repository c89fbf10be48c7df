"""From word hashes to signed counts of buckets (Algorithm 2), and tables of hashes.

Frozen: every bit of the hash is part of every saved model. Tables use open addressing: 64-bit keys,
a power of two in size; 0 is a free place.
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
    """The distinct words of documents; ``heads`` must start as zeros."""

    indptr: np.ndarray  # int64[documents + 1]
    places: np.ndarray  # int32[words]: the bucket's place within its document
    keys: np.ndarray  # uint64[words]: the hash before it is finalised
    starts: np.ndarray  # int64[words]: where the first occurrence starts
    stops: np.ndarray  # int64[words]: and stops
    heads: np.ndarray  # int64[buckets]: one more than the bucket's latest word
    nexts: np.ndarray  # int64[words]: the same for the word before it


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
    """Return the bucket (upper half) and the sign (lowest bit) of a word's hash."""
    mixed = finalise(state)
    bucket = ((mixed >> HALF) * np.uint64(dimensions)) >> HALF
    return bucket, np.int64(1) - np.int64(2) * np.int64(mixed & ONE)


@kernel
def row_bucket(key, row, dimensions):
    """Return the bucket of a word in a row of the sketch; in row 0 that of ``place``."""
    mixed = finalise(key ^ (np.uint64(row) * GOLDEN))
    return ((mixed >> HALF) * np.uint64(dimensions)) >> HALF


@kernel
def fold(hashes, found, weight, dimensions, slots, base, filled, buckets, counts):
    """Algorithm 2: add the signs of ``found`` words, times ``weight``, to their buckets.

    ``counts`` must start as zeros. The document's buckets are ``base`` to ``filled``, whose new
    value is returned; ``slots[bucket]`` is one more than the bucket's place after ``base``, or 0.
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
    """Record those of ``found`` folded words that are new in the document; returns how many are.

    The words of a bucket form a chain, usually of one.
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
    """Combine the hash of the words before with the hash of the next word."""
    return (finalise(key) ^ following) * GOLDEN


@kernel
def pair_up(hashes, starts, stops, found):
    """Join each of ``found`` words but the last with the one after it; returns how many."""
    for word in range(found - 1):
        hashes[word] = chain(hashes[word], hashes[word + 1])
        stops[word] = stops[word + 1]
    return max(found - 1, 0)


@kernel
def release(slots, base, filled, buckets):
    """Reset the slots of the document's buckets."""
    for at in range(base, filled):
        slots[buckets[at]] = 0


@kernel
def home(table, key):
    """Return the first place to look for a key."""
    return np.int64(finalise(key) & np.uint64(table.shape[0] - 1))


@kernel
def find(table, key):
    """Find a key, or the free place where it belongs; the table is never full."""
    at = home(table, key)
    while table[at] != 0 and table[at] != key:
        at = (at + 1) & (table.shape[0] - 1)
    return at


@kernel
def insert(table, keys, places):
    """Insert keys into a table, and write the place of each."""
    for i in range(keys.shape[0]):
        places[i] = find(table, keys[i])
        table[places[i]] = keys[i]


@kernel
def drop_known(table, indptr, keys, starts, stops):
    """Remove the words that a table holds, in place."""
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
    """Replace keys by their values in a table; lists the missing keys and returns how many.

    Each key has one place only, so a key is forgotten when another needs its place.
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
    """Write the values of keys over what was there."""
    for i in range(keys.shape[0]):
        at = home(table, keys[i])
        table[at], values[at] = keys[i], new[i]


@kernel
def fold_values(words, values, dimensions, slots, indptr, buckets, counts, noting, records):
    """Add the signed value of each word to its bucket; ``counts`` must start as zeros."""
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
