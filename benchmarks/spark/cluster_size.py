"""Compute the size of a cluster for a number of documents and labels.

A document is hashed once, in time h, into u buckets. With the margin rule, every label then takes
two multiplications and additions per bucket. So predicting a document takes

    t = h + s + u · (b + c · L · r)

with b per bucket, c per bucket and label, s for Spark per document, and r the work of the rounds: 1
for a model in one piece, and 5/2 for shards, which multiply prototypes three times and weights
twice. Learning takes no more time than predicting: it adds only a few labels. A model has 2 · m · L
weights and L² co-occurrences, in single precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DIMENSIONS = 65_536
LARGEST = 4e9  # bytes of a model or shard per core
ROUNDS = 3  # in each, documents are sent to all shards
SHARDED_WORK = 2.5
LABELLED = 0.03  # share of the documents


@dataclass(frozen=True)
class Constants:
    """Measurements on one core, in seconds and bytes."""

    hash_seconds: float
    hashed_bytes: float
    buckets: float
    cell_seconds: float
    bucket_seconds: float
    spark_seconds: float


@dataclass(frozen=True)
class Plan:
    """The size of a cluster."""

    per_second: float
    model_bytes: float
    shards: int
    predict_cores: float
    learn_cores: float
    network_bytes: float


def plan(constants: Constants, per_second: float, labels: int) -> Plan:
    """Compute the cluster for a number of documents per second and of labels.

    >>> few = Constants(1e-5, 800, 100, 1e-10, 1e-8, 1e-5)
    >>> found = plan(few, 1000.0, 100)
    >>> found.shards, round(found.predict_cores, 3)
    (1, 0.022)
    >>> plan(few, 1000.0, 100_000).shards
    24
    """
    model = 4.0 * (2 * DIMENSIONS * labels + labels**2)
    shards = max(1, math.ceil(model / LARGEST))
    work = 1.0 if shards == 1 else SHARDED_WORK
    cells = constants.cell_seconds * labels * work
    seconds = (
        constants.hash_seconds
        + constants.spark_seconds
        + constants.buckets * (constants.bucket_seconds + cells)
    )
    sent = 0.0 if shards == 1 else ROUNDS * shards * constants.hashed_bytes * per_second
    cores = per_second * seconds
    return Plan(per_second, model, shards, cores, LABELLED * cores, sent)
