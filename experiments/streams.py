"""Streams of experiments: which documents, in which order."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support import corpora
from support.corpora import Corpus

SYNTHETIC = "synthetic"


class Stream(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The stream of an experiment.

    Parameters
    ----------
    name
        A corpus, that is a Parquet file of that name in the data folder, or ``synthetic``.
    order
        ``stored``, as in the file; ``shuffled`` with a fixed seed; or ``days``, the split of
        section 6.3: documents of even days first, then those of odd days as a test set. Without
        dates, every second document counts as one of an odd day.
    limit
        Use only this many documents from the start.
    documents, labels, words
        The size of a synthetic stream: documents, labels, and words per document.
    """

    name: str
    order: Literal["stored", "shuffled", "days"] = "stored"
    limit: int | None = None
    documents: int = 1000
    labels: int = 20
    words: int = 40

    @classmethod
    def of(cls, given: str | Stream) -> Stream:
        """Make a stream; a name means the whole corpus in its stored order."""
        return given if isinstance(given, Stream) else cls(given)

    @property
    def title(self) -> str:
        """Its name in tables."""
        name = f"{SYNTHETIC}-{self.labels}" if self.name == SYNTHETIC else self.name
        return f"{name}, shuffled" if self.order == "shuffled" else name

    def path(self, data: Path) -> Path | None:
        """Return its file, if any."""
        return None if self.name == SYNTHETIC else data / f"{self.name}.parquet"

    def fault(self, data: Path) -> str:
        """Say what is wrong with its file and how to fix it; empty if the file is fine."""
        path = self.path(data)
        if path is None:
            return ""
        if not path.is_file():
            return (
                f"{path.name}, which is not in {data}: name the folder of the corpora with --data, "
                "make the file with `clasher datasets`, or try a quick run with --small"
            )
        try:
            missing = {"text", "labels"} - set(pq.read_schema(path).names)
        except pa.ArrowException:
            return f"{path}, which is not a complete Parquet file: download or make it again"
        names = " and ".join(sorted(missing))
        return f"{names} in {path}, which has no such columns" if missing else ""

    def digest(self, data: Path) -> str:
        """Hash the documents."""
        path = self.path(data)
        if path is None:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def load(self, data: Path) -> tuple[Corpus, int | None]:
        """Load the documents; return them and the start of the test set, if any."""
        path = self.path(data)
        if path is None:
            corpus = corpora.synthetic(self.documents, self.labels, words=self.words)
        else:
            corpus = corpora.load(path)
        corpus = corpus.head(self.limit)
        if self.order == "shuffled":
            return corpus.shuffled(), None
        if self.order == "days":
            return by_days(corpus, odd_days(path, len(corpus)))
        return corpus, None


def odd_days(path: Path | None, documents: int) -> np.ndarray:
    """Mark the documents of odd days of the month."""
    if path is not None and "date" in pq.read_schema(path).names:
        dates = pq.read_table(path, columns=["date"])["date"][:documents]
        if not dates.null_count:
            days = np.array([int(date.as_py()[8:10]) for date in dates])
            return days % 2 == 1
    return np.arange(documents) % 2 == 1


def by_days(corpus: Corpus, odd: np.ndarray) -> tuple[Corpus, int]:
    """Put documents of even days first; return the stream and where the odd days begin.

    >>> stream, start = by_days(corpora.synthetic(10, 2), np.arange(10) % 2 == 1)
    >>> len(stream), start
    (10, 5)
    """
    order = pa.array(np.concatenate([np.flatnonzero(~odd), np.flatnonzero(odd)]))
    texts, labels = corpus.texts.take(order), corpus.labels.take(order)
    split = replace(corpus, texts=texts, labels=labels, order="even days, then odd days")
    return split, int((~odd).sum())
