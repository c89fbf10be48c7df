"""Run scikit-learn: hashed words and one linear SVM per label, ``partial_fit`` in batches of 50.

The labels are declared first, because it cannot add labels. Counting and hashing the words of a
batch is timed, as for clasher.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.peers.base import Record, System, Task
from clasher import LabelSets

BATCH = 50
DIMENSIONS = 65536
MAX_LABELS = 200  # each label has its own model
LIMIT = 10_000


def run(task: Task, record: Record) -> None:
    """Predict each batch, then learn it."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.multioutput import MultiOutputClassifier

    names = task.corpus.label_names
    truth, learnt = matrix(task.corpus.labels.to_pylist(), names), task.learnt
    texts = task.corpus.texts.to_pylist()
    vectorizer = HashingVectorizer(n_features=DIMENSIONS)
    model = MultiOutputClassifier(SGDClassifier(random_state=0))
    classes = [np.array([0, 1])] * len(names)
    trained = False
    with record:
        for part in record.parts(BATCH):
            features, mask = vectorizer.transform(texts[part]), learnt[part]
            predicted = model.predict(features) if trained else np.zeros_like(truth[part])
            record.predicted(part, label_sets(predicted, names))
            if mask.any():
                model.partial_fit(features[mask], truth[part][mask], classes)
                trained = True


def matrix(sets: list[list[str]], names: list[str]) -> npt.NDArray[np.int8]:
    """Make a matrix with a row per document and a column per name."""
    from sklearn.preprocessing import MultiLabelBinarizer

    rows: npt.NDArray[np.int8] = MultiLabelBinarizer(classes=names).fit_transform(sets)
    return rows.astype(np.int8)


def label_sets(rows: npt.NDArray[np.int8], names: list[str]) -> LabelSets:
    """Return the labels of each row of such a matrix."""
    documents, labels = np.nonzero(rows)
    indptr = np.searchsorted(documents, np.arange(len(rows) + 1))
    return LabelSets(names, labels.astype(np.int32), indptr)


SYSTEMS = [
    System(
        name="scikit-learn",
        title="scikit-learn",
        library="scikit-learn",
        settings="HashingVectorizer(n_features=65536), MultiOutputClassifier(SGDClassifier())",
        run=run,
        limit=LIMIT,
        max_labels=MAX_LABELS,
    )
]
