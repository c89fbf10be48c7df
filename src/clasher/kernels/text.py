"""One scan over UTF-8: code points → lower case → words → 64-bit hashes."""

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.hashing import absorb

LETTER = np.uint32(0x1FFFFF)  # the part of a table entry that holds the lower-case code point
KIND = np.uint32(24)  # the shift to the part that says what the code point is
WORD, UNSPACED, SYMBOL = np.uint32(1), np.uint32(2), np.uint32(3)  # 0 separates


@kernel
def decode(data, i, end):
    """The code point at ``i`` and its length; 0 and 1 where the bytes are not UTF-8.

    Surrogates decode to themselves and are separators, like all that is not writing.
    """
    first = np.int64(data[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        size, code, least = 2, first & 0x1F, 0x80
    elif first < 0xF0:
        size, code, least = 3, first & 0x0F, 0x800
    else:
        size, code, least = 4, first & 0x07, 0x10000
    if first < 0xC2 or first > 0xF4 or i + size > end:
        return 0, 1
    for offset in range(1, size):
        byte = np.int64(data[i + offset])
        if byte & 0xC0 != 0x80:
            return 0, 1
        code = (code << 6) | (byte & 0x3F)
    if code < least:
        return 0, 1
    return code, size


@kernel
def look_up(data, i, end, table):
    """The table entry of the code point at ``i``, and its length in bytes."""
    code, size = decode(data, i, end)
    if code >= table.shape[0]:
        return np.uint32(0), size
    return table[code], size


@kernel
def scan(data, position, end, table, minimum, initial, hashes, starts, stops):
    """Split ``data[position:end]`` into words until the buffers are full.

    A word is a maximal run of WORD code points, at least ``minimum`` of them; a run of UNSPACED
    ones gives its overlapping pairs, or itself when it is single; each SYMBOL is a word. Returns
    the number of words and the position to go on from, which is ``end`` once all is read.
    """
    found = 0
    i = position
    while i < end:
        entry, size = look_up(data, i, end, table)
        kind = entry >> KIND
        start = i
        if kind == WORD:
            state = initial
            length = 0
            while kind == WORD:
                state = absorb(state, entry & LETTER)
                length += 1
                i += size
                if i >= end:
                    break
                entry, size = look_up(data, i, end, table)
                kind = entry >> KIND
            if length >= minimum:
                if found == hashes.shape[0]:
                    return found, start
                hashes[found] = state
                starts[found] = start
                stops[found] = i
                found += 1
        elif kind == UNSPACED:
            previous = entry & LETTER
            pairs = 0
            i += size
            while i < end:
                entry, size = look_up(data, i, end, table)
                if entry >> KIND != UNSPACED:
                    break
                if found == hashes.shape[0]:
                    return found, start
                hashes[found] = absorb(absorb(initial, previous), entry & LETTER)
                starts[found] = start
                stops[found] = i + size
                found += 1
                pairs += 1
                previous = entry & LETTER
                start = i
                i += size
            if pairs == 0:
                if found == hashes.shape[0]:
                    return found, start
                hashes[found] = absorb(initial, previous)
                starts[found] = start
                stops[found] = i
                found += 1
        else:
            i += size
            if kind == SYMBOL:
                if found == hashes.shape[0]:
                    return found, start
                hashes[found] = absorb(initial, entry & LETTER)
                starts[found] = start
                stops[found] = i
                found += 1
    return found, end
