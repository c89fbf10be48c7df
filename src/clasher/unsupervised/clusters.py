"""Streaming clusters of unlabelled text: regions whose labels nobody gave."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import ModelFileError, SettingError
from clasher.kernels.scan import vote
from clasher.kernels.state import DOCUMENTS, LABELS, NOW, State
from clasher.kernels.unlabelled import cluster_documents
from clasher.labels import LabelIndex
from clasher.learning import memory, model_file
from clasher.learning.explain import WordWeight, top_words
from clasher.learning.model_file import Copied
from clasher.settings import Settings
from clasher.text.analyzer import Analyzer, Tokenizer
from clasher.text.hashing import Hashed, Hasher
from clasher.unsupervised.vectors import check_weighting

BATCH = 1024  # documents that are clustered together
MOST = 4096
PATIENCE = 100  # a cluster is stale when its turn has not come for this many rounds of k documents
NAME = "cluster {}"


class Assignments(NamedTuple):
    """The cluster of each document, −1 for none, and the cosine to its prototype.

    The cosine is that to the nearest prototype before the document was learnt.
    """

    clusters: npt.NDArray[np.int32]
    similarities: npt.NDArray[np.float32]


class Clusters(Copied):
    """Groups an endless stream of unlabelled text, in bounded memory.

    Spherical online k-means with the prototypes of the paper's Mode 1: a document goes to the
    cluster whose mean it has the largest cosine with, and is added to that mean. A document that
    is near to none of them begins a new cluster, while there are fewer than ``k``. The same stream
    gives the same clusters, however it is cut.

    Parameters
    ----------
    k
        The most clusters there can be, 1 to 4096.
    dimensions
        Buckets that words are hashed to.
    threshold
        A document begins a new cluster if its largest cosine is below this, between 0 and 1.
    recycle
        Whether a stale cluster, which was fed nothing for 100·k documents, makes room for a
        document that is near to none. If not, such a document goes to the nearest.
    half_life
        What was learnt this many documents ago weighs half of what is learnt now, in the means of
        the clusters as in the IDF. None: nothing is forgotten.
    words
        Whether to keep a word for each bucket, so that ``top_words`` can tell what clusters are
        about.
    weighting, tf, seed, analyzer
        As for :class:`clasher.settings.Settings`.

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

    The very first document is in no cluster: the IDF of all its words is 0 (Algorithm 3).
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
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST:
            raise SettingError.of("k", f"an integer from 1 to {MOST}", k, "Clusters")
        real = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not (real and 0 < threshold < 1):
            raise SettingError.of("threshold", "a number between 0 and 1", threshold, "Clusters")
        check_weighting(weighting, "Clusters")
        settings = Settings(
            dimensions=dimensions,
            rule="centroid",
            weighting=weighting,
            tf=tf,
            threshold=threshold,
            max_labels=k,
            on_full="evict" if recycle else "error",
            seed=seed,
            words=words,
            half_life=half_life,
            analyzer=Analyzer() if analyzer is None else analyzer,
        )
        self._set_up(settings, memory.allocate(settings, k))

    def _set_up(self, settings: Settings, state: State) -> None:
        self.settings = settings
        self._setting = settings.for_kernels()
        self._hasher = Hasher(
            settings.dimensions, settings.seed, settings.analyzer, keep_words=settings.words
        )
        self._state = state

    # ── what they are ────────────────────────────────────────────────────────────────────────

    @property
    def k(self) -> int:
        """The most clusters there can be."""
        return self.settings.max_labels

    @property
    def documents(self) -> int:
        """How many documents were learnt."""
        return int(self._state.totals[DOCUMENTS])

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many documents were fed to each cluster there is, as they faded where they do."""
        counts = self._state.counts / (self._state.clock[NOW] * self._state.gains)
        return np.asarray(np.rint(counts[: len(self)]), np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of all that is learnt; they never grow."""
        return sum(array.nbytes for array in self._state)

    def __len__(self) -> int:
        return int(self._state.totals[LABELS])

    def __repr__(self) -> str:
        return f"<Clusters {len(self)} of {self.k}, documents={self.documents}>"

    def top_words(self, cluster: int, n: int = 10) -> list[WordWeight]:
        """The words that draw a document most into a cluster, and how much; needs ``words=True``.

        A word weighs what one occurrence adds to the cosine before the length of the document is
        divided out.
        """
        if not 0 <= cluster < len(self):
            wanted = f"the number of a cluster, below {len(self)}"
            raise SettingError.of("cluster", wanted, cluster, "top_words")
        index = LabelIndex(self.k, self._names())
        return top_words(NAME.format(cluster), n, index, self._state, self._setting)

    def _names(self) -> list[str]:
        return [NAME.format(number) for number in range(len(self))]

    # ── learning and predicting ──────────────────────────────────────────────────────────────

    def hash_many(self, texts: Any) -> Hashed:
        """Hash documents ahead of time: reads no state, so it may run in another thread."""
        return self._hasher.hash_many(texts)

    def learn(self, text: str) -> int:
        """Add one document; returns the number of its cluster."""
        return int(self.learn_many([text]).clusters[0])

    def learn_many(self, texts: Any) -> Assignments:
        """Add many documents: the same as ``learn`` one by one."""
        return self._assign(texts, learning=True)

    def predict(self, text: str) -> int:
        """The number of the nearest cluster, −1 for none; changes nothing."""
        return int(self.predict_many([text]).clusters[0])

    def predict_many(self, texts: Any) -> Assignments:
        """The nearest clusters of many documents; changes nothing."""
        return self._assign(texts, learning=False)

    def _assign(self, texts: Any, *, learning: bool) -> Assignments:
        patience = PATIENCE * self.k if self.settings.on_full == "evict" else np.iinfo(np.int64).max
        work = memory.work_for(self._state)
        parts = []
        for hashed in self._hasher.batches(texts, BATCH):
            clusters = np.empty(hashed.documents, np.int32)
            cosines = np.empty(hashed.documents, np.float32)
            cluster_documents(
                hashed.indptr, hashed.buckets, hashed.counts, self._state, self._setting, work,
                self.k, np.int64(patience), learning, clusters, cosines,
            )  # fmt: skip
            if learning and self.settings.words:
                vote(hashed.indptr, hashed.buckets, hashed.words, self._state)
            parts.append(Assignments(clusters, cosines))
        return Assignments(
            np.concatenate([np.zeros(0, np.int32), *(part.clusters for part in parts)]),
            np.concatenate([np.zeros(0, np.float32), *(part.similarities for part in parts)]),
        )

    # ── the file ─────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        """Write them to a file, whole or not at all: that of a model with a label per cluster.

        A file that need not be there after a power cut may do without being ``durable``.
        """
        model_file.save(path, self.settings, self._names(), self._state, durable=durable)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read what ``save`` wrote; learning goes on as if it had never stopped."""
        settings, names, state, _ = model_file.load(path, tokenizer)
        clusters = cls.__new__(cls)
        clusters._set_up(settings, memory.grow(state, settings, settings.max_labels))
        if names != clusters._names():
            raise ModelFileError(f"{path!s}: a model with labels of its own, not clusters")
        return clusters

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        clusters = type(self).__new__(type(self))
        clusters._set_up(self.settings, State(*(array.copy() for array in self._state)))
        return clusters
