"""The base of all models: settings, a hasher, arrays, and a file."""

import os
from typing import Any, Self

from clasher.kernels.scan import vote
from clasher.kernels.state import DOCUMENTS, State
from clasher.learning import drift, explain, memory, model_file
from clasher.settings import Settings
from clasher.text.hashing import Hashed, Hasher, take_rows


class HashedModel:
    """A model of hashed documents."""

    _watch: drift.Watch | None = None

    def _set_up(self, settings: Settings, state: State) -> None:
        self.settings = settings
        self._setting = settings.for_kernels()
        self._constants = self._setting.constants
        self._hasher = Hasher(
            settings.dimensions, settings.seed, settings.analyzer,
            keep_words=settings.keeps_words or settings.depth > 1,
        )  # fmt: skip
        self._state = state

    @property
    def documents(self) -> int:
        """The number of documents seen, labelled or not."""
        return int(self._state.totals[DOCUMENTS])

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, as far as they are in use."""
        return memory.used_bytes(self._state)

    def hash_many(self, texts: Any) -> Hashed:
        """Hash documents ahead of time; this reads no state, so another thread may do it."""
        return self._hasher.hash_many(texts)

    def take_rows(self, indptr: Any, buckets: Any, weights: Any) -> Hashed:
        """Turn the rows of a sparse matrix into documents for ``learn_many`` and the like.

        Document ``d`` has ``weights[indptr[d]:indptr[d + 1]]`` in ``buckets[indptr[d]:indptr[d +
        1]]``, each bucket once. With ``weighting="given"`` the weights are taken as they are
        (scaled to unit length with ``norm="l2"``); other weightings take them for word counts.

        >>> from clasher import Clasher
        >>> model = Clasher(4, weighting="given")
        >>> rows = model.take_rows([0, 2, 3], [0, 1, 3], [0.5, 2.0, -1.0])
        >>> model.learn_many(rows, [{"left"}, {"right"}])
        >>> model.predict_many(rows)[0]
        {'left'}
        """
        return take_rows(self._hasher, indptr, buckets, weights)

    def word_of(self, bucket: int) -> str | None:
        """Return the word kept for a bucket, None if there is none yet; needs ``words=True``."""
        return explain.word_of(self._state, bucket)

    def _names(self) -> list[str]:
        return []

    def _vote(self, hashed: Hashed) -> None:
        if self.settings.keeps_words:
            vote(hashed.indptr, hashed.buckets, hashed.words, self._state)

    def save(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        """Write the model to a file, whole or not at all; equal models give equal bytes.

        Without ``durable`` the file may be lost in a power cut.
        """
        alarms = () if self._watch is None else self._watch.alarms
        model_file.save(path, self.settings, self._names(), self._state, alarms, durable)

    def __copy__(self) -> Self:
        return self.__deepcopy__({})  # never shallow: both would learn into the same arrays

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        model = type(self).__new__(type(self))
        vars(model).update(vars(self), _state=memory.copy(self._state))
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return model_file.reduced(self)
