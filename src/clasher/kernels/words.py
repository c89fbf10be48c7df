"""One word for each bucket: the one that most of its occurrences are of, if there is one."""

from clasher.kernels import kernel
from clasher.kernels.hashing import place

LONGEST = 24  # bytes of a word that are kept


@kernel
def vote(indptr, buckets, words, state):
    """Let the words of each document vote for the one that stands for their bucket.

    The majority vote of Boyer and Moore: a word's own occurrences count for it, those of others
    against it, and one that has nothing left gives way.
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
    """Keep the text of a word, cut between two characters where it is too long."""
    size = stop - start
    if size > LONGEST:
        size = LONGEST
        while size > 0 and data[start + size] & 0xC0 == 0x80:
            size -= 1
    for at in range(LONGEST):
        text[at] = data[start + at] if at < size else 0


@kernel
def write_signs(keys, signs):
    """The signs ξ(w) of words."""
    for at in range(keys.shape[0]):
        _, sign = place(keys[at], 1)
        signs[at] = sign


@kernel
def merge_votes(mine, other):
    """Add the votes of another state: for the same word they add, against another they cancel."""
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
