"""Near-duplicates and most similar documents among the latest of a stream."""

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from clasher.errors import LabelError, is_integer, is_number, require
from clasher.kernels.similar import NONE, Found, Ring, add_documents, is_kept, multiply
from clasher.text.analyzer import Analyzer
from clasher.text.hashing import Hashed
from clasher.unsupervised.vectors import HashedTfidf

ENTRIES_PER_DOCUMENT = 100  # on average; of longer documents, fewer are kept
MOST = 10**7


class Match(NamedTuple):
    """A document of the window and its cosine with the given one."""

    id: Hashable
    similarity: float


class Duplicate(NamedTuple):
    """A document that nearly equals an earlier one."""

    id: Hashable
    of: Hashable
    similarity: float


class Similar:
    """Remembers the latest documents of a stream, and finds those similar to another.

    Documents are compared by the cosine of their hashed TF-IDF. Memory is bounded: at most
    ``window`` documents with 100 distinct words each on average; if documents are longer, the
    window is shorter. An inverted index looks only at documents that share a word.

    Parameters
    ----------
    window
        The number of documents to remember, 1 to 10,000,000.
    dimensions, weighting, tf, seed, analyzer
        As for ``clasher.settings.Settings``.

    Examples
    --------
    >>> from clasher import Similar
    >>> similar = Similar(window=1000, dimensions=4096)
    >>> found = similar.near_duplicates(
    ...     ["gold is found", "oil prices rise", "wheat harvest falls", "OIL PRICES rise!"],
    ...     ids=["a", "b", "c", "d"],
    ... )
    >>> [(copy.id, copy.of, round(copy.similarity, 3)) for copy in found]
    [('d', 'b', 1.0)]
    >>> [match.id for match in similar.most_similar("a harvest of wheat", n=3)]
    ['c']

    The first document is similar to none: the IDF of all its words is 0 (Algorithm 3).
    """

    def __init__(
        self,
        window: int = 10_000,
        dimensions: int = 65536,
        *,
        weighting: str = "tfidf",
        tf: str = "log",
        seed: int = 0,
        analyzer: Analyzer | None = None,
    ) -> None:
        is_valid = is_integer(window, 1, MOST)
        require(is_valid, "window", f"an integer from 1 to {MOST}", window, "Similar")
        self._vectors = HashedTfidf(
            dimensions, weighting=weighting, tf=tf, norm="l2", seed=seed, analyzer=analyzer
        )
        entries = max(window * ENTRIES_PER_DOCUMENT, dimensions)  # any single document fits
        self._ring = Ring(
            totals=np.zeros(2, np.int64),
            heads=np.full(dimensions, NONE, np.int32),
            buckets=np.zeros(entries, np.int32),
            documents=np.zeros(entries, np.int64),
            weights=np.zeros(entries, np.float32),
            older=np.full(entries, NONE, np.int32),
            firsts=np.zeros(window, np.int64),
        )
        self._ids: list[Hashable] = [None] * window

    @property
    def window(self) -> int:
        """The maximum number of documents remembered."""
        return len(self._ids)

    @property
    def documents(self) -> int:
        """The number of documents added."""
        return self._vectors.documents

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays; they never grow."""
        return self._vectors.nbytes + sum(array.nbytes for array in self._ring)

    def __len__(self) -> int:
        """The number of documents remembered now."""
        latest = range(max(0, self.documents - self.window), self.documents)
        return sum(bool(is_kept(self._ring, np.int64(document))) for document in latest)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # never shallow: both would write into the same window

    def __repr__(self) -> str:
        return f"<Similar window={self.window} documents={self.documents}>"

    def hash_many(self, texts: Any) -> Hashed:
        """Hash documents ahead of time; this reads no state, so another thread may do it."""
        return self._vectors.hash_many(texts)

    def most_similar(self, text: str, n: int = 10) -> list[Match]:
        """Return the ``n`` documents of the window with the largest cosines; change nothing."""
        weighed = self._vectors.to_arrays([text])
        found = self._scratch()
        count = multiply(self._ring, weighed.buckets, weighed.weights, found)
        documents = found.documents[:count]
        cosines = found.products[documents % self.window]
        best = np.lexsort((documents, -cosines))[:n]
        pairs = ((self._ids[documents[at] % self.window], float(cosines[at])) for at in best)
        return [Match(id_, min(cosine, 1.0)) for id_, cosine in pairs if cosine > 0]

    def add_many(self, texts: Any, ids: Sequence[Hashable] | None = None) -> list[Match | None]:
        """Add documents; return the most similar earlier one of each, None if none shares a word.

        Without ``ids``, documents are numbered from 0 in the order of their arrival.
        """
        hashed = self._vectors.hash_many(texts)
        if ids is None:
            ids = range(self.documents, self.documents + hashed.documents)
        if len(ids) != hashed.documents:
            raise LabelError(
                f"every document needs an id. Got {hashed.documents} documents and {len(ids)} ids."
            )
        matches: list[Match | None] = []
        for start in range(0, hashed.documents, self.window):  # ids must outlive their matches
            stop = min(start + self.window, hashed.documents)
            matches += self._add(hashed.part(start, stop), ids[start:stop])
        return matches

    def near_duplicates(
        self, texts: Any, ids: Sequence[Hashable] | None = None, threshold: float = 0.9
    ) -> list[Duplicate]:
        """Add documents; return those with an earlier one of at least this cosine."""
        check_threshold(threshold)
        first = self.documents
        matches = self.add_many(texts, ids)
        names: Iterable[Hashable] = range(first, self.documents) if ids is None else ids
        found = ((id_, *match) for id_, match in zip(names, matches, strict=True) if match)
        return [Duplicate(*pair) for pair in found if pair[2] >= threshold]

    def _add(self, hashed: Hashed, ids: Sequence[Hashable]) -> list[Match | None]:
        first = self.documents
        weighed = self._vectors.step_arrays(hashed)
        nearest = np.empty(weighed.documents, np.int64)
        cosines = np.empty(weighed.documents, np.float32)
        add_documents(*weighed, self._ring, self._scratch(), nearest, cosines)
        matches: list[Match | None] = []
        for document, cosine in zip(nearest.tolist(), cosines.tolist(), strict=True):
            is_new = document >= first
            name = ids[document - first] if is_new else self._ids[document % self.window]
            matches.append(Match(name, min(cosine, 1.0)) if document >= 0 else None)
        for at, id_ in enumerate(ids):
            self._ids[(first + at) % self.window] = id_
        return matches

    def _scratch(self) -> Found:
        kinds = (np.float32, np.bool_, np.int64)
        return Found(*(np.zeros(self.window, kind) for kind in kinds))


def check_threshold(value: object) -> None:
    """Refuse a threshold that is not in (0, 1]."""
    is_valid = is_number(value, 0.0, 1.0) and value != 0
    require(is_valid, "threshold", "a number above 0 and at most 1", value, "near_duplicates")
