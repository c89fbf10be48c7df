"""What both estimators do alike: to read X, and to be pickled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from clasher.adapters.sklearn.inputs import features_of, texts_of
from clasher.errors import TextError
from clasher.hashing import Hashed
from clasher.model import Clasher
from clasher.model_bytes import packed, unpacked
from clasher.text import Buffers, as_buffers
from clasher.vectors import HashedTfidf


class Fitted(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator around something of ours that takes text or features: its ``_core``."""

    _core: str
    """The attribute that has it."""
    column: str | None

    @abstractmethod
    def _begun(self, texts: Buffers | None) -> Clasher | HashedTfidf:
        """A core that has learnt nothing, for text or (None) for ``n_features_in_`` features."""

    def _read(self, X: Any, *, reset: bool = False) -> Buffers | Hashed:
        """X as the core takes it; ``reset`` makes a new one, for what X is."""
        texts = self._texts(X, reset)
        if texts is None:
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float32)
        if reset:
            self.takes_text_ = texts is not None
            setattr(self, self._core, self._begun(texts))
        if texts is not None:
            return texts
        rows: Hashed = getattr(self, self._core).take_rows(*features_of(X))
        return rows

    def _texts(self, X: Any, reset: bool) -> Buffers | None:
        name = type(self).__name__
        texts = texts_of(X, self.column, name)
        if reset or (texts is not None) is self.takes_text_:
            return texts
        if self.takes_text_:
            return as_buffers(X)  # which says what is not text, and takes no documents at all
        raise TextError(
            f"this {name} was fitted with {self.n_features_in_} features. Got text instead; turn "
            f"it into features as before, or fit another one with text"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._core)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """All there is, the core as the bytes of its file and what these do not hold."""
        state = {**super().__getstate__()}
        if self._core in state:
            core = state[self._core]
            given = {"tokenizer": core.settings.analyzer.tokenizer}
            if isinstance(core, HashedTfidf):
                given["lead"] = core.lead
            state[self._core] = packed(core), given
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {**state}
        if self._core in state:
            content, given = state[self._core]
            kind = HashedTfidf if "lead" in given else Clasher
            state[self._core] = unpacked(content, kind.load, **given)
        super().__setstate__(state)


def plain(value: Any) -> Any:
    """A parameter as Python has it: searches hand out numbers of NumPy."""
    return value.item() if isinstance(value, np.generic) else value
