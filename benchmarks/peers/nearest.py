"""Run kNN with k = 1: a document gets the labels of the nearest document seen so far.

Exact TF-IDF vectors are compared by cosine. Each is weighted once, when it arrives, by the document
frequencies at that time (Algorithm 3 without hashing), and kept to the end. The search is exact: an
inverted index adds up the heaviest words until the other words cannot change which few documents
must be compared in full.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.terms import Counted, Terms, compiled
from clasher import Analyzer

BATCH = 2000
"""Documents between two updates of the index; later ones are compared in full."""
THREADS = 2
WARM_UP = 2  # documents of a first run, which compiles the kernels


def run(tf: str, task: Task, record: Record) -> None:
    """Predict each document, then keep it if it has labels."""
    texts, labels, learnt = task.corpus.texts, task.corpus.labels, task.learnt
    warm_up(texts[:WARM_UP])
    memory = Neighbours(tf, **task.options)
    with record:
        for part in record.parts(BATCH):
            is_test = task.test_from is not None and part.start >= task.test_from
            documents = memory.weigh(texts[part], counting=not is_test)
            before = memory.keep(documents, part.start, learnt[part])
            if part.stop > task.judged_from:
                record.predicted(part, take(labels, memory.nearest(documents, before)))
            memory.index()


def warm_up(texts: pa.StringArray) -> None:
    """Compile the kernels before the clock starts."""
    memory = Neighbours()
    documents = memory.weigh(texts, counting=True)
    memory.nearest(documents, memory.keep(documents, 0, np.ones(len(texts), bool)))


def take(labels: pa.ListArray, neighbours: npt.NDArray[np.int64]) -> pa.ListArray:
    """Return the labels of each neighbour; null without a neighbour."""
    return labels.take(pa.array(neighbours, mask=neighbours < 0))


class Neighbours:
    """All labelled documents so far, and an index of the first ones.

    Parameters
    ----------
    tf
        ``count`` or ``log`` (1 + ln of the count).
    threads
        The number of threads that search.
    """

    def __init__(self, tf: str = "count", threads: int = THREADS) -> None:
        from scipy.sparse import csr_array

        self.terms = Terms(Analyzer())
        self.log_tf = tf == "log"
        self.threads = threads
        self.seen = 0
        self.frequencies = np.zeros(0)
        self.numbers = np.zeros(0, np.int64)  # numbers in the stream of the kept documents
        self.rows = csr_array((0, 0), dtype=np.float32)
        self.columns = self.rows.tocsc()

    def weigh(self, texts: Any, counting: bool) -> Any:
        """Turn documents into unit vectors, weighted by the frequencies when each arrives."""
        indptr, terms, counts = self.terms.count(texts)
        more = len(self.terms) - len(self.frequencies)
        self.frequencies = np.concatenate([self.frequencies, np.zeros(more)])
        weigh(indptr, terms, counts, self.frequencies, self.seen, self.log_tf, counting)
        self.seen += len(texts) if counting else 0
        return Counted(indptr, terms, counts).to_sparse(len(self.terms))

    def keep(self, documents: Any, start: int, chosen: npt.NDArray[np.bool_]) -> Any:
        """Keep the chosen documents; return how many were kept before each of them."""
        from scipy.sparse import vstack

        kept = len(self.numbers)
        self.rows.resize(kept, documents.shape[1])
        self.rows = vstack([self.rows, documents[chosen]], format="csr")
        self.numbers = np.concatenate([self.numbers, start + np.flatnonzero(chosen)])
        return kept + np.cumsum(chosen) - chosen

    def index(self) -> None:
        """Update the index."""
        if self.columns.shape[0] < self.rows.shape[0]:
            self.columns = self.rows.tocsc()

    def nearest(self, documents: Any, before: Any) -> npt.NDArray[np.int64]:
        """Return the number of the nearest document ``before`` each document, or −1."""
        found = np.full(documents.shape[0], -1)
        bounds = np.linspace(0, len(found), self.threads + 1).astype(int)
        parts = [_arrays(matrix) for matrix in (self.rows, self.columns, documents)]
        indexed = self.columns.shape[0]

        def look(first: int, last: int) -> None:
            sums = np.zeros(indexed, np.float32)
            query = np.zeros(documents.shape[1], np.float32)
            find_nearest(*parts, before, first, last, sums, query, found)

        with ThreadPoolExecutor(self.threads) as threads:
            list(threads.map(look, bounds[:-1], bounds[1:]))
        some = found >= 0
        found[some] = self.numbers[found[some]]
        return found


def _arrays(matrix: Any) -> tuple[Any, Any, Any]:
    return matrix.indptr, matrix.indices, matrix.data


# ── kernels ──────────────────────────────────────────────────────────────────────────────────────

ENOUGH = 0.5
"""Stop adding words when the rest could add at most this fraction of the best sum."""
ROUNDING = 1e-5


@compiled
def weigh(indptr, terms, counts, frequencies, seen, log_tf, counting):  # type: ignore[no-untyped-def]
    """Replace counts by unit TF-IDF vectors; count the words of each document after it."""
    for document in range(indptr.shape[0] - 1):
        own = slice(indptr[document], indptr[document + 1])
        squared = 0.0
        for at in range(own.start, own.stop):
            tf = 1.0 + np.log(counts[at]) if log_tf else counts[at]
            weight = tf * np.log((seen + 1.0) / (frequencies[terms[at]] + 1.0))
            counts[at] = weight
            squared += weight * weight
        if squared > 0.0:
            counts[own] /= np.sqrt(squared)
        if counting:
            seen += 1
            for at in range(own.start, own.stop):
                frequencies[terms[at]] += 1.0


@compiled
def find_nearest(rows, columns, queries, before, first, last, sums, query, found):  # type: ignore[no-untyped-def]
    """Find the row ``before`` each query with the highest product, the first on ties.

    Matrices are (indptr, indices, data). ``columns`` holds the first rows, as many as there are
    ``sums``; ``query`` is zero before and after.
    """
    indptr, indices, data = queries
    for q in range(first, last):
        own = slice(indptr[q], indptr[q + 1])
        terms, weights = indices[own], data[own]
        best, rest = add_up(columns, terms, weights, sums)
        for at in range(terms.shape[0]):
            query[terms[at]] = weights[at]
        top = 0.0
        for row in range(before[q]):
            if row >= sums.shape[0] or sums[row] + rest >= best:
                value = product(rows, row, query)
                if value > top:
                    top, found[q] = value, row
                    best = max(best, top)
        for at in range(terms.shape[0]):
            query[terms[at]] = 0.0


@compiled
def add_up(columns, terms, weights, sums):  # type: ignore[no-untyped-def]
    """Add up products with all indexed rows, except for words that add little.

    Return the highest product so far, and the most that the other words can add.
    """
    indptr, indices, data = columns
    sums[:] = 0.0
    best, left = 0.0, np.sum(weights * weights)
    for at in np.argsort(-weights):
        if np.sqrt(left) < ENOUGH * best:
            break
        left = max(left - weights[at] * weights[at], 0.0)
        term, weight = terms[at], weights[at]
        if term >= indptr.shape[0] - 1:  # new since the index was made
            continue
        for entry in range(indptr[term], indptr[term + 1]):
            row = indices[entry]
            sums[row] += weight * data[entry]
            best = max(best, sums[row])
    return best, np.sqrt(left) + ROUNDING


@compiled
def product(rows, row, query):  # type: ignore[no-untyped-def]
    """Multiply one row with a query."""
    indptr, indices, data = rows
    total = 0.0
    for at in range(indptr[row], indptr[row + 1]):
        total += np.float64(data[at]) * query[indices[at]]
    return total


def _system(name: str, title: str, tf: str, written: str) -> System:
    return System(
        name=name,
        title=title,
        library="scipy",
        settings=f"k = 1, cosine, exact TF-IDF ({written} × ln(n / df) when a document arrives)",
        run=partial(run, tf),
    )


SYSTEMS = [
    _system("knn", "kNN", "count", "count"),
    # the first 5,000 of reuters21578 and arxiv: .349 / .739 and .250 / .496 with counts,
    # .345 / .743 and .284 / .541 with their logarithms
    _system("knn-log", "kNN, log TF", "log", "(1 + ln count)"),
]
