"""Measure the service under load.

python -m benchmarks.serving                    every study, then the table of docs/service.md
python -m benchmarks.serving single batches     some of them; the figures of others are kept
python -m benchmarks.serving soak --minutes 10
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import corpora
from benchmarks.measure import machine, version
from benchmarks.report import update
from benchmarks.runner import header, known, save, say
from benchmarks.serving.studies import STUDIES, Plan

LIBRARIES = ("clasher", "numpy", "numba", "msgspec", "fastapi", "uvicorn", "uvloop", "apsw")
RESULTS = Path(__file__).parents[1] / "results"
DOCUMENT = corpora.PROJECT / "docs" / "service.md"


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    corpus = corpora.beginning(given.data, "arxiv", given.limit)
    plan = Plan(corpus, given.seconds, given.minutes)
    about = header("serving", arguments, 1)
    about["command"] = " ".join(["python -m benchmarks.serving", *arguments])
    about["versions"] = {library: version(library) for library in LIBRARIES}
    about["corpus"] = f"{corpus.name}, {len(corpus.label_names)} labels"
    figures = known("serving", given.results) if given.studies else {}
    for study in given.studies or STUDIES:
        say(study)
        load = machine()["load_before"]
        figures[study] = STUDIES[study](plan) | {
            "command": about["command"], "date": about["date"], "load_before": load,
        }  # fmt: skip
        say("    " + json.dumps({k: v for k, v in figures[study].items() if k != "memory"}))
    save(about | {"figures": figures}, given.results)
    for path in update([given.into], given.results):
        say(f"wrote the table of {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("studies", nargs="*", choices=[[], *STUDIES], metavar="STUDY",
                        help=", ".join(STUDIES))  # fmt: skip
    parser.add_argument("--data", type=Path, default=corpora.DATA, help="folder of the corpora")
    parser.add_argument("--limit", type=int, default=60_000, help="documents of the stream")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the soak")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--into", type=Path, default=DOCUMENT, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
