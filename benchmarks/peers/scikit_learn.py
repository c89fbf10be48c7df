"""scikit-learn: hashed words and one linear SVM per label, ``partial_fit`` in batches of 50.

The labels are declared up front, because it cannot learn of new ones. The words of a batch are
counted and hashed inside the clock, as clasher's are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.measure import measured
from benchmarks.peers.base import Outcome, System, Task, judge

BATCH = 50
DIMENSIONS = 65536
MAX_LABELS = 200  # each label is a model of its own
LIMIT = 10_000


def run(task: Task) -> Outcome:
    """Predict a batch, then learn from it."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.multioutput import MultiOutputClassifier

    from clasher import LabelSets

    names = task.prepared.corpus().label_names
    corpus = task.prepared.corpus(task.limit)
    truth = _matrix(LabelSets.of(corpus.labels), names)
    texts = corpus.texts.to_pylist()
    vectorizer = HashingVectorizer(n_features=DIMENSIONS)
    model = MultiOutputClassifier(SGDClassifier(random_state=0))
    classes = [np.array([0, 1])] * len(names)
    predicted = np.zeros_like(truth)
    with measured() as took:
        for start in range(0, len(texts), BATCH):
            part = slice(start, start + BATCH)
            features = vectorizer.transform(texts[part])
            if start:
                predicted[part] = model.predict(features)
            model.partial_fit(features, truth[part], classes)
    documents, labels = np.nonzero(predicted)
    indptr = np.searchsorted(documents, np.arange(len(texts) + 1))
    return judge(took, corpus.labels, LabelSets(names, labels.astype(np.int32), indptr))


def _matrix(sets: object, names: list[str]) -> npt.NDArray[np.int8]:
    """A row per document, a column per name."""
    from sklearn.preprocessing import MultiLabelBinarizer

    matrix: npt.NDArray[np.int8] = MultiLabelBinarizer(classes=names).fit_transform(sets)
    return matrix.astype(np.int8)


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
