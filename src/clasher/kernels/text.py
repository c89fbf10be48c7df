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

    Where words end cannot be foreseen, so the common case has no branch: every code point writes
    the word so far, and only one that ends it moves on to the next place. Unsigned positions
    spare the test for negative ones.
    """
    room = np.uint64(hashes.shape[0])
    found, i, start, stop = np.uint64(0), np.uint64(position), np.uint64(position), np.uint64(end)
    state, length = initial, 0
    while i < stop:
        if found == room:
            return np.int64(found), np.int64(start)
        entry, size = table[data[i]], 1
        if data[i] >= 0x80:
            entry, size = look_up(data, np.int64(i), end, table)
        kind = entry >> KIND
        hashes[found], starts[found], stops[found] = state, start, i
        if kind > WORD:
            found += np.uint64(length >= minimum)
            if found == room:
                return np.int64(found), np.int64(i)
            more, after = scan_unspaced(
                data, np.int64(i), end, table, initial, hashes, starts, stops, np.int64(found)
            )
            found, i, start = np.uint64(more), np.uint64(after), np.uint64(after)
            state, length = initial, 0
            continue
        inside = np.int64(kind)
        found += np.uint64((1 - inside) * np.int64(length >= minimum))
        length = (length + 1) * inside
        grown = absorb(state, entry & LETTER)
        i += np.uint64(size)
        state = grown if inside else initial
        start = start if inside else i
    if length >= minimum:  # there is room: the last code point came after the test for it
        hashes[found], starts[found], stops[found] = state, start, end
        found += np.uint64(1)
    return np.int64(found), np.int64(end)


@kernel
def scan_unspaced(data, i, end, table, initial, hashes, starts, stops, found):
    """The words of a symbol, or of a run of a script without spaces, at ``i``.

    Returns the number of words and the position to go on from: after the run, or at the
    character whose pair found no room.
    """
    entry, size = look_up(data, i, end, table)
    start, i = i, i + size
    alone = True
    while i < end and entry >> KIND == UNSPACED:
        following, size = look_up(data, i, end, table)
        if following >> KIND != UNSPACED:
            break
        if found == hashes.shape[0]:
            return found, start
        hashes[found] = absorb(absorb(initial, entry & LETTER), following & LETTER)
        starts[found], stops[found] = start, i + size
        found += 1
        alone = False
        entry, start, i = following, i, i + size
    if alone:
        hashes[found], starts[found], stops[found] = absorb(initial, entry & LETTER), start, i
        found += 1
    return found, i
