"""Measure how fast a stream flows through a model.

python -m benchmarks.flowing             every study, then the table of docs/streams.md
python -m benchmarks.flowing redis       one of them; the figures of the other are kept
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import corpora
from benchmarks.flowing.studies import ROUNDS, STUDIES, Plan
from benchmarks.measure import version
from benchmarks.report import update
from benchmarks.runner import header, known, save, say

LIBRARIES = ("clasher", "numpy", "numba", "msgspec", "redis", "confluent-kafka")
RESULTS = Path(__file__).parents[1] / "results"
DOCUMENT = corpora.PROJECT / "docs" / "streams.md"


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    short = corpora.beginning(given.data, "goemotions", given.limit)
    long = corpora.beginning(given.data, "arxiv", given.limit)
    named = {"redis": short, "kafka": short, "files": long}
    about = header("flowing", arguments, ROUNDS)
    about["command"] = " ".join(["python -m benchmarks.flowing", *arguments])
    about["versions"] = {library: version(library) for library in LIBRARIES}
    figures = known("flowing", given.results) if given.studies else {}
    for study in given.studies or STUDIES:
        say(study)
        corpus = named[study]
        figures[study] = STUDIES[study](Plan(short, long, given.limit)) | {
            "corpus": f"{corpus.name} ({len(corpus):,}, {given.limit:,} sent)"
        }
        say("    " + json.dumps(figures[study]["ratios"]))
    save(about | {"figures": figures}, given.results)
    for path in update([given.into], given.results):
        say(f"wrote the table of {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.flowing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("studies", nargs="*", choices=[[], *STUDIES], metavar="STUDY",
                        help=", ".join(STUDIES))  # fmt: skip
    parser.add_argument("--data", type=Path, default=corpora.DATA, help="folder of the corpora")
    parser.add_argument("--limit", type=int, default=200_000, help="documents of a stream")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--into", type=Path, default=DOCUMENT, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
