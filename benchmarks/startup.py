"""Compare the start-up time of clasher with those of bare Python and NumPy.

python -m benchmarks.startup             measures, then writes docs/reference/performance.md
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.runner import save
from benchmarks.study import Study

ROUNDS = 11
WAYS = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import clasher": ["-c", "import clasher"],
    "from clasher import Clasher": ["-c", "from clasher import Clasher"],
    "clasher --help": ["-m", "clasher", "--help"],
}
STUDY = Study("startup", __doc__, ("clasher", "numpy", "numba", "pyarrow"))


def main(arguments: list[str]) -> int:
    parser = STUDY.parser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args(arguments)
    about = STUDY.header(arguments, given.rounds)
    save(about | {"figures": measure(given.rounds)}, given.results)
    STUDY.write(given)
    return 0


def measure(rounds: int) -> dict[str, list[float]]:
    """Measure the seconds of each way in rounds, so that a slow moment affects them all."""
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(rounds + 1):  # the first round only fills the page cache
        for name, arguments in WAYS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
