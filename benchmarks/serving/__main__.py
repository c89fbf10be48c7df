"""Measure the service under load.

python -m benchmarks.serving                    all studies, then docs/reference/performance.md
python -m benchmarks.serving single batches     some studies; keeps the figures of the others
python -m benchmarks.serving soak --minutes 10
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.measure import machine
from benchmarks.serving.studies import STUDIES, Plan
from benchmarks.study import Study
from support import corpora

LIBRARIES = (
    "clasher",
    "numpy",
    "numba",
    "msgspec",
    "starlette",
    "fastapi",
    "uvicorn",
    "uvloop",
    "apsw",
)
STUDY = Study("serving", __doc__, LIBRARIES)


def main(arguments: list[str]) -> int:
    parser = STUDY.parser(60_000, STUDIES)
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each load")
    parser.add_argument("--minutes", type=float, default=10.0, help="duration of the soak")
    given = parser.parse_args(arguments)
    corpus = corpora.beginning(given.data, "arxiv", given.limit)
    plan = Plan(corpus, given.seconds, given.minutes)
    about = STUDY.header(arguments, 1)
    about["corpus"] = f"{corpus.name}, {len(corpus.label_names)} labels"

    def measure(part: str) -> dict[str, Any]:
        before = {"load_before": machine()["load_before"]}
        return STUDIES[part](plan) | {key: about[key] for key in ("command", "date")} | before

    STUDY.measure(given, about, STUDIES, measure, "ratios")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
