"""Make the tables of the studies that are one module each."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.peers.river_pipeline import RATES
from benchmarks.tables import f1, markdown, provenance

ESTIMATORS_TITLES = {
    "hashed": "`HashedTfidfVectorizer()`",
    "hashed, rich": "`HashedTfidfVectorizer(analyzer=Analyzer.rich(), lead=True)`",
    "hashing": "`HashingVectorizer` + `TfidfTransformer`",
    "classifier": "`ClasherClassifier()` on text",
    "pipeline": "`HashedTfidfVectorizer()` + `ClasherClassifier()`",
    "linear": "`HashingVectorizer` + `TfidfTransformer` + one `SGDClassifier` per label",
}


def estimators(study: dict[str, Any]) -> str:
    """Make the table of ``python -m benchmarks.estimators``."""
    rows = [row for found in study["figures"].values() for row in _estimators_rows(found)]
    heads = [
        "corpus",
        "estimator",
        "documents/s",
        "macro F1 / micro F1",
        "× speed",
        "× macro F1",
        "× micro F1",
    ]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"


def _estimators_rows(found: dict[str, Any]) -> list[list[str]]:
    ratios = {one["way"]: one for one in found["ratios"]}
    rows = []
    for way, rates in found["rates"].items():
        quality, ratio = found["quality"][way], ratios.get(way)
        times = (
            ["1"] * 3 if ratio is None else [f"{ratio[k]:.2f}" for k in ("speed", "macro", "micro")]
        )
        rows.append(
            [found["corpus"], ESTIMATORS_TITLES[way], f"{statistics.median(rates):,.0f}",
             f"{f1(quality['macro'])} / {f1(quality['micro'])}", *times]
        )  # fmt: skip
    return rows


FLOW_TITLES = {
    "group": "from a Redis group to a file",
    "group, to Redis": "from a Redis group to another stream",
    "position": "from a Redis stream without a group to a file",
    "topic": "from a Kafka topic without a group to a file",
    "members": "from a Kafka group to a file",
    "transactions": "from a Kafka group to another topic, in transactions",
    "decoding topic": "confluent-kafka loop that reads, with `json.loads`",
    "decoding members": "confluent-kafka loop in a group that reads with `json.loads` and commits",
    "run": "from a file to a file",
    "bare group": "redis-py loop that reads and acknowledges",
    "bare": "redis-py loop that reads",
    "evaluate": "`clasher evaluate`, which writes nothing",
}


def flow(study: dict[str, Any]) -> str:
    """Make the table of ``python -m benchmarks.flow``."""
    rows = [row for name, found in study["figures"].items() for row in _flow_rows(name, found)]
    heads = ["stream", "documents/s", "compared with", "documents/s", "ratio"]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"


def _flow_rows(study: str, found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for one in found["ratios"]:
        own, peer = (statistics.median(found["rates"][one[way]]) for way in ("way", "peer"))
        rows.append(
            [f"{found['corpus']}, {FLOW_TITLES[one['way']]}", f"{own:,.0f}",
             FLOW_TITLES[one["peer"]], f"{peer:,.0f}", f"{one['ratio']:.2f}"]
        )  # fmt: skip
    compared = {name for one in found["ratios"] for name in (one["way"], one["peer"])}
    alone = [name for name in found["rates"] if name not in compared]
    rows += [
        [
            f"{found['corpus']}, {FLOW_TITLES[name]}",
            f"{statistics.median(found['rates'][name]):,.0f}",
        ]
        + ["–"] * 3
        for name in alone
    ]
    return rows


RIVER_PEER = f"river-{RATES[0]}"
RIVER_TITLES = {
    "text": "`ClasherClassifier()`",
    "batches": "`ClasherClassifier()`, `predict_many` and `learn_many` of 100",
    "features": "`TFIDF() | ClasherClassifier()`",
    **{
        f"river-{rate}": "`TFIDF() | FeatureHasher() | PerOutputClassifier(LogisticRegression("
        f"SGD({rate})))`"
        for rate in RATES
    },
}


def river(study: dict[str, Any]) -> str:
    """Make the table of ``python -m benchmarks.river``."""
    rows = [row for name, found in study["figures"].items() for row in _river_rows(name, found)]
    heads = ["stream", "model", "macro F1 / micro F1", "documents/s", "× River"]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"


def _river_rows(stream: str, found: dict[str, Any]) -> list[list[str]]:
    rates = {way: statistics.median(taken) for way, taken in found["rates"].items()}
    about = f"{stream} (first {found['documents']:,}; {found['labels']} labels)"
    return [
        [about, RIVER_TITLES[way], f"{f1(found['scores'][way]['macro_f1'])} / "
         f"{f1(found['scores'][way]['micro_f1'])}", f"{rate:,.0f}",
         f"{rate / rates[RIVER_PEER]:,.1f}"]
        for way, rate in rates.items()
    ]  # fmt: skip


STARTUP_PEERS = ("python", "import numpy")


def startup(study: dict[str, Any]) -> str:
    """Make the table of ``python -m benchmarks.startup``."""
    found = {name: statistics.median(taken) for name, taken in study["figures"].items()}
    rows = [
        [f"`{name}`", f"{own:.3f}", *(f"{own / found[peer]:.1f}" for peer in STARTUP_PEERS)]
        for name, own in found.items()
    ]
    heads = ["", "seconds", *(f"× `{peer}`" for peer in STARTUP_PEERS)]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"
