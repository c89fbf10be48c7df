"""Compare clasher's scikit-learn estimators with scikit-learn's own, taking turns in one process.

python -m benchmarks.estimators              all studies, then docs/reference/performance.md
python -m benchmarks.estimators vectors      one study; keeps the figures of the other

Every estimator learns the first seven tenths of a corpus and predicts the rest.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from benchmarks.study import Study
from clasher import Analyzer
from clasher.adapters.sklearn import ClasherClassifier, HashedTfidfVectorizer
from support import corpora
from support.corpora import SEED, Corpus

ROUNDS = 3
LEARNT = 0.7  # share of a corpus
DIMENSIONS = 65536
LIBRARIES = ("clasher", "numpy", "scipy", "numba", "scikit-learn")
STUDY = Study("estimators", __doc__, LIBRARIES)


class Split(NamedTuple):
    """Texts and label matrices of a corpus: one part to learn, a later one to predict."""

    texts: list[str]
    later: list[str]
    truth: npt.NDArray[np.int64]
    later_truth: npt.NDArray[np.int64]


Run = tuple[float, float, float]
"""Seconds, macro F1, micro F1."""


def split(corpus: Corpus) -> Split:
    texts, labels = corpus.texts.to_pylist(), corpus.labels.to_pylist()
    matrix = MultiLabelBinarizer().fit_transform(labels)
    at = int(len(texts) * LEARNT)
    return Split(texts[:at], texts[at:], matrix[:at], matrix[at:])


def vectors(parts: Split) -> dict[str, Any]:
    """Turn text into vectors; judge them all by the same linear model."""
    ways: dict[str, Callable[[], Run]] = {
        "hashed": lambda: _vectors(HashedTfidfVectorizer(DIMENSIONS), parts),
        "hashed, rich": lambda: _vectors(
            HashedTfidfVectorizer(DIMENSIONS, analyzer=Analyzer.rich(), lead=True), parts
        ),
        "hashing": lambda: _vectors(_theirs(), parts),
    }
    return _measure(ways, "hashing", len(parts.texts) + len(parts.later))


def classifiers(parts: Split) -> dict[str, Any]:
    """Learn and predict labels of text."""
    ways: dict[str, Callable[[], Run]] = {
        "classifier": lambda: _labels(ClasherClassifier(DIMENSIONS), parts),
        "pipeline": lambda: _labels(
            make_pipeline(HashedTfidfVectorizer(DIMENSIONS), ClasherClassifier()), parts
        ),
        "linear": lambda: _labels(make_pipeline(_theirs(), _linear()), parts),
    }
    return _measure(ways, "linear", len(parts.texts) + len(parts.later))


STUDIES: dict[str, Callable[[Split], dict[str, Any]]] = {
    "vectors": vectors, "classifiers": classifiers,
}  # fmt: skip


def _theirs() -> Pipeline:
    """Make scikit-learn's vectorizer, and the IDF it lacks, which needs all documents at once."""
    return make_pipeline(HashingVectorizer(n_features=DIMENSIONS, norm=None), TfidfTransformer())


def _linear() -> OneVsRestClassifier:
    return OneVsRestClassifier(SGDClassifier(random_state=SEED))


def _vectors(vectorizer: Any, parts: Split) -> Run:
    start = time.perf_counter()
    learnt = vectorizer.fit_transform(parts.texts)
    later = vectorizer.transform(parts.later)
    seconds = time.perf_counter() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that the learnt part does not have
        predicted = _linear().fit(learnt, parts.truth).predict(later)
    return seconds, *_quality(parts.later_truth, predicted)


def _labels(classifier: Any, parts: Split) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        predicted = classifier.fit(parts.texts, parts.truth).predict(parts.later)
        seconds = time.perf_counter() - start
    return seconds, *_quality(parts.later_truth, predicted)


def _quality(truth: Any, predicted: Any) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        macro, micro = (f1_score(truth, predicted, average=own) for own in ("macro", "micro"))
        return macro, micro


def _measure(ways: dict[str, Callable[[], Run]], peer: str, documents: int) -> dict[str, Any]:
    """Measure each way in rounds, after a warm-up round."""
    quality = {name: way()[1:] for name, way in ways.items()}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            rates[name].append(documents / way()[0])
    return {
        "documents": documents,
        "rates": rates,
        "quality": {name: {"macro": own[0], "micro": own[1]} for name, own in quality.items()},
        "ratios": [
            {
                "way": name,
                "peer": peer,
                "speed": statistics.median(
                    own / other for own, other in zip(rates[name], rates[peer], strict=True)
                ),
                "macro": quality[name][0] / max(quality[peer][0], 1e-9),
                "micro": quality[name][1] / max(quality[peer][1], 1e-9),
            }
            for name in ways
            if name != peer
        ],
    }


def main(arguments: list[str]) -> int:
    parser = STUDY.parser(20_000, STUDIES)
    parser.add_argument("--corpus", default="reuters21578", help="name of the corpus")
    given = parser.parse_args(arguments)
    corpus = corpora.beginning(given.data, given.corpus, given.limit)
    parts = split(corpus)

    def measure(part: str) -> dict[str, Any]:
        return STUDIES[part](parts) | {"corpus": f"{corpus.name} ({len(corpus):,})"}

    STUDY.measure(given, STUDY.header(arguments, ROUNDS), STUDIES, measure, "ratios")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
