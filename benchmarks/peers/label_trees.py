"""Run the label trees of extreme classification, napkinXC and Omikuji, retrained periodically.

Both put the labels into the leaves of a tree, by k-means over the words of their documents, train a
linear model per node, and follow only the likely branches. They cannot learn online: each training
starts from scratch on all documents with labels so far, at the times of section 6.5, and is timed.
A test set is judged after one training on all documents before it.

Features are exact TF-IDF vectors of unit length, (1 + ln tf) · (1 + ln((1 + n) / (1 + df))); the
vocabulary and df of the documents up to a training hold until the next one. Words are split and
counted before the clock starts. Both use one thread and their default settings. They rank the best
``SEARCHED`` labels, and predict those of them with a probability of at least a half.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.peers.base import Record, System, Task, bytes_of
from benchmarks.peers.fasttext_retrained import when
from benchmarks.peers.ranked import SEARCHED, THRESHOLD, Probable, decide
from benchmarks.peers.terms import Terms
from clasher import Analyzer, LabelSets
from support.corpora import SEED

BATCH = 1000
SCHEDULE = ("first", "every", "until", "then")
"""Options that say when to train; the others are settings of a library."""

Labels = Sequence[Sequence[int]]
"""The label numbers of each document, each once: napkinXC crashes on a label given twice."""

# ── libraries ────────────────────────────────────────────────────────────────────────────────────


class Tree(Protocol):
    """A trained model."""

    def best(self, features: Any) -> list[Probable]:
        """Return the best labels of each row."""

    def save(self, folder: Path) -> None:
        """Save it in an empty folder."""


class NapkinXC:
    """A probabilistic label tree, with a logistic regression per node."""

    def __init__(self, features: Any, labels: Labels, folder: Path, **settings: Any) -> None:
        from napkinxc.models import PLT

        self._model = PLT(str(folder / "model"), threads=1, seed=SEED, **settings)
        self._model.fit(older(features), labels)
        self._saved = folder / "model"

    def best(self, features: Any) -> list[Probable]:
        found: list[Probable] = self._model.predict_proba(older(features), top_k=SEARCHED)
        return found

    def save(self, folder: Path) -> None:
        self._saved.rename(folder / "model")


def older(features: Any) -> Any:
    """Return the older kind of sparse matrix, the only one that napkinXC reads."""
    from scipy.sparse import csr_matrix

    return csr_matrix(features)


class Omikuji:
    """Three trees as in Parabel, with a linear SVM per node; their mean score decides.

    It trains on a file, and predicts document by document with a beam search.
    """

    def __init__(self, features: Any, labels: Labels, folder: Path, **settings: Any) -> None:
        from omikuji import Model

        write(data := folder / "data", features, labels)
        parameters = Model.default_hyper_param()
        for name, value in settings.items():
            setattr(parameters, name, value)
        with quiet():  # it draws a bar of its progress
            self._model = Model.train_on_data(str(data), parameters, n_threads=1)
            self._model.init_prediction_thread_pool(1)

    def best(self, features: Any) -> list[Probable]:
        terms, weights = features.indices.tolist(), features.data.tolist()
        pairs = list(zip(terms, weights, strict=True))
        rows = pairwise(features.indptr.tolist())
        return [self._model.predict(pairs[start:stop], top_k=SEARCHED) for start, stop in rows]

    def save(self, folder: Path) -> None:
        with quiet():
            self._model.save(str(folder))


def write(path: Path, features: Any, labels: Labels) -> None:
    r"""Write the format of the Extreme Classification Repository; no line may end with a space.

    >>> from tempfile import TemporaryDirectory
    >>> from scipy.sparse import csr_array
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "data"
    ...     write(path, csr_array([[0.5, 1.0], [0.0, 0.0]]), [[0, 2], [1]])
    ...     path.read_text()
    '2 2 3\n0,2 0:0.5 1:1\n1\n'
    """
    terms, weights = features.indices.tolist(), features.data.tolist()
    rows = zip(labels, pairwise(features.indptr.tolist()), strict=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(labels)} {features.shape[1]} {1 + max(map(max, labels))}\n")
        for own, (start, stop) in rows:
            cells = [f"{terms[at]}:{weights[at]:.6g}" for at in range(start, stop)]
            file.write(" ".join([",".join(map(str, own)), *cells]) + "\n")


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what a compiled library writes to standard output and standard error."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with open(os.devnull, "wb") as nowhere:
        for number in kept:
            os.dup2(nowhere.fileno(), number)
    try:
        yield
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


class Trained(NamedTuple):
    """A tree, and how to weight the counts of words that it knows."""

    tree: Tree
    tfidf: Any
    terms: int

    def best(self, counts: Any) -> list[Probable]:
        """Return the best labels of each row of counts."""
        return self.tree.best(self.tfidf.transform(counts[:, : self.terms]))


def run(kind: Any, task: Task, record: Record) -> None:
    """Predict with the last training, and nothing before the first."""
    schedule = {name: task.options[name] for name in SCHEDULE if name in task.options}
    settings = {name: task.options[name] for name in task.options.keys() - schedule}
    times = when(task, **schedule)
    terms = Terms(Analyzer())
    counts = terms.count(task.corpus.texts).to_sparse(len(terms))
    names, labels = numbered(task)
    model, trained = None, list[int]()
    with task.scratch() as folder:
        with record:
            for part in record.parts(BATCH, cuts=times):
                rows: list[Probable] = [()] * (part.stop - part.start)
                if model is not None:
                    rows = model.best(counts[part])
                record.predicted(part, *decide(names, rows))
                if part.stop in times and any(labels[: part.stop]):
                    (place := folder / str(part.stop)).mkdir()
                    new = partial(kind, folder=place, **settings)
                    model = train(new, counts[: part.stop], labels[: part.stop])
                    trained.append(part.stop)
        if model is not None:
            (saved := folder / "saved").mkdir()
            model.tree.save(saved)
            record.more["model_bytes"] = bytes_of(saved)
    record.more["trained_at"] = trained


def numbered(task: Task) -> tuple[Sequence[str], Labels]:
    """Return the labels to learn as names and numbers, in order of first appearance."""
    given = LabelSets.of(task.given)
    ids = given.ids.tolist()
    return given.names, [sorted(set(ids[a:b])) for a, b in pairwise(given.indptr.tolist())]


def train(new: Any, counts: Any, labels: Labels) -> Trained:
    """Train on the labelled documents, with the document frequencies of all documents."""
    from sklearn.feature_extraction.text import TfidfTransformer

    terms = 1 + int(counts.indices.max(initial=0))  # numbered in order of first appearance
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts[:, :terms])
    kept = [document for document, own in enumerate(labels) if own]
    features = tfidf.transform(counts[kept, :terms])
    return Trained(new(features, [labels[document] for document in kept]), tfidf, terms)


AGAIN = "trained at 4,000, every 2,000 to 20,000, then every 20,000"
TINY = {"first": 10, "every": 10}

SYSTEMS = [
    System(
        name="napkinxc",
        title="napkinXC, retrained",
        library="napkinxc",
        settings=f"PLT(), threshold {THRESHOLD}; {AGAIN}",
        run=partial(run, NapkinXC),
        tiny=TINY,
    ),
    System(
        name="omikuji",
        title="Omikuji, retrained",
        library="omikuji",
        settings=f"default_hyper_param(), threshold {THRESHOLD}; {AGAIN}",
        run=partial(run, Omikuji),
        tiny=TINY,
    ),
]
"""Tried on the first 5,000 documents, trained every 1,000; macro / micro F1, precision at 1 and 5:

    library   setting         nyt                       arxiv
    napkinXC  default         .008 / .064, .257, .116   .063 / .357, .466, .244
    napkinXC  C = 1           .000 / .004, .153, .089   .021 / .158, .400, .207
    Omikuji   default, hinge  .011 / .077, .275, .120   .061 / .333, .483, .252
    Omikuji   logistic        .003 / .022, .220, .108   .026 / .188, .416, .214
    Omikuji   log., C = 10    .013 / .092, .264, .120   .067 / .359, .469, .247"""
