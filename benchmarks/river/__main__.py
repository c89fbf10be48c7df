"""Measure clasher inside River beside River's own pipeline.

python -m benchmarks.river                every stream, written to docs/reference/performance.md
python -m benchmarks.river goemotions     one of them; the figures of the others are kept
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.river.loops import ROUNDS, compare
from benchmarks.study import Study
from support import corpora

STREAMS = ("goemotions", "reuters21578", "arxiv")
STUDY = Study("river", __doc__, "reference/performance.md", ("clasher", "numpy", "numba", "river"))


def main(arguments: list[str]) -> int:
    given = STUDY.parser(2_000, STREAMS).parse_args(arguments)

    def measure(part: str) -> dict[str, Any]:
        return compare(corpora.beginning(given.data, part, given.limit))

    STUDY.measure(given, STUDY.header(arguments, ROUNDS), STREAMS, measure, "rates")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
