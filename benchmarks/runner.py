"""Run systems, each alone in its own process, and save their results."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, versions
from benchmarks.prepared import Prepared
from support.corpora import PROJECT, SEED


@dataclass(frozen=True)
class Job:
    """One system on one prepared stream; see ``Task`` for the options."""

    system: str
    prepared: Prepared
    limit: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    fraction: float | None = None
    points: tuple[int, ...] = ()
    seconds: float | None = None
    ranked: bool = False
    once: bool = False

    @property
    def command(self) -> list[str]:
        """Return the command line of its process."""
        command = [sys.executable, "-m", "benchmarks.peers", self.system]
        command.append(str(self.prepared.folder.resolve()))
        for name in ("limit", "fraction", "seconds"):
            if (value := getattr(self, name)) is not None:
                command += [f"--{name}", str(value)]
        if self.options:
            command += ["--options", json.dumps(self.options)]
        if self.points:
            command += ["--points", *map(str, self.points)]
        command += ["--ranked"] if self.ranked else []
        return command

    def __str__(self) -> str:
        parts = [self.system, "on", self.prepared.folder.name]
        parts += [] if self.limit is None else [f"first {self.limit:,}"]
        return " ".join(parts + [f"{name}={value}" for name, value in self.options.items()])


def run(job: Job, timeout: float) -> dict[str, Any]:
    """Run a job in its own process; a failure is a result with a reason."""
    try:
        done = subprocess.run(
            job.command,
            cwd=PROJECT,
            env=os.environ | {"PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _failed(job, f"took more than {timeout:,.0f} seconds")
    if done.returncode:
        return _failed(job, reason(done.returncode, done.stderr))
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _failed(job: Job, reason: str) -> dict[str, Any]:
    return {
        "system": job.system,
        "options": job.options,
        "corpus": job.prepared.about["name"],
        "order": job.prepared.about["order"],
        "limit": job.limit,
        "fraction": job.fraction,
        "failed": reason,
    }


def reason(code: int, stderr: str) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    lines = stderr.strip().splitlines()
    return lines[-1] if lines else f"ended with exit code {code}"


def run_all(jobs: Iterable[Job], repeats: int, timeout: float) -> list[dict[str, Any]]:
    """Run every job ``repeats`` times, in rounds, so that a slow moment affects them all."""
    jobs = list(jobs)
    rounds = [job for turn in range(repeats) for job in jobs if turn == 0 or not job.once]
    results = []
    start = time.perf_counter()
    for number, job in enumerate(rounds, 1):
        say(f"{number}/{len(rounds)}  {job}")
        results.append(run(job, timeout))
        say(f"    {_summary(results[-1])}  (after {time.perf_counter() - start:,.0f} s)")
    return results


def _summary(result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"FAILED: {result['failed']}"
    return (
        f"{result['documents_per_second']:,.0f} documents/s  "
        f"macro {result['macro_f1']:.3f}  micro {result['micro_f1']:.3f}"
    )


def say(line: str) -> None:
    """Print progress to standard error."""
    print(line, file=sys.stderr, flush=True)


def header(study: str, arguments: list[str], repeats: int) -> dict[str, Any]:
    """Describe a study: command, date, machine, versions; call it before the first run."""
    return {
        "study": study,
        "command": " ".join(["python -m benchmarks", *arguments]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seed": SEED,
        "repeats": repeats,
        "machine": machine(),
        "versions": versions(),
    }


def saved_figures(study: str, folder: Path) -> dict[str, Any]:
    """Return the saved figures of a study by part."""
    path = folder / f"{study}.json"
    if not path.exists():
        return {}
    figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return figures


def save(study: dict[str, Any], folder: Path) -> Path:
    """Save the results of a study in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study['study']}.json"
    path.write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
    say(f"wrote {path}")
    return path
