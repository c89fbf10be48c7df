"""Make the tables of Spark: speeds, fixed costs, and cluster sizes."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from benchmarks.spark.cluster_size import Constants, plan
from benchmarks.tables import markdown, provenance

TASKS = (
    ("fit centroid", "`fit`, centroid"),
    ("fit centroid, words not counted first", "`fit`, centroid, `exact=False`"),
    ("fit margin", "`fit`, margin"),
    ("fit margin, words not counted first", "`fit`, margin, `exact=False`"),
    ("predict centroid", "`predict`, centroid"),
    ("predict margin", "`predict`, margin"),
)
DAY = 86_400
DEMANDS = ((10**7, 200), (10**8, 1_000), (10**9, 200), (10**9, 10_000), (10**9, 100_000))
"""Documents per day, and labels."""


def speeds(study: dict[str, Any]) -> str:
    """Compare documents per second with one process; show fixed costs separately."""
    rounds = study["rounds"]
    body = []
    for task, title in TASKS:
        plain = task.partition(",")[0]
        one, every = (_line(rounds, ("alone", cores), plain) for cores in ("one core", "all cores"))
        cells = [title, _rate(one), _rate(every)]
        for executors in ("1", "2"):
            line = _line(rounds, (executors, "sizes"), task)
            cells.append(f"{_rate(line)}, × {one[1] / line[1]:.2f}")
        cells.append(f"{_line(rounds, ('2', 'sizes'), task)[0]:.1f} s")
        body.append(cells)
    heads = ["", "one process, one core", "one process, all cores", "1 executor", "2 executors",
             "fixed cost, 2 executors"]  # fmt: skip
    return (
        f"{markdown(heads, body)}\n\n{study['corpus']}, {_documents(study):,} documents; "
        f"{provenance(study)}"
    )


def overheads(study: dict[str, Any]) -> str:
    """Show costs that do not depend on the number of documents."""
    rounds, constants = study["rounds"], study["constants"]

    def taken(name: str) -> str:
        return f"{median(one['2'][name] for one in rounds):.1f} s"

    streamed = [one["2"]["streamed"] for one in rounds]
    batch = median(one["seconds"] / one["batches"] for one in streamed)
    few = f"{streamed[0]['documents']} documents"
    rates = constants["models"]
    rows = [
        ["open a session: start the driver's Java, request executors", taken("session")],
        ["start the executors and their Python", taken("executors")],
        ["first fit: load the compiled kernels", taken("first fit")],
        [f"stream a batch of {few}: predict, learn, save", f"{batch:.1f} s"],
        ["pack, unpack, merge a model",
         ", ".join(f"{rates[name] / 1e6:,.0f} MB/s" for name in ("pack", "unpack", "merge"))],
    ]  # fmt: skip
    return markdown(["step", "time"], rows)


def sizing(study: dict[str, Any]) -> str:
    """Compute the size of clusters from the measured constants."""
    constants = measured(study)
    rows = []
    for documents, labels in DEMANDS:
        found = plan(constants, documents / DAY, labels)
        rows.append(
            [
                f"10{_power(documents)}",
                f"{labels:,}",
                f"{found.per_second:,.0f}",
                f"{found.model_bytes / 1e9:,.1f} GB",
                f"{found.shards:,}",
                f"{found.predict_cores:,.1f}",
                f"{found.network_bytes / 1e6:,.0f} MB/s",
                f"{found.learn_cores:,.2f}",
            ]
        )
    heads = ["documents per day", "labels", "per second", "model", "shards", "cores to predict",
             "sent to shards", "cores to learn 3 %"]  # fmt: skip
    return f"{markdown(heads, rows)}\n\n{_footnote(constants)}"


def measured(study: dict[str, Any]) -> Constants:
    """Compute the constants of the model from the measurements."""
    found = study["constants"]
    labels = [row["labels"] for row in found["labels"]]
    cells = [row["predict margin"] / 2_000 / row["buckets margin"] for row in found["labels"]]
    per_cell, per_bucket = np.polyfit(labels, cells, 1)
    one = _line(study["rounds"], ("alone", "one core"), "predict margin")
    spark = _line(study["rounds"], ("1", "sizes"), "predict margin")
    return Constants(
        hash_seconds=found["hashing"]["per document"],
        hashed_bytes=found["hashing"]["bytes"],
        buckets=found["hashing"]["bytes"] / 8,
        cell_seconds=float(per_cell),
        bucket_seconds=max(0.0, float(per_bucket)),
        spark_seconds=max(0.0, spark[1] - one[1]),
    )


def _line(rounds: list[dict[str, Any]], where: tuple[str, str], task: str) -> tuple[float, float]:
    """Fit a line to the medians of all sizes; return fixed seconds and seconds per document."""
    rows = [one[where[0]][where[1]] for one in rounds]
    sizes = [row["documents"] for row in rows[0]]
    times = [median(one[at][task] for one in rows) for at in range(len(sizes))]
    slope, fixed = np.polyfit(sizes, times, 1, w=1 / np.sqrt(sizes))
    return max(0.0, float(fixed)), float(slope)


def _rate(line: tuple[float, float]) -> str:
    return f"{1 / line[1] / 1000:,.0f} k/s" if line[1] > 0 else "too few documents"


def _documents(study: dict[str, Any]) -> int:
    return int(study["rounds"][0]["2"]["sizes"][-1]["documents"])


def _power(number: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(len(str(number)) - 1))


def _footnote(constants: Constants) -> str:
    return (
        f"Constants of one core: {constants.hash_seconds * 1e6:.0f} µs to hash a document into "
        f"{constants.buckets:.0f} buckets ({constants.hashed_bytes:,.0f} bytes), "
        f"{constants.cell_seconds * 1e9:.2f} ns per bucket and label, "
        f"{constants.bucket_seconds * 1e9:.0f} ns per bucket, "
        f"{constants.spark_seconds * 1e6:.0f} µs that Spark adds per document."
    )
