"""Run multi-label Hoeffding trees (Read et al., 2012) in their authors' Java implementation.

MOA and MEKA are in the jar of capymoa. The folder ``java`` adds what they lack:

- ``LeafTree``: MOA's tree always has pruned sets at its leaves;
- ``LabelBag``: MOA's bag replaces trees by a measure unsuited to many labels;
- ``Threshold``: Read et al. adapt the threshold in each window, MOA does not;
- ``Prequential``: predicts and learns each document, and records the time.

Words are hashed and weighted before the clock starts. All labels are declared first, even those
that appear late in the stream, because trees cannot add labels.

HT-ML and HT-PS have the default settings of MOA and MEKA, as in the paper. With these and many
labels, a tree hardly ever splits, and its first leaf learns everything. Tried on the first 5,000
documents of reuters21578 and of arxiv (one tree, macro / micro F1):

- Gaussian leaves need few dimensions and signed, normalised TF-IDF. With 128 dimensions, on average
  the best of 64 to 4096, they have .051 / .549 and .039 / .292; from 512 on they collapse to the
  majority label set (.005 / .349 and .007 / .108). Counts of words are worse (.033 / .421 and
  .031 / .225 with 256 dimensions).
- Multinomial leaves need counts of words. With 1024 dimensions, on average the best of 256 to 4096,
  they have .206 / .681 and .096 / .426; with the ten label sets that MEKA keeps, instead of a
  thousand, .061 / .605 and .055 / .373.
- Trees that split sooner (``-c 0.05 -t 1``) have .011 / .409 and .008 / .125 with majority label
  sets, instead of .005 / .349 and .007 / .108, but .019 / .436 and .015 / .144 with pruned sets.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured
from benchmarks.peers import arff
from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.jvm import Program
from benchmarks.peers.vowpal_wabbit import read_predictions
from clasher import HashedTfidf, LabelSets
from clasher.text.hashing import Hasher

LIBRARY = "capymoa"
SOURCES = tuple(sorted(Path(__file__).with_name("java").glob("*.java")))
FINE = 65536  # enough buckets that words hardly ever share one


@dataclass(frozen=True)
class Vectors:
    """How documents become vectors.

    Parameters
    ----------
    dimensions
        The attributes of a tree.
    counts
        Whether they count words, because multinomial naive Bayes takes nothing below 0, or hold
        clasher's signed TF-IDF.
    """

    dimensions: int
    counts: bool = False

    def __str__(self) -> str:
        return f"{'counts' if self.counts else 'tfidf'}-{self.dimensions}"

    def of(self, task: Task) -> Any:
        """Make a sparse row per document, weighted only by the documents before it."""
        from scipy.sparse import csr_array, vstack

        texts = task.corpus.texts
        if self.counts:
            hashed = Hasher(FINE).hash_many(texts)
            cells = abs(hashed.counts), hashed.buckets % self.dimensions, hashed.indptr
            rows = csr_array(cells, shape=(len(task), self.dimensions))
            rows.sum_duplicates()
            return rows
        model = HashedTfidf(self.dimensions)
        learnt = texts[: task.test_from]
        return vstack([model.fit_transform(learnt), model.transform(texts[len(learnt) :])], "csr")


def run(learner: str, vectors: Vectors, task: Task, record: Record) -> None:
    """Test, then train in a Java process, which measures its own time and memory."""
    names = task.corpus.label_names
    learner = task.options.get("learner", learner)
    vectors = Vectors(task.options.get("dimensions", vectors.dimensions), vectors.counts)
    mask = f"{len(task)}-{task.test_from}-{zlib.crc32(task.learnt.tobytes()):08x}"
    stream = task.file(f"stream-{mask}-{vectors}.arff", partial(write, vectors))
    learnt = task.file(f"learnt-{mask}", write_learnt)
    seconds = "Infinity" if math.isinf(task.seconds) else task.seconds
    with task.scratch() as folder:
        predictions = folder / "predictions"
        files = [stream, len(names), learnt, predictions]
        output = program().run("clasher.Prequential", [learner, *files, seconds, *task.ends()])
        record_output(output, record)
        ids, indptr = read_predictions(predictions)
    record.predicted(slice(0, len(indptr) - 1), LabelSets(names, ids, indptr))


def program() -> Program:
    """Return our classes and the jar of capymoa; importing capymoa would start Java."""
    jar = metadata.distribution(LIBRARY).locate_file("capymoa/jar/moa.jar")
    return Program(SOURCES, Path(str(jar)))


def write(vectors: Vectors, task: Task, path: Path) -> None:
    """Write the stream with its labels."""
    given = task.given.to_pylist()
    arff.write(path, task.corpus.name, task.corpus.label_names, given, vectors.of(task))


def write_learnt(task: Task, path: Path) -> None:
    """Write a byte per document, 0 if it is not to be learnt: sparse ARFF cannot express that."""
    path.write_bytes(task.learnt.tobytes())


def record_output(output: str, record: Record) -> None:
    """Record time and memory from lines of documents, seconds, current and peak bytes."""
    lines = [line.split() for line in output.splitlines()]
    for documents, seconds, now, _ in lines[1:]:
        record.mark(int(documents), float(seconds), int(now))
    record.took = Measured(float(lines[-1][1]), int(lines[0][2]), int(lines[-1][3]))


def tree(leaf: str) -> str:
    """Return MOA's command line of a tree with these leaves."""
    return f"clasher.LeafTree -a ({leaf})"


def bag(learner: str, size: int = 10) -> str:
    """Return a bag of trees, the worst of which is replaced when ADWIN detects a change."""
    return f"clasher.LabelBag -s {size} -l ({learner})"


def pruned_sets(options: str = "") -> str:
    """Return a leaf that classifies the most frequent label sets."""
    name = "meka.classifiers.multilabel.incremental.PSUpdateable"
    return f"multilabel.MEKAClassifier -l ({name}{options})"


HT_ML = tree("multilabel.MajorityLabelset")
HT_PS = tree(pruned_sets())
HT_PS_MNB = tree(
    pruned_sets(" -support 1000 -W weka.classifiers.bayes.NaiveBayesMultinomialUpdateable")
)
TFIDF = Vectors(128)
COUNTS = Vectors(1024, counts=True)


def _system(name: str, title: str, learner: str, vectors: Vectors) -> System:
    common = "labels declared, threshold adapted every 500 documents, -Xmx of half the memory"
    return System(
        name=name,
        title=title,
        library=LIBRARY,
        settings=f"{learner}, {vectors}, {common}",
        run=partial(run, learner, vectors),
        extra="experiments",
    )


SYSTEMS = [
    _system("ht-ml", "HT-ML", HT_ML, TFIDF),
    _system("ht-ps", "HT-PS", HT_PS, TFIDF),
    _system("ht-ps-mnb", "HT-PS, multinomial", HT_PS_MNB, COUNTS),
    _system("ea-ht-ml", "EA-HT-ML", bag(HT_ML), TFIDF),
    _system("ea-ht-ps", "EA-HT-PS", bag(HT_PS), TFIDF),
    _system("ea-ht-ps-mnb", "EA-HT-PS, multinomial", bag(HT_PS_MNB), COUNTS),
]
