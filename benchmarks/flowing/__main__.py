"""Measure how fast a stream flows through a model.

python -m benchmarks.flowing             every study, written to docs/reference/performance.md
python -m benchmarks.flowing redis       one of them; the figures of the other are kept
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.flowing.studies import ROUNDS, STUDIES, Plan
from benchmarks.study import Study
from support import corpora

LIBRARIES = ("clasher", "numpy", "numba", "msgspec", "redis", "confluent-kafka")
STUDY = Study("flowing", __doc__, "reference/performance.md", LIBRARIES)


def main(arguments: list[str]) -> int:
    given = STUDY.parser(200_000, STUDIES).parse_args(arguments)
    short = corpora.beginning(given.data, "goemotions", given.limit)
    long = corpora.beginning(given.data, "arxiv", given.limit)
    named = {"redis": short, "kafka": short, "files": long}

    def measure(part: str) -> dict[str, Any]:
        corpus = named[part]
        about = {"corpus": f"{corpus.name} ({len(corpus):,}, {given.limit:,} sent)"}
        return STUDIES[part](Plan(short, long, given.limit)) | about

    STUDY.measure(given, STUDY.header(arguments, ROUNDS), STUDIES, measure, "ratios")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
