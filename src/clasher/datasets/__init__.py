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

from clasher.datasets.catalog import DATASETS, load, open_dataset
from clasher.datasets.dataset import Dataset, Documents, Split
from clasher.datasets.document import Document

__all__ = ["DATASETS", "Dataset", "Document", "Documents", "Split", "load", "open_dataset"]
