"""From text to signed counts of buckets: line 3 of Algorithm 1.

A scan over UTF-8 turns code points into lower case, words and 64-bit hashes; words become word
n-grams and character n-grams. Frozen: every bit is part of every saved model. ``vote`` keeps the
most frequent word of each bucket.
"""

from typing import NamedTuple

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.hashing import (
    ONE_WORD,
    PAIR,
    absorb,
    chain,
    fold,
    note,
    pair_up,
    place,
    release,
)

LETTER = np.uint32(0x1FFFFF)  # mask of a table entry: the lower-case code point
KIND = np.uint32(24)  # shift of a table entry: the kind of the code point
WORD, UNSPACED, SYMBOL = np.uint32(1), np.uint32(2), np.uint32(3)  # 0 separates

PLACES = 1  # 0: scan for hashes only; see ``Kernel.variant``


@kernel
def decode(data, i, end):
    """Return the code point at ``i`` and its length; 0 and 1 if the bytes are not UTF-8.

    Surrogates decode to themselves, and separate words.
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
    """Return the table entry of the code point at ``i``, and its length in bytes."""
    code, size = decode(data, i, end)
    if code >= table.shape[0]:
        return np.uint32(0), size
    return table[code], size


@kernel
def scan(data, position, end, table, minimum, initial, hashes, starts, stops):
    """Split ``data[position:end]`` into words until the buffers are full.

    A word is a maximal run of WORD code points, at least ``minimum`` of them. A run of UNSPACED
    ones gives its overlapping pairs, or its single character. Each SYMBOL is a word. Returns the
    number of words and the position to go on from, which is ``end`` when all is read.

    Word ends are unpredictable, so the common case has no branch: every code point writes the word
    so far, and only the end of a word moves on to the next place. Unsigned positions spare the test
    for negative ones. Without ``PLACES`` nothing is written to ``starts`` and ``stops``.
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
        hashes[found] = state
        if PLACES != 0:
            starts[found], stops[found] = start, i
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
    """Scan a symbol, or a run of a script without spaces, at ``i``.

    Returns the number of words and the position to go on from: after the run, or at the first
    character whose pair has no room.
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


LONGEST = 24  # bytes kept of a word


@kernel
def vote(indptr, buckets, words, state):
    """Update the most frequent word of each bucket with the words of documents.

    The majority vote of Boyer and Moore: occurrences of the kept word count for it, those of other
    words against it, and at zero the next word replaces it.
    """
    for document in range(indptr.shape[0] - 1):
        base = indptr[document]
        for word in range(words.indptr[document], words.indptr[document + 1]):
            bucket = buckets[base + words.places[word]]
            if state.word_keys[bucket] == words.keys[word]:
                state.word_votes[bucket] += 1
            elif state.word_votes[bucket] > 0:
                state.word_votes[bucket] -= 1
            else:
                state.word_keys[bucket] = words.keys[word]
                state.word_votes[bucket] = 1
                write(words.data, words.starts[word], words.stops[word], state.words[bucket])


@kernel
def write(data, start, stop, text):
    """Copy the text of a word; a long one is cut between two characters."""
    size = stop - start
    if size > LONGEST:
        size = LONGEST
        while size > 0 and data[start + size] & 0xC0 == 0x80:
            size -= 1
    for at in range(LONGEST):
        text[at] = data[start + at] if at < size else 0


@kernel
def write_signs(keys, signs):
    """Write the signs ξ(w) of words."""
    for at in range(keys.shape[0]):
        _, sign = place(keys[at], 1)
        signs[at] = sign


@kernel
def merge_votes(mine, other):
    """Merge the votes of another state: add them for the same word, subtract them otherwise."""
    for bucket in range(mine.word_keys.shape[0]):
        votes = other.word_votes[bucket]
        if mine.word_keys[bucket] == other.word_keys[bucket]:
            mine.word_votes[bucket] += votes
        elif mine.word_votes[bucket] >= votes:
            mine.word_votes[bucket] -= votes
        else:
            mine.word_votes[bucket] = votes - mine.word_votes[bucket]
            mine.word_keys[bucket] = other.word_keys[bucket]
            for at in range(LONGEST):
                mine.words[bucket, at] = other.words[bucket, at]


# Not code points: characters follow, a word begins, a word ends.
CHARACTERS, OPENING, CLOSING = 0x110000, 0x110001, 0x110002
WHOLE, MARK = -2, -1  # positions before a word: its n-grams of words, its opening mark


class Words(NamedTuple):
    """The words of documents, and their text."""

    indptr: np.ndarray  # int64[documents + 1]
    keys: np.ndarray  # uint64[words]
    starts: np.ndarray  # int64[words]
    stops: np.ndarray  # int64[words]
    data: np.ndarray  # uint8[bytes]


class Grams(NamedTuple):
    """Which n-grams to make."""

    shortest: int  # words
    longest: int  # 0: no words and no n-grams of words
    shortest_run: int  # characters
    longest_run: int  # 0: no n-grams of characters
    pairs: int  # shorter documents give pairs of words too
    initial: np.uint64  # start of every hash


@kernel
def letter_at(data, i, end, letters):
    """Return the letter at ``i``, in the case that ``letters`` says, and its length in bytes."""
    code, size = decode(data, i, end)
    if code < letters.shape[0]:
        code = np.int64(letters[code])
    return code, size


@kernel
def scan_documents(data, offsets, table, minimum, initial, indptr, keys, starts, stops):
    """Scan many documents; there is room for all words."""
    filled = 0
    indptr[0] = 0
    for document in range(offsets.shape[0] - 1):
        found, _ = scan(
            data, offsets[document], offsets[document + 1], table, minimum, initial,
            keys[filled:], starts[filled:], stops[filled:],
        )  # fmt: skip
        filled += found
        indptr[document + 1] = filled


@kernel
def hash_texts(data, starts, stops, letters, initial, keys):
    """Hash each stretch of text as one word."""
    for word in range(starts.shape[0]):
        key, i = initial, starts[word]
        while i < stops[word]:
            code, size = letter_at(data, i, stops[word], letters)
            key = absorb(key, code)
            i += size
        keys[word] = key


@kernel
def join_words(words, word, first, grams, hashes, starts, stops, found):
    """Write the n-grams from ``first`` on that end with ``word``, the shortest first."""
    for size in range(grams.shortest, min(grams.longest, word - first + 1) + 1):
        key = words.keys[word - size + 1]
        for at in range(word - size + 2, word + 1):
            key = chain(key, words.keys[at])
        hashes[found] = key
        starts[found], stops[found] = words.starts[word - size + 1], words.stops[word]
        found += 1
    return found


@kernel
def cut_word(data, start, stop, at, letters, grams, hashes, starts, stops, found):
    """Write the character n-grams of a word from ``start + at``, or from its opening mark, on."""
    key, size = absorb(grams.initial, CHARACTERS), 0
    if at == MARK:
        key, size, at = absorb(key, OPENING), 1, 0
    i = start + at
    while size < grams.longest_run and i <= stop:
        code, width = CLOSING, 1
        if i < stop:
            code, width = letter_at(data, i, stop, letters)
        key, size, i = absorb(key, code), size + 1, i + width
        if size >= grams.shortest_run:
            hashes[found], starts[found], stops[found] = key, start + at, min(i, stop)
            found += 1
    return found


@kernel
def emit(words, first, last, word, at, letters, grams, hashes, starts, stops):
    """Write the n-grams of words ``word`` to ``last`` until the buffers are full.

    For each word those that end with it, then its character n-grams. Returns how many, and the word
    and the place in it to go on from.
    """
    found = 0
    room = hashes.shape[0] - max(grams.longest, grams.longest_run)
    while word < last:
        if found > room:
            return found, word, at
        start, stop = words.starts[word], words.stops[word]
        if at == WHOLE:
            if grams.longest > 0:
                found = join_words(words, word, first, grams, hashes, starts, stops, found)
            at = MARK if grams.longest_run > 0 else stop - start
        else:
            found = cut_word(
                words.data, start, stop, at, letters, grams, hashes, starts, stops, found
            )
            at = at + decode(words.data, start + at, stop)[1] if at >= 0 else 0
        if at == stop - start:
            word, at = word + 1, WHOLE
    return found, word, at


@kernel
def pairs_of(words, first, last, hashes, starts, stops):
    """Write the pairs of neighbouring words from ``first`` to ``last``; returns how many."""
    found = last - first
    for at in range(found):
        hashes[at] = words.keys[first + at]
        starts[at], stops[at] = words.starts[first + at], words.stops[first + at]
    return pair_up(hashes, starts, stops, found)


@kernel
def fold_documents(
    words, letters, grams, dimensions, slots, hashes, starts, stops, indptr, buckets, counts,
    keeping, records,
):  # fmt: skip
    """Fold the n-grams of each document into signed counts; record them if ``keeping``."""
    filled, noted = 0, 0
    indptr[0] = 0
    for document in range(indptr.shape[0] - 1):
        base = filled
        first, last = words.indptr[document], words.indptr[document + 1]
        word, at = first, WHOLE
        while word < last:
            found, word, at = emit(
                words, first, last, word, at, letters, grams, hashes, starts, stops
            )
            filled = fold(hashes, found, ONE_WORD, dimensions, slots, base, filled, buckets, counts)
            if keeping:
                noted = note(hashes, starts, stops, found, dimensions, slots, base, records, noted)
        if last - first < grams.pairs:
            found = pairs_of(words, first, last, hashes, starts, stops)
            filled = fold(hashes, found, PAIR, dimensions, slots, base, filled, buckets, counts)
            if keeping:
                noted = note(hashes, starts, stops, found, dimensions, slots, base, records, noted)
        release(slots, base, filled, buckets)
        indptr[document + 1] = filled
        if keeping:
            records.indptr[document + 1] = noted


@kernel
def hash_documents(
    data, offsets, table, minimum, initial, pairs, dimensions, slots, hashes, starts, stops,
    indptr, buckets, counts, records,
):  # fmt: skip
    """Scan and fold documents, a buffer of words at a time; record the words if ``PLACES``."""
    filled, noted = 0, 0
    indptr[0] = 0
    for document in range(offsets.shape[0] - 1):
        base = filled
        position, end = offsets[document], offsets[document + 1]
        words = 0
        while position < end:
            found, position = scan(
                data, position, end, table, minimum, initial, hashes, starts, stops
            )
            filled = fold(hashes, found, ONE_WORD, dimensions, slots, base, filled, buckets, counts)
            if PLACES != 0:
                noted = note(hashes, starts, stops, found, dimensions, slots, base, records, noted)
            words += found
        if words < pairs:  # few enough that all are still in the buffer
            found = pair_up(hashes, starts, stops, words)
            filled = fold(hashes, found, PAIR, dimensions, slots, base, filled, buckets, counts)
            if PLACES != 0:
                noted = note(hashes, starts, stops, found, dimensions, slots, base, records, noted)
        release(slots, base, filled, buckets)
        indptr[document + 1] = filled
        if PLACES != 0:
            records.indptr[document + 1] = noted
