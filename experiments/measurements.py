"""Measure cells, each in its own process, and cache their results.

The key of a cell in the cache is a digest of its definition, its documents and the code that
measures it. So an interrupted experiment continues where it stopped, and experiments share cells.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil

from benchmarks.runner import reason
from experiments.cells import Cell
from experiments.kinds import KINDS
from experiments.streams import Stream
from support.corpora import DATA, PROJECT

Found = dict[str, Any]

RUNNING: set[subprocess.Popen[str]] = set()


@dataclass(frozen=True)
class Place:
    """The folders of corpora and of the cache, and the time limit of a cell."""

    data: Path = DATA
    cache: Path = Path(__file__).parent / "cache"
    timeout: float = 3600.0

    def has(self, stream: Stream) -> bool:
        """Return whether the corpus of a stream exists."""
        path = stream.path(self.data)
        return path is None or path.is_file()

    def key(self, cell: Cell) -> str:
        """Return the key of a cell in the cache."""
        documents = cell.stream.digest(self.data) if cell.stream else ""
        question = [msgspec.to_builtins(cell), documents, KINDS[cell.kind].fingerprint(cell)]
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:24]

    def cached(self, cell: Cell) -> Found | None:
        """Return the cached result of a cell, if any."""
        path = self.cache / f"{self.key(cell)}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def store(self, cell: Cell, found: Found) -> None:
        """Cache a result atomically."""
        self.cache.mkdir(parents=True, exist_ok=True)
        path = self.cache / f"{self.key(cell)}.json"
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(path)

    def measure(self, cell: Cell) -> Any:
        """Measure a cell in this process."""
        return KINDS[cell.kind].measure(cell, self.data, self.cache / "streams")


def run(cell: Cell, place: Place) -> Found:
    """Measure a cell in its own process; a failure is a result with a reason."""
    began = time.perf_counter()
    request = {
        "cell": msgspec.to_builtins(cell),
        "data": str(place.data),
        "cache": str(place.cache),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.measurements"],
        cwd=PROJECT,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # on Ctrl-C, end_all ends it with its children
    )
    RUNNING.add(process)
    try:
        out, err = process.communicate(json.dumps(request), timeout=place.timeout)
    except subprocess.TimeoutExpired:
        _end(process)
        process.communicate()
        return _about(began) | {"failed": f"took more than {place.timeout:,.0f} seconds"}
    finally:
        RUNNING.discard(process)
    if process.returncode:
        return _about(began) | {"failed": reason(process.returncode, err)}
    return _about(began) | {"result": json.loads(out.splitlines()[-1])}


def end_all() -> None:
    """End all running measurements."""
    for process in list(RUNNING):
        _end(process)


def run_here(cell: Cell, place: Place) -> Found:
    """Measure a cell in this process, for a quick run."""
    began = time.perf_counter()
    try:
        result = place.measure(cell)
    except SystemExit as error:
        return _about(began) | {"failed": str(error)}
    return _about(began) | {"result": result}


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # it may just have ended
        os.killpg(process.pid, signal.SIGKILL)


def _about(began: float) -> Found:
    """Note the date, the duration and the load of the machine."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "took": round(time.perf_counter() - began, 1),
        "load": round(psutil.getloadavg()[0], 2),
    }


def main() -> None:
    """Read a cell from standard input, measure it, and print the result."""
    request = json.load(sys.stdin)
    place = Place(Path(request["data"]), Path(request["cache"]))
    print(json.dumps(place.measure(msgspec.convert(request["cell"], Cell))))


if __name__ == "__main__":
    main()
