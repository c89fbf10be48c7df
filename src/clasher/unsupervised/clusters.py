"""Streaming clusters of unlabelled text."""

import os
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import ModelFileError, is_integer, is_number, require
from clasher.kernels.state import LABELS, NOW
from clasher.kernels.unlabelled import cluster_documents
from clasher.learning import memory, model_file
from clasher.learning.explain import WordWeight, top_words
from clasher.learning.hashed_model import HashedModel
from clasher.settings import Settings
from clasher.text.analyzer import Analyzer, Tokenizer
from clasher.unsupervised.vectors import check_weighting

BATCH = 1024  # documents clustered together
MOST = 4096
PATIENCE = 100  # a cluster is stale if it got no document for this many times k documents


class Assignments(NamedTuple):
    """The cluster of each document, −1 for none, and its cosine with it before it was learnt."""

    clusters: npt.NDArray[np.int32]
    similarities: npt.NDArray[np.float32]


class Clusters(HashedModel):
    """Groups an endless stream of unlabelled text, in bounded memory.

    Spherical online k-means with the prototypes of the paper's Mode 1: a document joins the cluster
    whose mean has the largest cosine with it, and is added to that mean. A document far from all of
    them starts a new cluster, while there are fewer than ``k``. The same stream gives the same
    clusters, however it is cut.

    Parameters
    ----------
    k
        The maximum number of clusters, 1 to 4096.
    dimensions
        The number of buckets that words are hashed to.
    threshold
        A document starts a new cluster if its largest cosine is below this, between 0 and 1.
    recycle
        Whether a document far from all clusters replaces a stale one, which got no document for
        100·k documents. Otherwise it joins the nearest.
    half_life
        A document this many documents ago counts half as much as a new one, in the cluster means
        and in the IDF. None: nothing is forgotten.
    words
        Whether to keep a word for each bucket, for ``top_words``.
    weighting, tf, seed, analyzer
        As for ``clasher.settings.Settings``.

    Examples
    --------
    >>> from clasher import Clusters
    >>> texts = ["wheat corn harvest", "bank rates interest", "corn harvest good",
    ...          "bank interest high", "wheat harvest", "interest rates of a bank"]
    >>> clusters = Clusters(k=2, dimensions=1024)
    >>> clusters.learn_many(texts).clusters.tolist()
    [-1, 0, 1, 0, 1, 0]
    >>> clusters.predict("a harvest of corn"), clusters.sizes.tolist()
    (1, [3, 2])
    >>> {"bank", "interest"} < {word for word, weight in clusters.top_words(0, n=5)}
    True

    The first document is in no cluster: the IDF of all its words is 0 (Algorithm 3).
    """

    def __init__(
        self,
        k: int = 20,
        dimensions: int = 65536,
        *,
        threshold: float = 0.2,
        recycle: bool = False,
        half_life: float | None = None,
        words: bool = True,
        weighting: str = "tfidf",
        tf: str = "log",
        seed: int = 0,
        analyzer: Analyzer | None = None,
    ) -> None:
        require(is_integer(k, 1, MOST), "k", f"an integer from 1 to {MOST}", k, "Clusters")
        between = is_number(threshold, 0.0, 1.0) and threshold not in (0, 1)
        require(between, "threshold", "a number between 0 and 1", threshold, "Clusters")
        check_weighting(weighting, "Clusters")
        settings = Settings(
            dimensions=dimensions, rule="centroid", weighting=weighting, tf=tf,
            threshold=threshold, max_labels=k, on_full="evict" if recycle else "error", seed=seed,
            words=words, half_life=half_life,
            analyzer=Analyzer() if analyzer is None else analyzer,
        )  # fmt: skip
        self._set_up(settings, memory.allocate(settings, k))

    @property
    def k(self) -> int:
        """The maximum number of clusters."""
        return self.settings.max_labels

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of documents of each cluster, as they faded with a ``half_life``."""
        counts = self._state.counts / (self._state.clock[NOW] * self._state.gains)
        return np.asarray(np.rint(counts[: len(self)]), np.int64)

    def __len__(self) -> int:
        return int(self._state.totals[LABELS])

    def __repr__(self) -> str:
        return f"<Clusters {len(self)} of {self.k}, documents={self.documents}>"

    def top_words(self, cluster: int, n: int = 10) -> list[WordWeight]:
        """Return the words that speak most for a cluster, with their weights; needs ``words=True``.

        The weight of a word is what one occurrence adds to the cosine, before it is divided by the
        length of the document.
        """
        must_be = f"the number of a cluster, below {len(self)}"
        require(0 <= cluster < len(self), "cluster", must_be, cluster, "top_words")
        return top_words(cluster, n, self._state, self._setting)

    def _names(self) -> list[str]:
        return [f"cluster {number}" for number in range(len(self))]

    def learn(self, text: str) -> int:
        """Add one document; return the number of its cluster."""
        return int(self.learn_many([text]).clusters[0])

    def learn_many(self, texts: Any) -> Assignments:
        """Add many documents: the same as ``learn`` for each."""
        return self._assign(texts, learning=True)

    def predict(self, text: str) -> int:
        """Return the number of the nearest cluster, −1 for none; change nothing."""
        return int(self.predict_many([text]).clusters[0])

    def predict_many(self, texts: Any) -> Assignments:
        """Return the nearest clusters of many documents; change nothing."""
        return self._assign(texts, learning=False)

    def _assign(self, texts: Any, *, learning: bool) -> Assignments:
        patience = PATIENCE * self.k if self.settings.on_full == "evict" else np.iinfo(np.int64).max
        work = memory.work_for(self._state)
        parts = []
        for hashed in self._hasher.batches(texts, BATCH):
            clusters = np.empty(hashed.documents, np.int32)
            cosines = np.empty(hashed.documents, np.float32)
            step = partial(
                cluster_documents, hashed.indptr, hashed.buckets, hashed.counts, self._state,
                self._setting, work, self.k, np.int64(patience), learning, clusters, cosines,
            )  # fmt: skip
            memory.in_steps(self._state, self.settings, hashed.documents, step)
            if learning:
                self._vote(hashed)
            parts.append((clusters, cosines))
        empty = (np.zeros(0, np.int32), np.zeros(0, np.float32))
        return Assignments(*map(np.concatenate, zip(empty, *parts, strict=True)))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read what ``save`` wrote; learning continues where it stopped."""
        settings, names, state, _ = model_file.load(path, tokenizer)
        clusters = cls.__new__(cls)
        clusters._set_up(settings, memory.grow(state, settings, settings.max_labels))
        if names != clusters._names():
            raise ModelFileError(f"{path!s}: a model with labels of its own, not clusters")
        return clusters
