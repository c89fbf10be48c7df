"""The streams of benchmarks: corpora on disk, or a synthetic one if there is none.

A corpus is a Parquet file with the columns ``id``, ``date``, ``text`` and ``labels`` (a list of
text), in stream order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 0
"""Seed of every shuffle and of the synthetic stream."""

PROJECT = Path(__file__).resolve().parent.parent
DATA = PROJECT.parent / "shared" / "data"


@dataclass(frozen=True)
class Corpus:
    """A stream of labelled documents in memory."""

    name: str
    texts: pa.StringArray
    labels: pa.ListArray
    order: str

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def label_names(self) -> list[str]:
        """All labels, sorted, for peers that need a fixed list."""
        return sorted(pc.unique(self.labels.flatten()).to_pylist())

    def head(self, documents: int | None) -> Corpus:
        """Return the first ``documents`` of the stream, or all for None."""
        return replace(self, texts=self.texts[:documents], labels=self.labels[:documents])

    def shuffled(self, seed: int = SEED) -> Corpus:
        """Return the documents in random order."""
        order = pa.array(np.random.default_rng(seed).permutation(len(self)))
        return replace(
            self,
            texts=self.texts.take(order),
            labels=self.labels.take(order),
            order=f"shuffled with seed {seed}",
        )


def find(folder: Path) -> list[Path]:
    """List the Parquet files of ``folder`` that are corpora, by name."""
    return [path for path in sorted(folder.glob("*.parquet")) if _is_corpus(path)]


def _is_corpus(path: Path) -> bool:
    return {"text", "labels"} <= set(pq.read_schema(path).names)


def load(path: Path) -> Corpus:
    """Read a corpus in stored order."""
    table = pq.read_table(path, columns=["text", "labels"]).combine_chunks()
    texts, labels = (table.column(name).combine_chunks() for name in ("text", "labels"))
    return Corpus(path.stem, texts, labels, "as stored")


def beginning(folder: Path, name: str, documents: int) -> Corpus:
    """Return the first documents of a corpus, or of a synthetic one if it is missing."""
    path = folder / f"{name}.parquet"
    return (load(path) if path.exists() else synthetic(documents)).head(documents)


def synthetic(
    documents: int = 20_000,
    labels: int = 100,
    *,
    vocabulary: int = 50_000,
    words: int = 80,
    seed: int = SEED,
) -> Corpus:
    """Make a stream from a seed: common words, and words of labels.

    Label and word frequencies follow Zipf's law. A document has one to three labels and ``words``
    words: 70 % from the common vocabulary, the rest from the ten words of each of its labels, drawn
    from the rarer half of the vocabulary. The first documents name every label once, if there are
    enough documents.

    >>> stream = synthetic(documents=50, labels=5)
    >>> len(stream), stream.label_names[0], len(stream.label_names)
    (50, 'topic0000', 5)
    """
    random = np.random.default_rng(seed)
    names = np.array([f"topic{i:04}" for i in range(labels)])
    spelling = np.array([f"word{i}" for i in range(vocabulary)])
    own = random.integers(vocabulary // 2, vocabulary, (labels, 10))
    common = _zipf(random, vocabulary, (documents, words))
    drawn = _zipf(random, labels, (documents, 3))
    drawn[:labels, 0] = random.permutation(labels)[:documents]
    kept = random.choice([1, 2, 3], documents, p=[0.4, 0.4, 0.2])
    texts, sets = [], []
    for document in range(documents):
        topics = np.unique(drawn[document, : kept[document]])
        topical = own[random.choice(topics, words), random.integers(0, 10, words)]
        chosen = np.where(random.random(words) < 0.7, common[document], topical)
        texts.append(" ".join(spelling[chosen]))
        sets.append(names[topics].tolist())
    return Corpus(
        f"synthetic-{labels}",
        pa.array(texts, pa.string()),
        pa.array(sets, pa.list_(pa.string())),
        f"synthetic, seed {seed}",
    )


def zipf(
    documents: int,
    labels: int,
    *,
    vocabulary: int = 200_000,
    words: int = 30,
    seed: int = SEED,
) -> Corpus:
    """Make a stream with many labels, piece by piece: it takes little memory beside the texts.

    Documents are like those of ``synthetic``, but labels keep appearing: each is named in a
    document of its own anywhere in the stream, if there are enough documents.

    >>> stream = zipf(documents=50, labels=5, words=3)
    >>> len(stream), stream.label_names[0], len(stream.label_names)
    (50, 'topic000000', 5)
    """
    random = np.random.default_rng(seed)
    names = pa.array([f"topic{i:06}" for i in range(labels)])
    spelling = pa.array([f"word{i}" for i in range(vocabulary)])
    own = random.integers(vocabulary // 2, vocabulary, (labels, 10))
    named = np.full(documents, -1)
    places = random.permutation(documents)[:labels]
    named[places] = random.permutation(labels)[: len(places)]
    texts, sets = [], []
    for start in range(0, documents, PIECE):
        must = named[start : start + PIECE]
        drawn = _zipf(random, labels, (len(must), 3))
        drawn[:, 0] = np.where(must < 0, drawn[:, 0], must)
        kept = random.choice([1, 2, 3], (len(must), 1), p=[0.4, 0.4, 0.2])
        shape = len(must), words
        topics = np.take_along_axis(drawn, (random.random(shape) * kept).astype(np.int64), axis=1)
        topical = own[topics, random.integers(0, 10, shape)]
        common = _zipf(random, vocabulary, shape)
        chosen = np.where(random.random(shape) < 0.7, common, topical)
        texts.append(pc.binary_join(_rows(spelling, chosen, chosen >= 0), " "))
        drawn[np.arange(3) >= kept] = labels  # sorts behind the labels
        drawn.sort(axis=1)
        again = np.diff(drawn, axis=1, prepend=-1) == 0
        sets.append(_rows(names, drawn, (drawn < labels) & ~again))
    return Corpus(
        f"zipf-{labels}",
        pa.concat_arrays(texts),
        pa.concat_arrays(sets),
        f"synthetic, seed {seed}",
    )


PIECE = 10_000
"""The number of documents that ``zipf`` draws at once; another number draws another stream."""


def _rows(
    names: pa.StringArray, numbers: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_]
) -> pa.ListArray:
    """Make a list column of the names of the kept numbers of each row."""
    ends = np.concatenate(([0], np.cumsum(kept.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), names.take(pa.array(numbers[kept])))


def _zipf(random: np.random.Generator, size: int, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Draw numbers below ``size``, number i with a probability proportional to 1 / (i + 1)."""
    heights = np.cumsum(1.0 / np.arange(1, size + 1))
    numbers: npt.NDArray[np.int64] = np.searchsorted(heights, random.random(shape) * heights[-1])
    return numbers
