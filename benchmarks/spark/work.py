"""Measure one process, or a driver with executors; each runs in a process of its own.

python -m benchmarks.spark.work alone FOLDER
python -m benchmarks.spark.work cluster FOLDER MASTER EXECUTORS
python -m benchmarks.spark.work constants FOLDER
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clasher import Clasher
from clasher.cli.terminal import warm_up
from clasher.text.hashing import Hasher
from support.corpora import synthetic
from support.spark_frames import SCHEMA, read_parts

RULES = ("centroid", "margin")
PARTS = 4  # partitions of every data frame
STREAMED = (10, 200)  # batches of a stream, and documents per batch
SHARDS = 2
LABELS = (100, 1_000, 10_000)
LABELLED = {"dimensions": 8192, "max_labels": 16_384}
TIMED = 2_000  # documents to predict for each number of labels


def sizes(folder: Path) -> list[int]:
    """Return the numbers of documents that have files, ascending."""
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


@contextmanager
def timed(found: dict[str, float], name: str) -> Iterator[None]:
    gc.collect()
    start = time.perf_counter()
    yield
    found[name] = time.perf_counter() - start


# ── one process ──────────────────────────────────────────────────────────────────────────────────


def alone(folder: Path) -> dict[str, Any]:
    """Learn and predict in one process, on one core and on all cores."""
    warm_up()
    found: dict[str, Any] = {}
    every = os.sched_getaffinity(0)
    for name, cores in (("one core", {min(every)}), ("all cores", every)):
        os.sched_setaffinity(0, cores)
        found[name] = [_alone(folder, size) for size in sizes(folder)]
    return found


def _alone(folder: Path, size: int) -> dict[str, float]:
    took: dict[str, float] = {"documents": size}
    for rule in RULES:
        model = Clasher(rule=rule)
        with timed(took, f"fit {rule}"):
            for rows in _read(folder / str(size)):
                model.learn_many(rows["text"], rows["labels"])
        with timed(took, f"predict {rule}"):
            for rows in _read(folder / str(size)):
                model.predict_many(rows["text"])
    return took


def _read(folder: Path) -> Iterator[pa.Table]:
    for number in range(PARTS):
        yield pq.read_table(folder / f"{number}.parquet")


# ── executors ────────────────────────────────────────────────────────────────────────────────────


def cluster(folder: Path, master: str, executors: str) -> dict[str, Any]:
    """Learn and predict on executors, and measure how long they take to start."""
    from clasher.adapters.spark import fit, predict, session

    took: dict[str, Any] = {}
    conf = {
        "spark.cores.max": executors, "spark.executor.cores": "1", "spark.executor.memory": "2g",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    }  # fmt: skip
    with timed(took, "session"):
        spark = session(master, conf)
        spark.sparkContext.setLogLevel("ERROR")
    with timed(took, "executors"):
        spark.range(0, PARTS, 1, PARTS).mapInArrow(lambda rows: rows, "id bigint").count()
    with timed(took, "first fit"):
        first = fit(read_parts(spark, PARTS, folder / str(sizes(folder)[0])), rule="centroid")
    rows = []
    for size in sizes(folder):
        row: dict[str, float] = {"documents": size}
        df = read_parts(spark, PARTS, folder / str(size))
        for rule in RULES:
            with timed(row, f"fit {rule}"):
                model = fit(df, rule=rule)
            with timed(row, f"fit {rule}, words not counted first"):
                fit(df, rule=rule, exact=False)
            with timed(row, f"predict {rule}"):
                _drain(predict(df, model))
        rows.append(row)
    took["sizes"] = rows
    took["model bytes"] = {rule: Clasher(rule=rule).nbytes for rule in RULES}
    took["model bytes"] |= {"centroid": first.nbytes, "margin": model.nbytes}
    with tempfile.TemporaryDirectory() as name:
        took |= _sharded(spark, folder, model, Path(name)) | _streamed(spark, folder, Path(name))
    spark.stop()
    return took


def _drain(df: Any) -> None:
    df.write.format("noop").mode("overwrite").save()


def _sharded(spark: Any, folder: Path, model: Clasher, scratch: Path) -> dict[str, Any]:
    from clasher.adapters.spark import predict_sharded, write_shards

    shards = write_shards(model, scratch / "shards", SHARDS)
    rows = []
    for size in sizes(folder)[:2]:
        row: dict[str, float] = {"documents": size}
        df = read_parts(spark, PARTS, folder / str(size))
        with timed(row, "predict"):
            _drain(predict_sharded(df, shards, id="number"))
        rows.append(row)
    return {"sharded": rows}


def _streamed(spark: Any, folder: Path, scratch: Path) -> dict[str, Any]:
    """Measure batches of a stream, each predicted, learnt and saved."""
    from clasher.adapters.spark import stream

    batches, documents = STREAMED
    rows = pq.read_table(folder / str(sizes(folder)[-1]) / "0.parquet")
    (scratch / "inbox").mkdir()
    for number in range(batches):
        part = rows[number * documents : (number + 1) * documents]
        pq.write_table(part, scratch / "inbox" / f"{number:04}.parquet")
    reader = spark.readStream.schema(SCHEMA)
    df = reader.option("maxFilesPerTrigger", 1).parquet(str(scratch / "inbox"))
    took: dict[str, float] = {}
    with (
        timed(took, "seconds"),
        stream(df, scratch / "model", trigger={"availableNow": True}) as running,
    ):
        running.wait()
    return {"streamed": took | {"batches": batches, "documents": documents}}


# ── constants ────────────────────────────────────────────────────────────────────────────────────


def constants(folder: Path) -> dict[str, Any]:
    """Measure time per document and label on one core, and the speed of packing models."""
    from clasher.learning.model_file import packed, unpacked

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warm_up()
    found: dict[str, Any] = {"labels": [_by_labels(count) for count in LABELS]}
    rows = pq.read_table(folder / str(sizes(folder)[-1]) / "0.parquet")
    hasher = Hasher(65536)
    took: dict[str, Any] = {}
    with timed(took, "seconds"):
        hashed = hasher.hash_many(rows["text"])
    found["hashing"] = {
        "per document": took["seconds"] / len(rows),
        "bytes": 8 * len(hashed.buckets) / len(rows),
    }
    model = Clasher()
    model.learn_many(rows["text"], rows["labels"])
    content, mine = packed(model), model.copy()
    steps: dict[str, Callable[[], Any]] = {
        "pack": lambda: packed(model),
        "unpack": lambda: unpacked(content, Clasher.load),
        "merge": lambda: mine.merge(model),
    }
    for name, step in steps.items():
        step()
        with timed(took, name):
            step()
    found["models"] = {name: model.nbytes / took[name] for name in steps}
    return found


def _by_labels(labels: int) -> dict[str, float]:
    stream = synthetic(max(labels, TIMED), labels, words=100)
    took: dict[str, float] = {"labels": labels}
    for rule in RULES:
        model = Clasher(rule=rule, **LABELLED)
        model.learn_many(stream.texts, stream.labels)
        hashed = model.hash_many(stream.texts[:TIMED])
        model.predict_many(hashed.part(0, 10))
        took[f"buckets {rule}"] = len(hashed.buckets) / TIMED
        with timed(took, f"predict {rule}"):
            model.predict_many(hashed)
    return took


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "alone": alone,
    "cluster": cluster,
    "constants": constants,
}

if __name__ == "__main__":
    what, where, *others = sys.argv[1:]
    print(json.dumps(WORK[what](Path(where), *others)))
