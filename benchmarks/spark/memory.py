"""Measure how much memory a model takes in a Python worker.

python -m benchmarks.spark.memory        prints the peaks of a worker, and how many models they hold

The same job runs with a small and a large model, each in a new session of one core. The difference
between the peaks, divided by that between the models, is the figure in docs/how-to/spark.md, "Size
a cluster". It does not depend on how busy the machine is.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clasher.model import Clasher

SIZES = (50, 400)  # labels
JOBS = ("predict", "fit")
INTERVAL = 0.05  # seconds between two looks at the workers


def model_of(labels: int) -> Clasher:
    """Make a model with a number of labels, set as in the table of sizes."""
    model = Clasher(65536)
    names = [f"label {number}" for number in range(labels)]
    model.learn_many([f"word{number} and others" for number in range(labels)], [[n] for n in names])
    return model


def measure(job: str, labels: int) -> tuple[int, int]:
    """Return the peak of a worker, and the size of the model, in bytes."""
    from clasher.adapters.spark import fit, predict, session

    spark = session("local[1]", {"spark.driver.memory": "3g"})
    model = model_of(labels)
    rows = [(f"word{number} and others", [f"label {number % labels}"]) for number in range(2000)]
    df = spark.createDataFrame(rows, "text string, labels array<string>").coalesce(1)

    def work() -> None:
        if job == "fit":
            fit(df, model)
        else:
            predict(df.drop("labels"), model).write.format("noop").mode("overwrite").save()

    peak = _peak_during(work)
    spark.stop()
    return peak, model.nbytes


def _peak_during(work: Callable[[], Any]) -> int:
    """Do some work; return the highest memory peak of a worker meanwhile."""
    peak, is_done = 0, threading.Event()

    def look() -> None:
        nonlocal peak
        while not is_done.wait(INTERVAL):
            peak = max([peak, *map(_peak, _workers())])

    thread = threading.Thread(target=look)
    thread.start()
    try:
        work()
    finally:
        is_done.set()
        thread.join()
    return peak


def _workers() -> list[Path]:
    return [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if _is_ours(path)]


def _is_ours(path: Path) -> bool:
    try:
        command = path.read_bytes()
        group = (path.parent / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return False
    return b"pyspark.daemon" in command and group[3] == str(_session())


def _session() -> int:
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[3])


def _peak(process: Path) -> int:
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def main(arguments: list[str]) -> int:
    if arguments:
        print(*measure(arguments[0], int(arguments[1])))
        return 0
    for job in JOBS:
        found = []
        for labels in SIZES:
            command = [sys.executable, "-m", "benchmarks.spark.memory", job, str(labels)]
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, start_new_session=True
            )
            found.append([int(word) for word in done.stdout.split()])
        (low, small), (high, large) = found
        print(
            f"{job}: a worker takes {low / 1e6:,.0f} MB with a model of {small / 1e6:,.0f} MB and "
            f"{high / 1e6:,.0f} MB with one of {large / 1e6:,.0f} MB: "
            f"{(high - low) / (large - small):.1f} models"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
