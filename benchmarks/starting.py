"""How long it takes to start, beside a bare Python and NumPy.

python -m benchmarks.starting            medians of 11 rounds, one process each
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 11
WAYS = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import clasher": ["-c", "import clasher"],
    "from clasher import Clasher": ["-c", "from clasher import Clasher"],
    "clasher --help": ["-m", "clasher", "--help"],
}


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each way, round by round, so that a slow spell hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(rounds + 1):  # the first one reads the files
        for name, arguments in WAYS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def table(found: dict[str, float]) -> str:
    """The figures as Markdown."""
    lines = ["| | seconds | × python | × import numpy |", "|---|---|---|---|"]
    for name, own in found.items():
        ratios = (own / found[peer] for peer in ("python", "import numpy"))
        lines.append(f"| `{name}` | {own:.3f} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure()))
