"""Drivers in their own processes, on a cluster, and to be killed.

python -m tests.adapters.spark.jobs fit MASTER ROWS MODEL MARKER
python -m tests.adapters.spark.jobs stream INBOX FOLDER OUTPUT END
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from clasher.adapters.spark import fit, predict, session, stream
from tests.adapters.spark import inbox
from tests.adapters.spark.frames import PARTITIONS, SETTINGS, cut, in_partitions

EXECUTORS = 2
CLUSTER = {
    "spark.cores.max": str(EXECUTORS),
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
DYING = PARTITIONS - 2  # the partition whose first executor dies


def on_cluster(master: str, rows: str, model: str, marker: str) -> None:
    """Fit and predict on a cluster, and kill one of its executors on the way."""
    spark = session(master, CLUSTER)
    table = pq.read_table(rows)
    df = in_partitions(spark, table, cut(len(table), PARTITIONS))

    def dying(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass rows through; kill the executor of one partition, once."""
        if TaskContext.get().partitionId() == DYING and not os.path.exists(marker):
            with open(marker, "x"):
                parents = psutil.Process().parents()
            next(parent for parent in parents if parent.name() == "java").kill()
        yield from batches

    learnt = fit(df.mapInArrow(dying, df.schema), exact=False, **SETTINGS)
    learnt.save(model)
    found = [row.predicted for row in predict(df, learnt).orderBy("number").collect()]
    assert found == [sorted(labels) for labels in learnt.predict_many(table["text"])]
    spark.stop()


def streaming(box: str, folder: str, output: str, end: str = "") -> None:
    """Learn a folder of files; ``end`` says where to kill the driver: ``written:1``, ``kept:2``.

    With ``between`` it waits between two batches, to be killed there.
    """

    def reached(place: str) -> None:
        if place == end:
            os.killpg(0, signal.SIGKILL)

    def write(predictions, number: int) -> None:
        kept = predictions.select("number", "predicted").coalesce(1)
        kept.write.mode("overwrite").parquet(f"{output}/{number}")
        reached(f"written:{number}")

    spark = session("local[2]")
    trigger = {"processingTime": "2 seconds"} if end == "between" else {"availableNow": True}
    df = inbox.read(spark, Path(box))
    with stream(
        df, folder, write=write, on_progress=lambda progress: reached(f"kept:{progress.batch}"),
        trigger=trigger, **SETTINGS,
    ) as running:  # fmt: skip
        running.wait()
        running.model.save(f"{output}/model")


if __name__ == "__main__":
    {"fit": on_cluster, "stream": streaming}[sys.argv[1]](*sys.argv[2:])
