"""Compare fits on Spark with one process: the effect of partitions and rounds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import both_f1, f1_change, markdown
from clasher import Clasher, LabelSets
from clasher.learning import memory
from experiments.kinds.merging import MOST, scores
from support.corpora import Corpus

CENTROIDS: dict[str, dict[str, Any]] = {
    "centroid, tf": {"rule": "centroid", "weighting": "tf"},
    "centroid": {"rule": "centroid"},
}
COUNTED = ("frequencies", "counts", "together")


def centroids(stream: Corpus, partitions: list[int]) -> Iterator[dict[str, Any]]:
    """Fit with and without counting words first; compare models with that of one process."""
    train, test, truth = _split(stream)
    for way, settings in CENTROIDS.items():
        one = _one_process(train, settings)
        about = {"corpus": stream.name, "way": way, "documents": len(train)}
        yield about | {"partitions": 1} | scores(one, test, truth)
        for parts in partitions:
            for exact in (True, False):
                model = _fitted(train, parts, settings | {"exact": exact})
                found = {"partitions": parts, "exact": exact} | _differences(model, one, test)
                yield about | found | scores(model, test, truth)


def margins(stream: Corpus, partitions: list[int], rounds: list[int]) -> Iterator[dict[str, Any]]:
    """Fit the margin rule with different numbers of partitions and rounds."""
    train, test, truth = _split(stream)
    about = {"corpus": stream.name, "documents": len(train)}
    yield about | {"partitions": 1, "rounds": 0} | scores(_one_process(train, {}), test, truth)
    for parts in partitions:
        for often in rounds:
            model = _fitted(train, parts, {"rounds": often})
            yield about | {"partitions": parts, "rounds": often} | scores(model, test, truth)


def _split(stream: Corpus) -> tuple[Corpus, Any, LabelSets]:
    """Return four fifths to learn, and the texts and labels of the last fifth."""
    stream = stream.head(MOST)
    cut = len(stream) * 4 // 5
    return stream.head(cut), stream.texts[cut:], LabelSets.of(stream.labels[cut:])


def _one_process(train: Corpus, settings: dict[str, Any]) -> Clasher:
    model = Clasher(**settings)
    model.learn_many(train.texts, train.labels)
    return model


def _fitted(train: Corpus, parts: int, how: dict[str, Any]) -> Clasher:
    from clasher.adapters.spark import fit, session
    from support.spark_frames import in_parts, table

    spark = session("local[2]", {"spark.driver.memory": "4g"})
    with tempfile.TemporaryDirectory() as folder:
        return fit(in_parts(spark, table(train), parts, Path(folder)), **how)


def _differences(model: Clasher, one: Clasher, test: Any) -> dict[str, Any]:
    """Compare counts, sums and predictions."""
    order = [model._index.numbers[label] for label in one.labels]
    labels, ours, theirs = len(order), model.state, one.state
    mine, his = (memory.values(state, "rows", labels)[0] for state in (ours, theirs))
    together = [memory.values(state, "together", labels)[0] for state in (ours, theirs)]
    counted = {
        "frequencies": np.array_equal(ours.frequencies, theirs.frequencies),
        "counts": np.array_equal(ours.counts[order], theirs.counts[:labels]),
        "together": np.array_equal(
            together[0][np.ix_(order, order)], together[1][:labels, :labels]
        ),
    }
    apart = np.abs(mine[:, order] - his).max()
    pairs = zip(model.predict_many(test), one.predict_many(test), strict=True)
    return {
        "counted": all(counted[name] for name in COUNTED),
        "sums": float(f"{apart / np.abs(his).max():.1e}"),
        "others": sum(a != b for a, b in pairs),
    }


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """The tables of spark.md."""
    return {"centroids": _centroids(results["centroids"]), "margins": _margins(results["margins"])}


def _centroids(rows: list[dict[str, Any]]) -> str:
    one: dict[tuple[str, str], dict[str, Any]] = {}
    body = []
    for row in rows:
        key = row["corpus"], row["way"]
        if row["partitions"] == 1:
            one[key] = row
            body.append([*key, "one process", "", both_f1(row), "", "", "", ""])
            continue
        body.append(
            [
                *key,
                f"{row['partitions']} partitions",
                "yes" if row["exact"] else "no",
                both_f1(row),
                f1_change([row], [one[key]]),
                "equal" if row["counted"] else "differ",
                f"{row['sums']:.0e}",
                f"{row['others']:,}",
            ]
        )
    heads = ["stream", "rule", "learnt in", "words counted first", "F1", "change", "counts", "sums",
             "different predictions"]  # fmt: skip
    return markdown(heads, body)


def _margins(rows: list[dict[str, Any]]) -> str:
    one = {row["corpus"]: row for row in rows if row["partitions"] == 1}
    often = sorted({row["rounds"] for row in rows} - {0})
    body: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        if row["partitions"] > 1:
            key = row["corpus"], row["partitions"]
            alone = one[row["corpus"]]
            cells = body.setdefault(key, [key[0], str(key[1]), both_f1(alone)])
            cells.append(f"{both_f1(row)} ({f1_change([row], [alone])})")
    heads = ["stream", "partitions", "one process"]
    heads += [f"{count} round{'' if count == 1 else 's'}" for count in often]
    return markdown(heads, body.values())
