"""Corpora as their owners distribute them, as streams of documents in time order.

>>> from clasher.datasets import DATASETS
>>> for dataset in DATASETS.values():
...     print(dataset.name, "·", dataset.title)
arxiv · arXiv Dataset (metadata)
nyt · The New York Times Annotated Corpus
parquet · A dataset in a Parquet file
rcv1 · Reuters Corpus, Volume 1 (RCV1, RCV1-v2)
reuters21578 · Reuters-21578 Text Categorization Collection, Distribution 1.0
"""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from clasher.datasets.arxiv import ARXIV
from clasher.datasets.dataset import Dataset, Documents, Part, Split
from clasher.datasets.document import Document
from clasher.datasets.nyt import NYT
from clasher.datasets.parquet import PARQUET
from clasher.datasets.rcv1 import RCV1
from clasher.datasets.reuters21578 import REUTERS21578
from clasher.errors import SettingError, nearest
from clasher.io.formats import BATCH_BYTES
from clasher.io.records import Batch, Fields
from clasher.io.writers import BadRecords

__all__ = ["DATASETS", "Dataset", "Document", "Documents", "Split", "load", "open_dataset"]

DATASETS: Final[dict[str, Dataset]] = {
    dataset.name: dataset for dataset in (ARXIV, NYT, PARQUET, RCV1, REUTERS21578)
}


def dataset_of(name: str) -> Dataset:
    """Return the dataset of a name."""
    if name in DATASETS:
        return DATASETS[name]
    near = nearest(name, DATASETS)
    hint = f"did you mean {near!r}?" if near else f"choose from {', '.join(DATASETS)}"
    raise SettingError(f"unknown dataset {name!r}, {hint}")


def load(
    name: str,
    folder: str | os.PathLike[str],
    split: str | None = None,
    part: Part | None = None,
    *,
    on_error: BadRecords | None = None,
    unlabelled: bool = False,
) -> Documents:
    """Read the documents of a dataset in time order; see ``Dataset.read``."""
    dataset = dataset_of(name)
    return dataset.read(folder, split, part, on_error=on_error, unlabelled=unlabelled)


def open_dataset(
    name: str,
    folder: str | os.PathLike[str],
    *,
    batch_size: int = 1000,
    labelled: bool = True,
    on_error: BadRecords | None = None,
    limit: int | None = None,
) -> Iterator[Batch]:
    """Read the documents of a dataset in batches, as ``clasher.io.open_stream`` reads files.

    Missing files raise here, not in the loop.
    """
    documents = islice(load(name, folder, on_error=on_error, unlabelled=not labelled), limit)

    def batch(some: list[Document]) -> Batch:
        labels = [document.labels for document in some] if labelled else None
        texts = [document.text for document in some]
        return Batch.of([document.id for document in some], texts, labels, Fields())

    return map(batch, iter(lambda: take(documents, batch_size), []))


def take(documents: Iterator[Document], size: int) -> list[Document]:
    """Take the next documents, at most ``size``, fewer if they are long."""
    taken: list[Document] = []
    held = 0
    for document in islice(documents, size):
        taken.append(document)
        held += len(document.text)
        if held > BATCH_BYTES:
            break
    return taken
