"""Words → word n-grams and character n-grams. Frozen: models depend on every bit of it."""

from typing import NamedTuple

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.hashing import (
    PAIR,
    WORD,
    absorb,
    chain,
    fold,
    note,
    pair_up,
    release,
)
from clasher.kernels.text import decode, scan

# Code points that no text can hold: what follows is characters, a word begins, a word ends.
CHARACTERS, OPENING, CLOSING = 0x110000, 0x110001, 0x110002
WHOLE, MARK = -2, -1  # where to go on in a word: with n-grams of words, with its opening mark


class Words(NamedTuple):
    """The words of documents, and the text they stand in."""

    indptr: np.ndarray  # int64[documents + 1]
    keys: np.ndarray  # uint64[words]
    starts: np.ndarray  # int64[words]
    stops: np.ndarray  # int64[words]
    data: np.ndarray  # uint8[bytes]


class Grams(NamedTuple):
    """Which n-grams to make."""

    shortest: int  # words
    longest: int  # 0: neither words nor n-grams of them
    shortest_run: int  # characters
    longest_run: int  # 0: no n-grams of characters
    pairs: int  # documents of fewer words give their pairs too
    initial: np.uint64  # where hashes start from


@kernel
def letter_at(data, i, end, letters):
    """The letter at ``i`` and its length in bytes; ``letters`` tells its lower case."""
    code, size = decode(data, i, end)
    if code < letters.shape[0]:
        code = np.int64(letters[code])
    return code, size


@kernel
def scan_documents(data, offsets, table, minimum, initial, indptr, keys, starts, stops):
    """The words of many documents; there is room for all of them."""
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
    """The hash of each stretch of text, taken as one word."""
    for word in range(starts.shape[0]):
        key, i = initial, starts[word]
        while i < stops[word]:
            code, size = letter_at(data, i, stops[word], letters)
            key = absorb(key, code)
            i += size
        keys[word] = key


@kernel
def join_words(words, word, first, grams, hashes, starts, stops, found):
    """The n-grams that end with ``word`` and begin at ``first`` or after, the shortest first."""
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
    """The character n-grams that begin at ``start + at`` (or with the opening mark) in a word."""
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
    """All that words ``word`` to ``last`` of a document stand for, until the buffers are full.

    For each word the n-grams that end with it, then its character n-grams. Returns how many there
    are, and the word and the place in it to go on from.
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
    """The pairs of neighbours among words ``first`` to ``last``; returns how many there are."""
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
    """Signed counts of what the words of each document stand for, noted where asked to."""
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
            filled = fold(hashes, found, WORD, dimensions, slots, base, filled, buckets, counts)
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
