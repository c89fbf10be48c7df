"""The tables of Spark's benchmark, and the computed cluster, from made-up figures."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.spark import cluster_size, tables
from benchmarks.spark.cluster_size import Constants, plan


def times(fixed: float, each: float) -> list[dict[str, float]]:
    """A fit or a prediction of three sizes, of which a document takes so long."""
    return [
        {"documents": size} | {task: fixed + each * size for task, _ in tables.TASKS}
        for size in (1_000, 50_000, 100_000)
    ]


def study() -> dict[str, Any]:
    spark = {
        "session": 4.0, "executors": 3.0, "first fit": 2.0,
        "streamed": {"seconds": 12.0, "batches": 10, "documents": 200},
    }  # fmt: skip
    return {
        "command": "python -m benchmarks.spark", "date": "2026-01-01", "seed": 0, "repeats": 1,
        "corpus": "made up", "versions": {"clasher": "0"},
        "machine": {"cpu": "a", "cores": 2, "memory_bytes": 1e9, "system": "b", "python": "3",
                    "load_before": 0.0},
        "rounds": [{
            "alone": {"one core": times(0.0, 20e-6), "all cores": times(0.0, 10e-6)},
            "1": spark | {"sizes": times(5.0, 25e-6)},
            "2": spark | {"sizes": times(5.0, 12.5e-6)},
        }],
        "constants": {
            "labels": [
                {"labels": n, "predict margin": 2_000 * 100 * (1e-8 + 1e-10 * n),
                 "buckets margin": 100} for n in (100, 1_000, 10_000)
            ],
            "hashing": {"per document": 1e-5, "bytes": 800},
            "models": {"pack": 1e9, "unpack": 5e8, "merge": 2e9},
        },
    }  # fmt: skip


def test_fixed_costs_are_separated_from_costs_per_document():
    shown = tables.speeds(study())
    assert "| `fit`, margin | 50 k/s | 100 k/s | 40 k/s, × 0.80 | 80 k/s, × 1.60 | 5.0 s |" in shown
    assert "python -m benchmarks.spark" in shown
    written = tables.overheads(study())
    assert "| stream a batch of 200 documents: predict, learn, save | 1.2 s |" in written
    assert "1,000 MB/s, 500 MB/s, 2,000 MB/s" in written


def test_constants_come_from_the_measurements():
    found = tables.measured(study())
    assert found.cell_seconds == pytest.approx(1e-10)
    assert found.bucket_seconds == pytest.approx(1e-8)
    assert found.spark_seconds == pytest.approx(5e-6)
    shown = tables.sizing(study())
    assert "| 10⁹ | 100,000 | 11,574 | 92.4 GB | 24 |" in shown
    assert "0.10 ns per bucket and label" in shown


def test_shards_cost_more_arithmetic_and_a_network():
    constants = Constants(1e-5, 800, 100, 1e-10, 1e-8, 0.0)
    whole, split = plan(constants, 100.0, 7_000), plan(constants, 100.0, 8_000)
    assert (whole.shards, whole.network_bytes) == (1, 0.0)
    assert split.shards == 2
    assert split.network_bytes == 3 * 2 * 800 * 100
    hashing = 100 * (1e-5 + 100 * 1e-8)
    assert (split.predict_cores - hashing) / (whole.predict_cores - hashing) == pytest.approx(
        cluster_size.SHARDED_WORK * 8 / 7
    )
