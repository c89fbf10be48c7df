"""``clasher spark``: the commands on a local cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest

from clasher import Clasher
from support.environment import optional
from tests.adapters.spark.test_fit import check_equal
from tests.cli.command import SMALL, jsonl, one_line, records, run, stream

optional("pyspark", "spark")

CENTROID = ("--rule", "centroid", *SMALL)


def lines(folder):
    """The JSON lines of a folder that Spark wrote, by id."""
    parts = [part.read_bytes() for part in sorted(Path(folder).rglob("part-*.json"))]
    found = [msgspec.json.decode(line) for part in parts for line in part.splitlines()]
    return sorted(found, key=lambda row: row.get("id", ""))


def test_files_are_learnt_and_labelled(spark, tmp_path):
    """As by the commands of one process."""
    news, model, alone = stream(tmp_path), tmp_path / "m", tmp_path / "alone"
    output = run("spark", "fit", news, "-m", model, *CENTROID).stderr
    assert "learnt 40 documents; saved" in output
    run("learn", news, "-m", alone, *CENTROID)
    check_equal(Clasher.load(model), Clasher.load(alone))
    run("spark", "fit", news, "-m", model, "--quiet")
    assert Clasher.load(model).documents == 80
    run("spark", "predict", news, "-m", alone, "-o", tmp_path / "out", "--probabilities")
    out = run("predict", news, "-m", alone, "--probabilities").stdout
    expected = sorted(map(msgspec.json.decode, out.splitlines()), key=lambda row: row["id"])
    found = lines(tmp_path / "out")
    assert [(row["id"], row["labels"]) for row in found] == [
        (row["id"], row["labels"]) for row in expected
    ]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours["probabilities"].keys() == theirs["probabilities"].keys()
        np.testing.assert_allclose(
            [*ours["probabilities"].values()], [*theirs["probabilities"].values()], atol=1e-6
        )


def test_a_folder_is_learnt_as_files_arrive(spark, tmp_path):
    box, model = tmp_path / "inbox", tmp_path / "m"
    box.mkdir()
    rows = records(40)
    (box / "1.jsonl").write_bytes(jsonl(rows[:20]) + b'{"text": 3}\n')
    how = ("--to", tmp_path / "out", "--dead-letters", tmp_path / "dead", "--once", "--files", 1)
    output = run("spark", "stream", box, "-m", model, *how, *SMALL).stderr
    assert "batch 0: 21 rows, 1 bad row; F1 so far" in output
    (box / "2.jsonl").write_bytes(jsonl(rows[20:]))
    output = run("spark", "stream", box, "-m", model, *how).stderr
    assert "40 documents, 3 labels" in output
    assert [row["id"] for row in lines(tmp_path / "out")] == sorted(row["id"] for row in rows)
    (letter,) = lines(tmp_path / "dead")
    assert letter["raw"] == '{"text": 3}'
    assert "field 'text' holds a number, not text" in letter["error"]
    again = run("spark", "stream", box, "-m", model, "--once", *SMALL)  # the same settings
    assert "40 documents, 3 labels" in again.stderr
    other = ("--dimensions", "32")
    message = one_line(run("spark", "stream", box, "-m", model, "--once", *other, code=2))
    assert "--dimensions 32 contradicts" in message


def test_a_stream_begins_with_a_model_file(spark, tmp_path):
    news, model = stream(tmp_path), tmp_path / "first"
    run("learn", news, "-m", model, *SMALL)
    (tmp_path / "inbox").mkdir()
    stream(tmp_path / "inbox", 10)
    how = ("--initial-model", model, "--once", "--quiet")
    run("spark", "stream", tmp_path / "inbox", "-m", tmp_path / "m", *how)
    (found,) = (tmp_path / "m" / "snapshots").glob("*1/model.clasher")
    assert Clasher.load(found).documents == 50
    run("spark", "stream", tmp_path / "inbox", "-m", tmp_path / "m", *how)
    run("learn", news, "-m", tmp_path / "other", *SMALL, "--seed", "3")
    how = ("--initial-model", tmp_path / "other", "--once")
    message = one_line(
        run("spark", "stream", tmp_path / "inbox", "-m", tmp_path / "m", *how, code=2)
    )
    assert f"already has a model, which began with {model}" in message


def test_a_folder_without_its_first_snapshot_is_new(spark, tmp_path):
    (tmp_path / "inbox").mkdir()
    stream(tmp_path / "inbox", 10)
    (tmp_path / "m" / "snapshots").mkdir(parents=True)
    output = run("spark", "stream", tmp_path / "inbox", "-m", tmp_path / "m", "--once", *SMALL)
    assert "10 documents" in output.stderr


def test_a_session_of_another_thread_stays_open(spark, tmp_path):
    """Spark knows no active session in a thread that did not make one."""
    news = stream(tmp_path, 10)
    command = ("spark", "fit", news, "-m", tmp_path / "m", *SMALL)
    thread = threading.Thread(target=run, args=command)
    thread.start()
    thread.join()
    assert (tmp_path / "m").exists()
    assert spark.range(3).count() == 3


@pytest.fixture
def elsewhere(spark):
    """Make an unreachable file system Spark's default."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    ours = {"fs.defaultFS": "hdfs://127.0.0.1:1", "ipc.client.connect.max.retries": "0"}
    before = {name: conf.get(name) for name in ours}
    for name, value in ours.items():
        conf.set(name, value)
    yield
    for name, value in before.items():
        conf.set(name, value)


def test_a_stream_keeps_its_model_on_the_local_file_system(elsewhere, tmp_path):
    box, model = tmp_path / "in box", tmp_path / "the mödel, 100%"
    box.mkdir()
    stream(box, 10)
    how = ("-m", model, "--to", f"file://{tmp_path}/out", "--once")
    run("spark", "stream", f"file://{box}/", *how, *SMALL)
    stream(box, 10, seed=1, name="more.jsonl")
    output = run("spark", "stream", f"file://{box}/", *how, *SMALL).stderr
    assert "20 documents" in output
    assert Clasher.load(model / "model.clasher").documents == 20
    assert (model / "checkpoint" / "metadata").exists()


def test_errors_are_one_line(spark, tmp_path):
    news = stream(tmp_path)
    (tmp_path / "bad.jsonl").write_bytes(jsonl(records(2)) + b"[1]\n")
    message = one_line(run("spark", "fit", tmp_path / "bad.jsonl", "-m", tmp_path / "m", code=2))
    assert "bad.jsonl, after byte 0: it is not an object; write one whole object a line" in message
    run("spark", "fit", tmp_path / "bad.jsonl", "-m", tmp_path / "m", "--on-error", "skip", *SMALL)
    assert Clasher.load(tmp_path / "m").documents == 2
    (tmp_path / "out").mkdir()
    message = one_line(
        run("spark", "predict", news, "-m", tmp_path / "m", "-o", tmp_path / "out", code=2)
    )
    assert "exists already; name a new folder" in message
    wrong = run("spark", "fit", news, "-m", tmp_path / "m", "--conf", "nonsense", code=2).stderr
    assert "'nonsense' is not of the form NAME=VALUE" in wrong


def test_the_script_for_spark_submit_exists():
    assert Path(run("spark", "script").stdout.strip()).is_file()


@pytest.mark.compiled
@pytest.mark.trial
def test_spark_submit_runs_a_stream_until_sigterm(tmp_path):
    """A stream that waits for files ends with SIGTERM, its model on disk."""
    import pyspark

    script = run("spark", "script").stdout.strip()
    (tmp_path / "inbox").mkdir()
    stream(tmp_path / "inbox", 10)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [
        submit,
        "--master",
        "local[1]",
        script,
        "stream",
        tmp_path / "inbox",
        "-m",
        tmp_path / "m",
    ]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYSPARK_SUBMIT_ARGS")
    with subprocess.Popen(
        [*map(str, command), "-m", str(tmp_path / "m"), *SMALL], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=environment, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            for line in process.stdout:
                if line.startswith("batch 0: 10 rows"):
                    os.killpg(process.pid, signal.SIGTERM)
            assert process.wait(600) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    (found,) = (tmp_path / "m" / "snapshots").glob("*1/model.clasher")
    assert Clasher.load(found).documents == 10
