"""One session for all tests of this package, and streams to learn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from benchmarks.corpora import Corpus, synthetic
from tests.conftest import missing, optional


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A session of two threads; it ends with the process, as those of doctests do."""
    optional("pyspark", "spark")
    if shutil.which("java") is None:
        missing("java is missing: apt-get install openjdk-17-jre-headless")
    from clasher.adapters.spark import session

    return session("local[2]")


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """A small stream whose texts and labels repeat."""
    return synthetic(240, 8, words=12, vocabulary=300)
