"""Cluster unlabelled text with clasher and with mini-batch k-means."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tables import f1, markdown
from clasher import Clusters
from support.corpora import Corpus

DOCUMENTS = 10_000
SIZES = (20, 100)
VARIANTS: dict[str, dict[str, Any]] = {
    "clasher": {},
    "clasher, threshold 0.1": {"threshold": 0.1},
    "clasher, half-life 500": {"half_life": 500.0},
}
SEED = 0

Numbers = npt.NDArray[np.int64]


def clusters(stream: Corpus) -> list[dict[str, Any]]:
    """Cluster documents with a single label, and compare the clusters with the labels."""
    texts, truth = sample(stream)
    about = {"corpus": stream.name, "documents": len(truth), "labels": len(np.unique(truth))}
    return [
        about | found for k in SIZES for found in [*ours(texts, truth, k), peer(texts, truth, k)]
    ]


def sample(stream: Corpus) -> tuple[list[str], Numbers]:
    """Sample documents with a single label evenly over the stream, in its order."""
    labels = stream.labels.to_pylist()
    single = [at for at, own in enumerate(labels) if len(own) == 1]
    single = single[:: max(1, len(single) // DOCUMENTS)][:DOCUMENTS]
    numbers = {name: number for number, name in enumerate(sorted({labels[at][0] for at in single}))}
    truth = np.array([numbers[labels[at][0]] for at in single], np.int64)
    return [stream.texts[at].as_py() for at in single], truth


def ours(texts: list[str], truth: Numbers, k: int) -> list[dict[str, Any]]:
    """Assign each document to a cluster as it arrives, and all of them again at the end."""
    Clusters(2, 2).learn_many(["compile the kernels"])
    results = []
    for name, settings in VARIANTS.items():
        model = Clusters(k, **settings)
        start = perf_counter()
        found = model.learn_many(texts).clusters
        seconds = perf_counter() - start
        again = model.predict_many(texts).clusters
        results += [
            {"system": name, "k": k, "seconds": seconds, **score(found, truth)},
            {"system": f"{name}, at the end", "k": k, "seconds": None, **score(again, truth)},
        ]
    return results


def peer(texts: list[str], truth: Numbers, k: int) -> dict[str, Any]:
    """Cluster with scikit-learn, which sees all documents before it weights or clusters any."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    start = perf_counter()
    counts = HashingVectorizer(n_features=65536, alternate_sign=False, norm=None).transform(texts)
    x = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    found = MiniBatchKMeans(k, n_init=3, random_state=SEED).fit_predict(x)
    name = "scikit-learn MiniBatchKMeans"
    return {"system": name, "k": k, "seconds": perf_counter() - start, **score(found, truth)}


def score(found: npt.NDArray[Any], truth: Numbers) -> dict[str, float]:
    from sklearn.metrics import normalized_mutual_info_score

    return {
        "purity": purity(found, truth),
        "nmi": float(normalized_mutual_info_score(truth, found)),
        "largest": int(np.unique(found, return_counts=True)[1].max()),
    }


def purity(found: npt.NDArray[Any], truth: Numbers) -> float:
    """Return the share of documents that have the most common label of their cluster.

    >>> purity(np.array([0, 0, 0, 1]), np.array([5, 5, 2, 2]))
    0.75
    """
    commonest = [np.bincount(truth[found == cluster]).max() for cluster in np.unique(found)]
    return float(sum(commonest) / len(truth))


def blocks(found: dict[str, Any]) -> dict[str, str]:
    results = found["clusters"]
    return {"clusters": "\n\n".join(_table(results, k) for k in SIZES)}


def _table(results: list[dict[str, Any]], k: int) -> str:
    found = {(r["corpus"], r["system"]): r for r in results if r["k"] == k}
    corpora = dict.fromkeys(corpus for corpus, _ in found)
    systems = dict.fromkeys(system for _, system in found)
    first = next(iter(systems))
    heads = [
        f"{c} ({found[c, first]['documents']:,}; {found[c, first]['labels']} labels)"
        for c in corpora
    ]
    rows = [[system, *(_cell(found[c, system]) for c in corpora)] for system in systems]
    return markdown([f"k = {k}", *heads], rows)


def _cell(result: dict[str, Any]) -> str:
    seconds = result["seconds"]
    rate = "" if seconds is None else f", {result['documents'] / seconds / 1000:.1f} k"
    return f"{f1(result['purity'])} / {f1(result['nmi'])}{rate}"
