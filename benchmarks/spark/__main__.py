"""Compare one process with one and two Spark executors, taking turns in one run.

python -m benchmarks.spark                 measures, then writes docs/reference/performance.md
python -m benchmarks.spark --report        writes the tables from results/spark.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.runner import save, say
from benchmarks.spark.work import PARTS
from benchmarks.study import Study
from support import corpora
from support.spark_cluster import Cluster
from support.spark_frames import table, write_parts

LIBRARIES = ("clasher", "numpy", "numba", "pyarrow", "pyspark")
STUDY = Study("spark", __doc__, LIBRARIES)
EXECUTORS = (1, 2)
COPIES = (1, 2)  # of the stream in a job
SMALL = 1_000  # documents of a job that takes little more than its fixed costs


def main(arguments: list[str]) -> int:
    parser = STUDY.parser(160_000)
    parser.add_argument("--repeats", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--report", action="store_true", help="only write the tables")
    given = parser.parse_args(arguments)
    if not given.report:
        save(measure(given, arguments), given.results)
    STUDY.write(given)
    return 0


def measure(given: argparse.Namespace, arguments: list[str]) -> dict[str, Any]:
    """Measure everything in one run."""
    corpus = corpora.beginning(given.data, "arxiv", given.limit)
    about = STUDY.header(arguments, given.repeats)
    about["corpus"] = f"{corpus.name}, {len(corpus.label_names)} labels"
    with tempfile.TemporaryDirectory(prefix="clasher-") as name:
        folder = Path(name)
        small = min(SMALL, len(corpus))
        write_parts(table(corpus.head(small)), PARTS, folder / str(small))
        for copies in COPIES:
            rows = pa.concat_tables([table(corpus)] * copies)
            write_parts(rows, PARTS, folder / str(len(rows)))
        rounds = [_round(folder) for _ in range(given.repeats)]
        return about | {"rounds": rounds, "constants": _run("constants", name)}


def _round(folder: Path) -> dict[str, Any]:
    """Measure one process and each number of executors once."""
    found = {"alone": _run("alone", str(folder))}
    say(f"    {json.dumps(found)}")
    with Cluster(workers=max(EXECUTORS), memory="3g", java="") as cluster:
        for executors in EXECUTORS:
            found[str(executors)] = _run("cluster", str(folder), cluster.url, str(executors))
            say(f"    {executors}: {json.dumps(found[str(executors)])}")
    return found


def _run(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.spark.work", *arguments]
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": "pyspark-shell"}  # without flags of tests
    done = subprocess.run(
        command, cwd=corpora.PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
