"""Kill an executor and a driver: the model stays the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from support.environment import optional
from tests.adapters.spark import inbox
from tests.adapters.spark.frames import PARTITIONS, SETTINGS, cut, in_partitions, table
from tests.adapters.spark.inbox import LENGTH
from tests.adapters.spark.test_fit import one_pass
from tests.service.plain import file_bytes

fit = optional("clasher.adapters.spark", "spark").fit
streaming = optional("tests.adapters.spark.jobs", "spark").streaming
cluster = optional("support.spark_cluster", "spark")

# workers that interpret kernels take minutes
pytestmark = [pytest.mark.compiled, pytest.mark.trial]

PATIENCE = 600.0  # a machine may be busy with other things
FILES = 5


def start(*arguments):
    """Start a driver in its own process group."""
    command = [sys.executable, "-m", "tests.adapters.spark.jobs", *map(str, arguments)]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)


def finished(process):
    """Wait for a driver; return its exit code and its output."""
    try:
        _, output = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, output.decode()


def test_an_executor_that_is_killed_changes_nothing(spark, corpus, tmp_path):
    """On a master and two workers; another executor learns its partitions again."""
    rows, model, marker = (tmp_path / name for name in ("rows", "model", "marker"))
    pq.write_table(table(corpus), rows)
    with cluster.Cluster(workers=2) as running:
        code, output = finished(start("fit", running.url, rows, model, marker))
    assert code == 0, output
    assert marker.exists()
    assert "Lost executor" in output
    df = in_partitions(spark, table(corpus), cut(len(corpus), PARTITIONS))
    assert model.read_bytes() == file_bytes(fit(df, exact=False, **SETTINGS))


def test_a_driver_that_is_killed_again_and_again_loses_and_repeats_nothing(spark, corpus, tmp_path):
    """Kill it after a write, after a save, between batches; then let it finish."""
    box, folder, output = (tmp_path / name for name in ("inbox", "folder", "output"))
    inbox.fill(box, corpus, FILES)
    for end in ("written:1", "kept:2"):
        assert finished(start("stream", box, folder, output, end))[0] == -signal.SIGKILL
    between = start("stream", box, folder, output, "between")
    deadline = time.monotonic() + PATIENCE
    while not (folder / "checkpoint" / "commits" / "3").exists():
        assert time.monotonic() < deadline
        assert between.poll() is None
        time.sleep(0.02)
    os.killpg(between.pid, signal.SIGKILL)
    assert finished(between)[0] == -signal.SIGKILL
    streaming(str(box), str(folder), str(output))
    assert (output / "model").read_bytes() == file_bytes(one_pass(corpus.head(FILES * LENGTH)))
    for number in range(FILES):
        known = one_pass(corpus.head(number * LENGTH))
        texts = corpus.texts[number * LENGTH : (number + 1) * LENGTH]
        rows = pq.read_table(output / str(number)).sort_by("number")
        assert rows["predicted"].to_pylist() == [sorted(x) for x in known.predict_many(texts)]
