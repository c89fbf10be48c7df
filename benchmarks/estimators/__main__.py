"""Measure the estimators for scikit-learn beside scikit-learn's own.

python -m benchmarks.estimators              every study, written to docs/reference/performance.md
python -m benchmarks.estimators vectors      one of them; the figures of the other are kept
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.estimators.studies import ROUNDS, STUDIES, split
from benchmarks.study import Study
from support import corpora

LIBRARIES = ("clasher", "numpy", "scipy", "numba", "scikit-learn")
STUDY = Study("estimators", __doc__, "reference/performance.md", LIBRARIES)


def main(arguments: list[str]) -> int:
    parser = STUDY.parser(20_000, STUDIES)
    parser.add_argument("--corpus", default="reuters21578", help="one of them")
    given = parser.parse_args(arguments)
    corpus = corpora.beginning(given.data, given.corpus, given.limit)
    parts = split(corpus)

    def measure(part: str) -> dict[str, Any]:
        return STUDIES[part](parts) | {"corpus": f"{corpus.name} ({len(corpus):,})"}

    STUDY.measure(given, STUDY.header(arguments, ROUNDS), STUDIES, measure, "ratios")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
