"""Text → signed counts of buckets, document by document: line 3 of Algorithm 1."""

from clasher.kernels import kernel
from clasher.kernels.hashing import PAIR, WORD, fold, note, pair_up, release
from clasher.kernels.text import scan


@kernel
def hash_documents(
    data, offsets, table, minimum, initial, pairs, dimensions, slots, hashes, starts, stops,
    indptr, buckets, counts,
):  # fmt: skip
    """Scan and fold many documents, a buffer of words at a time, and the pairs of short ones."""
    filled = 0
    indptr[0] = 0
    for document in range(offsets.shape[0] - 1):
        base = filled
        position, end = offsets[document], offsets[document + 1]
        words = 0
        while position < end:
            found, position = scan(
                data, position, end, table, minimum, initial, hashes, starts, stops
            )
            filled = fold(hashes, found, WORD, dimensions, slots, base, filled, buckets, counts)
            words += found
        if words < pairs:  # so few that all of them are still in the buffer
            found = pair_up(hashes, starts, stops, words)
            filled = fold(hashes, found, PAIR, dimensions, slots, base, filled, buckets, counts)
        release(slots, base, filled, buckets)
        indptr[document + 1] = filled


@kernel
def hash_documents_and_words(
    data, offsets, table, minimum, initial, pairs, dimensions, slots, hashes, starts, stops,
    indptr, buckets, counts, records,
):  # fmt: skip
    """The same, and note the distinct words of each document."""
    filled, noted = 0, 0
    indptr[0], records.indptr[0] = 0, 0
    for document in range(offsets.shape[0] - 1):
        base = filled
        position, end = offsets[document], offsets[document + 1]
        words = 0
        while position < end:
            found, position = scan(
                data, position, end, table, minimum, initial, hashes, starts, stops
            )
            filled = fold(hashes, found, WORD, dimensions, slots, base, filled, buckets, counts)
            noted = note(hashes, starts, stops, found, dimensions, slots, base, records, noted)
            words += found
        if words < pairs:
            found = pair_up(hashes, starts, stops, words)
            filled = fold(hashes, found, PAIR, dimensions, slots, base, filled, buckets, counts)
            noted = note(hashes, starts, stops, found, dimensions, slots, base, records, noted)
        release(slots, base, filled, buckets)
        indptr[document + 1], records.indptr[document + 1] = filled, noted
