"""Hashed TF-IDF, learnt online, as a scikit-learn transformer."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clasher.adapters.sklearn.inputs import Fitted, plain
from clasher.errors import SettingError
from clasher.settings import VectorSettings
from clasher.text.hashing import Hashed
from clasher.text.tokens import Buffers
from clasher.unsupervised.vectors import HashedTfidf, Weighed


@dataclass(eq=False, repr=False, kw_only=True)
class HashedTfidfVectorizer(
    OneToOneFeatureMixin, TransformerMixin, Fitted, VectorSettings,  # type: ignore[misc]
):  # fmt: skip
    """Turn text into hashed TF-IDF vectors online: no vocabulary, bounded memory.

    ``HashingVectorizer`` and ``TfidfTransformer`` in one pass, with ``partial_fit``: words are
    hashed to signed buckets and weighed by the document frequencies counted so far. It also weighs
    a matrix of counts, for example of a ``HashingVectorizer``.

    ``dimensions``, ``weighting`` (``tfidf`` or ``tf``), ``tf``, ``norm``, ``seed``, ``words`` (for
    ``get_feature_names_out``), ``half_life`` and ``analyzer`` are those of
    ``clasher.settings.Settings``.

    Parameters
    ----------
    lead : bool
        Let the first words of a text weigh more, as the margin rule does.
    sparse_output : bool
        Whether to return sparse matrices; ``set_output`` with data frames needs dense ones.
    column : str, optional
        The column of text, if X is a table.

    Attributes
    ----------
    vectors_ : clasher.HashedTfidf
        The document frequencies.
    takes_text_ : bool
        Whether X was text; otherwise ``n_features_in_`` is the number of columns.

    Examples
    --------
    >>> from clasher.adapters.sklearn import HashedTfidfVectorizer
    >>> vectorizer = HashedTfidfVectorizer(dimensions=1024, words=True)
    >>> for day in (["wheat and corn", "corn and oil"], ["oil and gas", "gas and corn"]):
    ...     vectorizer = vectorizer.partial_fit(day)
    >>> X = vectorizer.transform(["corn or wheat"])
    >>> X.shape
    (1, 1024)
    >>> [str(name).partition(":")[2] for name in vectorizer.get_feature_names_out()[X.indices]]
    ['wheat', '', 'corn']
    """

    _core: ClassVar[str] = "vectors_"
    lead: bool = False
    sparse_output: bool = True
    column: str | None = None

    def fit(self, X: Any, y: object = None) -> Self:
        """Count the words of documents from scratch; ``y`` is ignored."""
        self._count(X, reset=True)
        return self

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Count the words of more documents; ``y`` is ignored."""
        self._count(X, reset=not self.__sklearn_is_fitted__())
        return self

    def transform(self, X: Any) -> Any:
        """Weigh documents, each as if it were the next of the stream; changes nothing."""
        check_is_fitted(self)
        return self._matrix(self.vectors_.to_arrays(self._read(X)))

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Do ``fit``, then ``transform``: all documents count before the first is weighed."""
        documents = self._count(X, reset=True)
        return self._matrix(self.vectors_.to_arrays(documents))

    def partial_fit_transform(self, X: Any, y: object = None) -> Any:
        """Weigh each document by those before it, then count it, as a stream needs.

        The weights do not depend on how the stream is cut into calls.
        """
        documents = self._read(X, reset=not self.__sklearn_is_fitted__())
        return self._matrix(self.vectors_.step_arrays(documents))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return a name for each bucket, with its word if kept; a matrix keeps its names."""
        check_is_fitted(self)
        if not self.takes_text_:
            return np.asarray(super().get_feature_names_out(input_features))
        settings, names = self.vectors_.settings, []
        for bucket in range(settings.dimensions):
            word = self.vectors_.word_of(bucket) if settings.words else None
            names.append(f"bucket{bucket}" if word is None else f"bucket{bucket}:{word}")
        return np.array(names, object)

    def _count(self, X: Any, reset: bool) -> Hashed:
        read = self._read(X, reset=reset)  # makes the vectors
        documents: Hashed = self.vectors_.hash_many(read)
        self.vectors_.partial_fit(documents)
        return documents

    def _new_core(self, texts: Buffers | None) -> HashedTfidf:
        names = [*(f.name for f in fields(VectorSettings)), "lead"]
        given = {name: plain(getattr(self, name)) for name in names}
        if texts is None:
            for name in ("words", "lead"):
                if given[name]:
                    must_be = "False for a matrix, which has no words"
                    raise SettingError.of(name, must_be, given[name], type(self).__name__)
            given["dimensions"] = max(2, self.n_features_in_)
        return HashedTfidf(**given)

    def _matrix(self, weighed: Weighed) -> Any:
        dimensions = self.vectors_.settings.dimensions if self.takes_text_ else self.n_features_in_
        if not self.sparse_output:
            return weighed.to_dense(dimensions)
        sparse = weighed.to_sparse(dimensions)
        # a setting of scikit-learn since 1.9
        arrays = get_config().get("sparse_interface", "spmatrix") == "sparray"
        return sparse if arrays else csr_matrix(sparse)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
