"""The hashed TF-IDF as a vector of its own: Algorithm 3 without labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import MissingExtraError, SettingError
from clasher.kernels.scan import vote
from clasher.kernels.state import DOCUMENTS, State
from clasher.kernels.unlabelled import count_documents, weigh_documents
from clasher.learning import explain as behind
from clasher.learning import memory, model_file
from clasher.learning.model_file import Copied
from clasher.settings import Settings
from clasher.text import hashing
from clasher.text.analyzer import Analyzer, Tokenizer
from clasher.text.hashing import Hashed, Hasher

if TYPE_CHECKING:
    from scipy.sparse import csr_array


BATCH = 1024  # documents that are weighed together


class Weighed(NamedTuple):
    """Documents as weights of buckets.

    Document ``d`` has ``weights[indptr[d]:indptr[d + 1]]`` in ``buckets[indptr[d]:indptr[d + 1]]``,
    each bucket once, in the order of its first word. A weight may be 0: signs cancel, and words in
    every document weigh nothing.
    """

    indptr: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.indptr) - 1

    def to_dense(self, dimensions: int) -> npt.NDArray[np.float32]:
        """A row per document, a column per bucket."""
        rows = np.repeat(np.arange(self.documents), np.diff(self.indptr))
        dense = np.zeros((self.documents, dimensions), np.float32)
        dense[rows, self.buckets] = self.weights
        return dense

    def to_sparse(self, dimensions: int) -> csr_array:
        """A sparse array of SciPy, its columns sorted and without zeros."""
        try:
            from scipy.sparse import csr_array
        except ImportError as error:
            raise MissingExtraError.of("A sparse array", "sparse") from error
        is_small = len(self.buckets) <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32 if is_small else np.int64)  # many solvers want 32 bits
        sparse = csr_array(
            (self.weights.copy(), self.buckets.copy(), indptr),
            shape=(self.documents, dimensions),
        )
        sparse.eliminate_zeros()
        sparse.sort_indices()
        return sparse


class HashedTfidf(Copied):
    """Turns text into hashed TF-IDF vectors, in bounded memory and without a vocabulary.

    Words are hashed to signed buckets (Algorithm 2) and weighed by document frequencies that are
    counted on the way (Algorithm 3). It is the first half of a :class:`clasher.Clasher`, for use
    with any model that takes vectors.

    Parameters
    ----------
    dimensions, weighting, tf, norm, seed, words, half_life, analyzer
        As for :class:`clasher.settings.Settings`, but for weightings that ask for labels.
    lead
        Let the first words of a text weigh more, as they do for the margin rule. Not noted in the
        file.

    Examples
    --------
    >>> vectors = HashedTfidf(dimensions=1024)
    >>> vectors.partial_fit(["wheat and corn", "corn and oil", "oil and gas"]).documents
    3
    >>> x = vectors.transform(["corn and wheat"])
    >>> x.shape, x.nnz, round(float((x @ x.T).sum()), 6)
    ((1, 1024), 2, 1.0)

    What is written can be read as a model without labels, and the other way round:

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "words.clasher")
    >>> vectors.save(path)
    >>> HashedTfidf.load(path).documents
    3
    """

    def __init__(
        self,
        dimensions: int = 65536,
        *,
        weighting: str = "tfidf",
        tf: str = "log",
        norm: str = "l2",
        seed: int = 0,
        words: bool = False,
        half_life: float | None = None,
        analyzer: Analyzer | None = None,
        lead: bool = False,
    ) -> None:
        check_weighting(weighting, "HashedTfidf")
        settings = Settings(
            dimensions=dimensions,
            weighting=weighting,
            tf=tf,
            norm=norm,
            seed=seed,
            words=words,
            half_life=half_life,
            analyzer=Analyzer() if analyzer is None else analyzer,
        )
        self._set_up(settings, memory.allocate(settings), lead)

    def _set_up(self, settings: Settings, state: State, lead: bool) -> None:
        self.settings = settings
        self._setting = settings.for_kernels()._replace(lead=lead)
        self._hasher = Hasher(
            settings.dimensions, settings.seed, settings.analyzer,
            keep_words=settings.keeps_words or settings.depth > 1,
        )  # fmt: skip
        self._state = memory.without_labels(state, settings)

    @property
    def documents(self) -> int:
        """How many documents were counted."""
        return int(self._state.totals[DOCUMENTS])

    @property
    def lead(self) -> bool:
        """Whether the first words of a text weigh more."""
        return self._setting.lead

    @property
    def nbytes(self) -> int:
        """Bytes of all that is learnt; they never grow."""
        return sum(array.nbytes for array in self._state)

    def __repr__(self) -> str:
        return f"<HashedTfidf dimensions={self.settings.dimensions} documents={self.documents}>"

    def hash_many(self, texts: Any) -> Hashed:
        """Hash documents ahead of time: reads no state, so it may run in another thread."""
        return self._hasher.hash_many(texts)

    def take_rows(self, indptr: Any, buckets: Any, counts: Any) -> Hashed:
        """Documents that were counted elsewhere, for all that takes many documents.

        The rows of a sparse matrix, as for ``Clasher.take_rows``.
        """
        return hashing.take_rows(self._hasher, indptr, buckets, counts)

    def word_of(self, bucket: int) -> str | None:
        """The word behind a bucket, where one is known; needs ``words=True``."""
        return behind.word_of(self._state, bucket)

    # ── counting and weighing ────────────────────────────────────────────────────────────────

    def partial_fit(self, texts: Any, y: object = None) -> Self:
        """Count the words of more documents; ``y`` is not looked at."""
        for hashed in self._hasher.batches(texts, BATCH):
            words = hashed.words
            count_documents(
                hashed.indptr, hashed.buckets, words.indptr, words.places, words.keys,
                self._state, self._setting, memory.work_for(self._state, len(words.keys)),
            )  # fmt: skip
            self._vote(hashed)
        return self

    def transform(self, texts: Any) -> csr_array:
        """Weigh documents as if each were the next one to be counted; changes nothing.

        Returns a sparse array of SciPy; ``to_arrays`` and ``to_dense`` do without that library.
        """
        return self.to_arrays(texts).to_sparse(self.settings.dimensions)

    def fit_transform(self, texts: Any, y: object = None) -> csr_array:
        """Weigh each document by those before it, then count it: Algorithm 3 over a stream.

        Unlike that of batch transformers, which weigh all documents by all of them, this can go on
        for ever: what is counted before stays counted, and a document's weights do not depend on
        those that come after it.
        """
        return self.step_arrays(texts).to_sparse(self.settings.dimensions)

    def to_arrays(self, texts: Any) -> Weighed:
        """Like ``transform``, as plain arrays."""
        return _joined(self._weighed(texts, counting=False))

    def to_dense(self, texts: Any) -> npt.NDArray[np.float32]:
        """Like ``transform``, as a row of all dimensions per document."""
        return self.to_arrays(texts).to_dense(self.settings.dimensions)

    def step_arrays(self, texts: Any) -> Weighed:
        """Like ``fit_transform``, as plain arrays."""
        return _joined(self._weighed(texts, counting=True))

    def _weighed(self, texts: Any, *, counting: bool) -> Iterator[Weighed]:
        for hashed in self._hasher.batches(texts, BATCH):
            words = hashed.words
            weights = np.empty(len(hashed.buckets), np.float32)
            weigh_documents(
                hashed.indptr, hashed.buckets, hashed.counts,
                words.indptr, words.places, words.keys, self._state, self._setting,
                memory.work_for(self._state, len(words.keys)), counting, weights,
            )  # fmt: skip
            if counting:
                self._vote(hashed)
            yield Weighed(hashed.indptr, hashed.buckets, weights)

    def _vote(self, hashed: Hashed) -> None:
        if self.settings.keeps_words:
            vote(hashed.indptr, hashed.buckets, hashed.words, self._state)

    # ── the file ─────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        """Write it to a file, whole or not at all: that of a model without labels.

        A file that need not be there after a power cut may do without being ``durable``.
        """
        model_file.save(path, self.settings, [], self._state, durable=durable)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        tokenizer: Tokenizer | None = None,
        lead: bool = False,
    ) -> Self:
        """Read what ``save`` wrote, or take the word statistics out of a model file."""
        settings, _, state, _ = model_file.load(path, tokenizer)
        vectors = cls.__new__(cls)
        vectors._set_up(settings, state, lead)
        return vectors

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        vectors = type(self).__new__(type(self))
        vectors._set_up(self.settings, State(*(array.copy() for array in self._state)), self.lead)
        return vectors

    def _beside_the_file(self) -> dict[str, Any]:
        return {**super()._beside_the_file(), "lead": self.lead}


def check_weighting(weighting: object, owner: str) -> None:
    """Refuse weightings that ask for labels."""
    if weighting not in ("tfidf", "tf"):
        wanted = "'tfidf' or 'tf', which ask for no labels"
        raise SettingError.of("weighting", wanted, weighting, owner)


def _joined(parts: Iterator[Weighed]) -> Weighed:
    """Some batches as one."""
    found = list(parts)
    ends = np.cumsum([0, *(part.indptr[-1] for part in found)])
    indptr = [part.indptr[1:] + end for part, end in zip(found, ends, strict=False)]
    return Weighed(
        np.concatenate([np.zeros(1, np.int64), *indptr]),
        np.concatenate([np.zeros(0, np.int32), *(part.buckets for part in found)]),
        np.concatenate([np.zeros(0, np.float32), *(part.weights for part in found)]),
    )
