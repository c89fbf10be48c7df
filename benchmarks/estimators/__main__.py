"""Measure the estimators for scikit-learn beside scikit-learn's own.

python -m benchmarks.estimators              every study, then the table of docs/sklearn.md
python -m benchmarks.estimators vectors      one of them; the figures of the other are kept
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import corpora
from benchmarks.estimators.studies import ROUNDS, STUDIES, split
from benchmarks.measure import version
from benchmarks.report import update
from benchmarks.runner import header, known, save, say

LIBRARIES = ("clasher", "numpy", "scipy", "numba", "scikit-learn")
RESULTS = Path(__file__).parents[1] / "results"
DOCUMENT = corpora.PROJECT / "docs" / "sklearn.md"


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    corpus = corpora.beginning(given.data, given.corpus, given.limit)
    about = header("estimators", arguments, ROUNDS)
    about["command"] = " ".join(["python -m benchmarks.estimators", *arguments])
    about["versions"] = {library: version(library) for library in LIBRARIES}
    figures = known("estimators", given.results) if given.studies else {}
    parts = split(corpus)
    for study in given.studies or STUDIES:
        say(study)
        figures[study] = STUDIES[study](parts) | {"corpus": f"{corpus.name} ({len(corpus):,})"}
        say("    " + json.dumps(figures[study]["ratios"]))
    save(about | {"figures": figures}, given.results)
    for path in update([given.into], given.results):
        say(f"wrote the table of {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.estimators",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("studies", nargs="*", choices=[[], *STUDIES], metavar="STUDY",
                        help=", ".join(STUDIES))  # fmt: skip
    parser.add_argument("--data", type=Path, default=corpora.DATA, help="folder of the corpora")
    parser.add_argument("--corpus", default="reuters21578", help="one of them")
    parser.add_argument("--limit", type=int, default=20_000, help="documents of it")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--into", type=Path, default=DOCUMENT, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
