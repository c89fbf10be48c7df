"""Hashed TF-IDF vectors: Algorithm 3 without labels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher.errors import MissingExtraError, require
from clasher.kernels.state import State
from clasher.kernels.unlabelled import count_documents, weigh_documents
from clasher.learning import memory, model_file
from clasher.learning.hashed_model import HashedModel
from clasher.settings import Settings
from clasher.text.analyzer import Analyzer, Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_array


BATCH = 1024  # documents weighted together


class Weighed(NamedTuple):
    """Weights of buckets: ``weights[indptr[d]:indptr[d + 1]]`` for document ``d``.

    Each bucket comes once, in the order of its first word. A weight may be 0: signs cancel, and a
    word in every document has no weight.
    """

    indptr: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]

    @property
    def documents(self) -> int:
        return len(self.indptr) - 1

    def to_dense(self, dimensions: int) -> npt.NDArray[np.float32]:
        rows = np.repeat(np.arange(self.documents), np.diff(self.indptr))
        dense = np.zeros((self.documents, dimensions), np.float32)
        dense[rows, self.buckets] = self.weights
        return dense

    def to_sparse(self, dimensions: int) -> csr_array:
        try:
            from scipy.sparse import csr_array
        except ImportError as error:
            raise MissingExtraError.of("A sparse array", "sparse") from error
        is_small = len(self.buckets) <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32 if is_small else np.int64)  # some solvers need 32 bits
        arrays = (self.weights.copy(), self.buckets.copy(), indptr)
        sparse = csr_array(arrays, shape=(self.documents, dimensions))
        sparse.eliminate_zeros()
        sparse.sort_indices()
        return sparse


class HashedTfidf(HashedModel):
    """Turns text into hashed TF-IDF vectors, in bounded memory and without a vocabulary.

    Words are hashed to signed buckets (Algorithm 2) and weighted by document frequencies counted on
    the way (Algorithm 3). It is the first half of a ``clasher.Clasher``, for use with any
    model that takes vectors.

    Parameters
    ----------
    dimensions, weighting, tf, norm, seed, words, half_life, analyzer
        As for ``clasher.settings.Settings``, except weightings that need labels.
    lead
        Give the first words of a text more weight, as the margin rule does. Not saved in the file.

    Examples
    --------
    >>> vectors = HashedTfidf(dimensions=1024)
    >>> vectors.partial_fit(["wheat and corn", "corn and oil", "oil and gas"]).documents
    3
    >>> x = vectors.transform(["corn and wheat"])
    >>> x.shape, x.nnz, round(float((x @ x.T).sum()), 6)
    ((1, 1024), 2, 1.0)

    Its file is that of a model without labels; it can also read the file of a model with labels:

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
            dimensions=dimensions, weighting=weighting, tf=tf, norm=norm, seed=seed, words=words,
            half_life=half_life, analyzer=Analyzer() if analyzer is None else analyzer,
        )  # fmt: skip
        self._set_up(settings, memory.allocate(settings), lead)

    def _set_up(self, settings: Settings, state: State, lead: bool = False) -> None:
        super()._set_up(settings, memory.without_labels(state, settings))
        self._setting = self._setting._replace(lead=lead)

    @property
    def lead(self) -> bool:
        """Whether the first words of a text have more weight."""
        return self._setting.lead

    def __repr__(self) -> str:
        return f"<HashedTfidf dimensions={self.settings.dimensions} documents={self.documents}>"

    def partial_fit(self, texts: Any, y: object = None) -> Self:
        """Count the words of more documents; ignore ``y``."""
        for hashed in self._hasher.batches(texts, BATCH):
            indptr, buckets, _, *words = hashed.arrays
            work = memory.work_for(self._state, hashed)
            count_documents(indptr, buckets, *words, self._state, self._setting, work)
            self._vote(hashed)
        return self

    def transform(self, texts: Any) -> csr_array:
        """Return the vectors of documents, each as if it came next; change nothing.

        The result is a sparse array of SciPy; ``to_arrays`` and ``to_dense`` do not need SciPy.
        """
        return self.to_arrays(texts).to_sparse(self.settings.dimensions)

    def fit_transform(self, texts: Any, y: object = None) -> csr_array:
        """Weight each document by those before it, then count it: Algorithm 3 over a stream.

        Unlike batch transformers, this can go on for ever: earlier counts stay, and the weights of
        a document do not depend on later documents.
        """
        return self.step_arrays(texts).to_sparse(self.settings.dimensions)

    def to_arrays(self, texts: Any) -> Weighed:
        """Do the same as ``transform``; return plain arrays."""
        return self._weigh(texts, counting=False)

    def to_dense(self, texts: Any) -> npt.NDArray[np.float32]:
        """Do the same as ``transform``; return a dense row per document."""
        return self.to_arrays(texts).to_dense(self.settings.dimensions)

    def step_arrays(self, texts: Any) -> Weighed:
        """Do the same as ``fit_transform``; return plain arrays."""
        return self._weigh(texts, counting=True)

    def _weigh(self, texts: Any, *, counting: bool) -> Weighed:
        parts = []
        for hashed in self._hasher.batches(texts, BATCH):
            weights = np.empty(len(hashed.buckets), np.float32)
            work = memory.work_for(self._state, hashed)
            weigh_documents(*hashed.arrays, self._state, self._setting, work, counting, weights)
            if counting:
                self._vote(hashed)
            parts.append(Weighed(hashed.indptr, hashed.buckets, weights))
        ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
        indptr = [part.indptr[1:] + end for part, end in zip(parts, ends, strict=False)]
        return Weighed(
            np.concatenate([np.zeros(1, np.int64), *indptr]),
            np.concatenate([np.zeros(0, np.int32), *(part.buckets for part in parts)]),
            np.concatenate([np.zeros(0, np.float32), *(part.weights for part in parts)]),
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None, lead: bool = False
    ) -> Self:
        """Read what ``save`` wrote, or the word statistics of any model file."""
        settings, _, state, _ = model_file.load(path, tokenizer)
        vectors = cls.__new__(cls)
        vectors._set_up(settings, state, lead)
        return vectors

    def __reduce__(self) -> tuple[Any, ...]:
        return model_file.reduced(self, lead=self.lead)


def check_weighting(weighting: object, owner: str) -> None:
    """Refuse weightings that need labels."""
    must_be = "'tfidf' or 'tf', which need no labels"
    require(weighting in ("tfidf", "tf"), "weighting", must_be, weighting, owner)
