"""River: TF-IDF, feature hashing and one logistic regression per label, document by document."""

from __future__ import annotations

from functools import partial

from benchmarks.peers.base import Record, System, Task

DIMENSIONS = 65536
RATES = (8, 32)
"""Learning rates of the gradient descent. Of 0.01 (the default), 0.5, 2, 8, 32 and 128 on the first
5,000 documents of reuters21578 and of arxiv, 8 had the best micro F1 and 32 the best macro F1 on
both; AdaGrad(0.3) and Perceptron were below 8 in both measures."""
MAX_LABELS = 200  # each label is a model of its own
LIMIT = 5_000


def run(rate: float, task: Task, record: Record) -> None:
    """Predict a document, then learn from it; a label is known from its first document."""
    from river import feature_extraction, linear_model, multioutput, optim, preprocessing

    stream = list(task.documents())
    model = (
        feature_extraction.TFIDF()
        | preprocessing.FeatureHasher(n_features=DIMENSIONS, seed=0)
        | multioutput.PerOutputClassifier(linear_model.LogisticRegression(optim.SGD(rate)))
    )
    known: set[str] = set()
    with record:
        for part in record.parts():
            text, labels = stream[part.start]
            record.predicted(part, [[name for name, yes in model.predict_one(text).items() if yes]])
            if labels is not None:
                known.update(labels)
                model.learn_one(text, {label: label in labels for label in known})


SYSTEMS = [
    System(
        name=f"river-{rate}",
        title=f"River, rate {rate}",
        library="river",
        settings=(
            f"TFIDF() | FeatureHasher({DIMENSIONS}) | "
            f"PerOutputClassifier(LogisticRegression(SGD({rate})))"
        ),
        run=partial(run, rate),
        limit=LIMIT,
        max_labels=MAX_LABELS,
    )
    for rate in RATES
]
