"""The latest documents of a stream in a ring, with an inverted index that forgets by itself.

Entries are numbered for ever and stand in the ring at their number modulo its size. Those of a
bucket are chained from the newest to the oldest. A slot that was given to another entry since shows
another bucket, or a document no older than the one that points to it; all beyond are older still
and gone too. There the chain ends, so nothing ever needs to be taken out of it.
"""

from typing import NamedTuple

import numpy as np

from clasher.kernels import kernel

DOCUMENTS, ENTRIES = 0, 1  # places in Ring.totals
NONE = -1


class Ring(NamedTuple):
    """The latest documents. m buckets, W documents, E entries."""

    totals: np.ndarray  # int64[2]: documents and entries that ever came in
    heads: np.ndarray  # int32[m]: the newest entry of each bucket
    buckets: np.ndarray  # int32[E]: the bucket of an entry
    documents: np.ndarray  # int64[E]: its document
    weights: np.ndarray  # float32[E]: its weight
    older: np.ndarray  # int32[E]: the entry of the same bucket before it
    firsts: np.ndarray  # int64[W]: the number of the first entry of each document


class Found(NamedTuple):
    """Scratch space: the documents that share a bucket with the one asked for."""

    products: np.ndarray  # float32[W]: by place
    marked: np.ndarray  # bool[W]: by place; false in between
    documents: np.ndarray  # int64[W]: in order of appearance


@kernel
def is_kept(ring, document):
    """Whether a document is still in the window, with all its entries."""
    window = ring.firsts.shape[0]
    if document < ring.totals[DOCUMENTS] - window:
        return False
    return ring.firsts[document % window] >= ring.totals[ENTRIES] - ring.weights.shape[0]


@kernel
def multiply(ring, buckets, weights, found):
    """The products of a document with all kept ones that share a bucket; returns how many do."""
    window = ring.firsts.shape[0]
    count = 0
    for at in range(buckets.shape[0]):
        entry = ring.heads[buckets[at]] if weights[at] != 0.0 else NONE
        before = ring.totals[DOCUMENTS]
        while entry != NONE and ring.buckets[entry] == buckets[at]:
            document = ring.documents[entry]
            if document >= before or not is_kept(ring, document):
                break
            place = document % window
            if not found.marked[place]:
                found.marked[place] = True
                found.products[place] = np.float32(0.0)
                found.documents[count] = document
                count += 1
            found.products[place] += weights[at] * ring.weights[entry]
            before = document
            entry = ring.older[entry]
    for at in range(count):
        found.marked[found.documents[at] % window] = False
    return count


@kernel
def add_document(ring, buckets, weights):
    """Put a document into the ring, over the oldest entries."""
    document = ring.totals[DOCUMENTS]
    ring.firsts[document % ring.firsts.shape[0]] = ring.totals[ENTRIES]
    for at in range(buckets.shape[0]):
        if weights[at] == 0.0:
            continue
        entry = ring.totals[ENTRIES] % ring.weights.shape[0]
        ring.buckets[entry] = buckets[at]
        ring.documents[entry] = document
        ring.weights[entry] = weights[at]
        ring.older[entry] = ring.heads[buckets[at]]
        ring.heads[buckets[at]] = entry
        ring.totals[ENTRIES] += 1
    ring.totals[DOCUMENTS] = document + 1


@kernel
def add_documents(indptr, buckets, weights, ring, found, nearest, cosines):
    """Find the most similar one before each document of a batch, then add it.

    Of equally similar ones the earliest counts; −1 where no document shares a bucket.
    """
    window = ring.firsts.shape[0]
    for document in range(indptr.shape[0] - 1):
        inside = slice(indptr[document], indptr[document + 1])
        best = np.int64(NONE)
        highest = np.float32(0.0)
        for at in range(multiply(ring, buckets[inside], weights[inside], found)):
            other = found.documents[at]
            product = found.products[other % window]
            if product > highest or (product == highest and best > other):
                best, highest = other, product
        nearest[document] = best
        cosines[document] = highest
        add_document(ring, buckets[inside], weights[inside])
