"""A stream to learn."""

from __future__ import annotations

import pytest

from support.corpora import Corpus, synthetic


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """A small stream whose texts and labels repeat."""
    return synthetic(240, 8, words=12, vocabulary=300)
