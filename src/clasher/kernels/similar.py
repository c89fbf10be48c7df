"""The latest documents of a stream in a ring, with an inverted index that forgets by itself.

Entries are numbered without end; entry n is at place n modulo the size of the ring. The entries of
a bucket form a chain from the newest to the oldest. A place that was reused shows another bucket,
or a document that is not older than the one pointing to it; all entries beyond are gone too. The
chain ends there, so nothing needs to be removed from it.
"""

from typing import NamedTuple

import numpy as np

from clasher.kernels import kernel

DOCUMENTS, ENTRIES = 0, 1  # places in Ring.totals
NONE = -1


class Ring(NamedTuple):
    """The latest documents: m buckets, W documents, E entries."""

    totals: np.ndarray  # int64[2]: documents and entries so far
    heads: np.ndarray  # int32[m]: the newest entry of each bucket
    buckets: np.ndarray  # int32[E]: the bucket of an entry
    documents: np.ndarray  # int64[E]: its document
    weights: np.ndarray  # float32[E]: its weight
    older: np.ndarray  # int32[E]: the entry of the same bucket before it
    firsts: np.ndarray  # int64[W]: the number of the first entry of each document


class Found(NamedTuple):
    """Scratch space: the documents that share a bucket with the query."""

    products: np.ndarray  # float32[W]: by place
    marked: np.ndarray  # bool[W]: by place; false in between
    documents: np.ndarray  # int64[W]: in order of appearance


@kernel
def is_kept(ring, document):
    """Tell whether a document is still in the window, with all its entries."""
    window = ring.firsts.shape[0]
    if document < ring.totals[DOCUMENTS] - window:
        return False
    return ring.firsts[document % window] >= ring.totals[ENTRIES] - ring.weights.shape[0]


@kernel
def multiply(ring, buckets, weights, found):
    """Multiply a document with all kept ones that share a bucket; returns how many do."""
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
    """Write a document over the oldest entries of the ring."""
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
    """Find the most similar earlier document of each document in a batch, then add it.

    The earliest wins a tie; −1 if no document shares a bucket.
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
