"""Cells are measured in processes of their own, and what was found is kept.

The cache knows a cell by its question, its documents and the code that answers: an experiment
that was interrupted goes on where it stopped, and two experiments share what both ask for.
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
    """Where corpora are, and where what was found is kept."""

    data: Path = DATA
    cache: Path = Path(__file__).parent / "cache"
    timeout: float = 3600.0

    def has(self, stream: Stream) -> bool:
        """Whether the documents of a stream are there."""
        path = stream.path(self.data)
        return path is None or path.is_file()

    def key(self, cell: Cell) -> str:
        """The name of a cell in the cache."""
        documents = cell.stream.digest(self.data) if cell.stream else ""
        question = [msgspec.to_builtins(cell), documents, KINDS[cell.kind].fingerprint(cell)]
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:24]

    def kept(self, cell: Cell) -> Found | None:
        """What was found before, if anything was."""
        path = self.cache / f"{self.key(cell)}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def keep(self, cell: Cell, found: Found) -> None:
        """Keep what was found, whole or not at all."""
        self.cache.mkdir(parents=True, exist_ok=True)
        path = self.cache / f"{self.key(cell)}.json"
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(path)

    def measure(self, cell: Cell) -> Any:
        """Measure a cell in this process."""
        return KINDS[cell.kind].measure(cell, self.data, self.cache / "streams")


def run(cell: Cell, place: Place) -> Found:
    """Measure a cell in a process of its own; what goes wrong is told with its reason."""
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
        start_new_session=True,  # Ctrl-C is ours: the process is ended with all that it started
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
    """End what is being measured; what was found before is kept."""
    for process in list(RUNNING):
        _end(process)


def run_here(cell: Cell, place: Place) -> Found:
    """Measure a cell in this process, for a quick look."""
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
    """When it was measured, how long it took, how busy the machine was."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "took": round(time.perf_counter() - began, 1),
        "load": round(psutil.getloadavg()[0], 2),
    }


def main() -> None:
    """Measure the cell that standard input describes, and print what was found."""
    request = json.load(sys.stdin)
    place = Place(Path(request["data"]), Path(request["cache"]))
    print(json.dumps(place.measure(msgspec.convert(request["cell"], Cell))))


if __name__ == "__main__":
    main()
