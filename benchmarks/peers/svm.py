"""Run LIBLINEAR: one linear SVM per label (binary relevance), trained on all documents so far.

Features are exact TF-IDF vectors of unit length, (1 + ln tf) · (1 + ln((1 + n) / (1 + df))); the
vocabulary and df of the documents up to a training hold until the next one. Training is timed. It
uses two processes, because threads share LIBLINEAR's random numbers and two runs would differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.decision_rule import decide
from benchmarks.peers.schedule import trainings
from benchmarks.peers.scikit_learn import label_sets, matrix
from benchmarks.peers.terms import Counted, Terms
from clasher import Analyzer

BATCH = 1000
PROCESSES = 2
WORTH_IT = 1_000_000
"""Non-zero training weights times labels from which a second process pays off."""
SOLVER: dict[str, Any] = {
    "loss": "hinge", "C": 1.0, "class_weight": None, "tol": 0.1, "max_iter": 1000,
}  # fmt: skip
"""L1 loss, L2 penalty, and LIBLINEAR's defaults: its tolerance is 0.1."""
TUNED = {"class_weight": "balanced"}
"""On the first 5,000 documents of reuters21578 and of arxiv, trained every 1,000 (macro / micro):
the above .168 / .709 and .072 / .383; with a tolerance of 0.0001 .169 / .709 and .071 / .382;
C = 0.1 .015 / .428 and .002 / .026; C = 10 .231 / .734 and .113 / .425, and no more with 30 or 100;
squared hinge .179 / .707 and .080 / .392, with C = 10 .228 / .731 and .109 / .423; balanced weights
.234 / .740 and .122 / .454, with C = 10 .232 / .734 and .114 / .425."""

# ── when to train ────────────────────────────────────────────────────────────────────────────────


def once(documents: int, first: int = 22_000) -> list[int]:
    """Train after the first documents; in short streams, after a third of them.

    >>> once(100_000), once(9_000)
    ([22000], [3000])
    """
    return [min(first, documents // 3)]


def at_the_end(documents: int) -> list[int]:
    """Train after all documents."""
    return [documents]


def again(documents: int, **schedule: int) -> list[int]:
    """Train after the first documents, and periodically after that.

    >>> again(30_000)
    [4000, 6000, 8000, 10000, 12000, 14000, 16000, 18000, 20000]
    """
    return list(takewhile(lambda point: point <= documents, trainings(**schedule)))


# ── what to train ────────────────────────────────────────────────────────────────────────────────


class Trained(NamedTuple):
    """A trained model."""

    tfidf: Any  # turns counts into TF-IDF
    weights: Any  # a row per term, a column per label
    biases: npt.NDArray[np.float64]

    def predict(self, counted: Counted, decided: bool = False) -> npt.NDArray[np.int8]:
        """Predict a row per document, a column per label; ``decided`` forces the best label."""
        features = self.tfidf.transform(counted.to_sparse(self.weights.shape[0]))
        scores = (features @ self.weights).toarray() + self.biases
        return decide(scores) if decided else np.asarray(scores > 0.0, np.int8)


def train(
    counts: Any, learnt: npt.NDArray[np.bool_], truth: Any, solver: dict[str, Any]
) -> Trained:
    """Train on the labelled documents, with the document frequencies of all documents."""
    from joblib import Parallel, delayed
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfTransformer

    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts)
    features = tfidf.transform(counts[learnt]).astype(np.float64)  # once, not for each label
    features.sort_indices()  # so that weights are read in memory order
    positives = [np.flatnonzero(column) for column in truth[learnt].T]
    processes = PROCESSES if features.nnz * len(positives) > WORTH_IT else 1
    found = Parallel(processes)(delayed(fit)(features, own, solver) for own in positives)
    weights, biases = zip(*found, strict=True)
    return Trained(tfidf, hstack(weights, format="csr"), np.array(biases))


def fit(features: Any, positives: npt.NDArray[np.int64], solver: dict[str, Any]) -> Any:
    """Return weights (a sparse column) and bias of one label; constant if all documents agree."""
    from scipy.sparse import csc_array
    from sklearn.svm import LinearSVC

    documents, terms = features.shape
    if len(positives) in (0, documents):
        return csc_array((terms, 1)), 1.0 if documents and len(positives) else -1.0
    truth = np.zeros(documents, np.int8)
    truth[positives] = 1
    model = LinearSVC(random_state=0, **solver).fit(features, truth)
    return csc_array(model.coef_.T), float(model.intercept_[0])


Schedule = Callable[..., list[int]]
"""Returns the points of training, given the number of documents to learn and options."""


def run(
    schedule: Schedule, settings: dict[str, Any], decided: bool, task: Task, record: Record
) -> None:
    """Predict with the last training, and nothing before the first."""
    from scipy.sparse import vstack

    end = len(task) if task.test_from is None else task.test_from
    solver = {name: task.options.get(name, value) for name, value in settings.items()}
    points = schedule(end, **{k: v for k, v in task.options.items() if k not in settings})
    names, learnt = task.corpus.label_names, task.learnt
    truth = matrix(task.corpus.labels.to_pylist(), names)
    Terms(Analyzer()).count(task.corpus.texts[:1])  # keep compilation off the clock
    terms, seen, trained = Terms(Analyzer()), list[Counted](), None
    with record:
        for part in record.parts(BATCH, cuts=tuple(points)):
            before = slice(0, part.start)
            if part.start in points and learnt[before].any():
                counts = vstack([counted.to_sparse(len(terms)) for counted in seen], format="csr")
                trained = train(counts, learnt[before], truth[before], solver)
            counted = terms.count(task.corpus.texts[part])
            if part.start < end:
                seen.append(counted)
            if part.stop > task.judged_from:
                predicted = np.zeros_like(truth[part])
                if trained:
                    predicted = trained.predict(counted, decided)
                record.predicted(part, label_sets(predicted, names))
    record.more["trained_at"] = [point for point in points if point <= record.reached]


def _system(
    name: str,
    title: str,
    schedule: Schedule,
    when: str,
    tuned: dict[str, Any],
    *,
    decided: bool = False,
    **more: Any,
) -> System:
    settings = SOLVER | tuned
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    rule = "; the best label if none passes 0" if decided else ""
    return System(
        name=f"svm-{name}",
        title=f"SVM, {title}",
        library="scikit-learn",
        settings=f"LinearSVC({arguments}) per label on exact TF-IDF, trained {when}{rule}",
        run=partial(run, schedule, settings, decided),
        **more,
    )


FIRST = "once, on the first 22,000 documents or the first third, whichever is less"
FULL = "once, on all documents before the test set"
AGAIN = "on all documents so far: after 4,000, every 2,000 up to 20,000, then every 20,000"
TINY = {"first": 10, "every": 10}

SYSTEMS = [
    _system("first", "trained on the first 22,000 or third", once, FIRST, {}),
    _system("full", "trained on everything", at_the_end, FULL, {}, needs_test=True),
    _system(
        "full-tuned", "trained on everything, balanced", at_the_end, FULL, TUNED, needs_test=True
    ),
    _system(
        "full-tuned-decided", "trained on everything, balanced, our decision rule", at_the_end,
        FULL, TUNED, decided=True, needs_test=True,
    ),
    _system("retrained", "retrained", again, AGAIN, {}, tiny=TINY),
    _system("retrained-tuned", "retrained, balanced", again, AGAIN, TUNED, tiny=TINY),
    _system(
        "retrained-tuned-decided", "retrained, balanced, our decision rule", again, AGAIN, TUNED,
        decided=True, tiny=TINY,
    ),
]  # fmt: skip
