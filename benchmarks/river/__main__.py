"""Measure clasher inside River beside River's own pipeline.

python -m benchmarks.river                    every stream, then the table of docs/river.md
python -m benchmarks.river goemotions         one of them; the figures of the others are kept
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import corpora
from benchmarks.measure import version
from benchmarks.report import update
from benchmarks.river.loops import ROUNDS, compare
from benchmarks.runner import header, known, save, say

LIBRARIES = ("clasher", "numpy", "numba", "river")
STREAMS = ("goemotions", "reuters21578", "arxiv")
RESULTS = Path(__file__).parents[1] / "results"
DOCUMENT = corpora.PROJECT / "docs" / "river.md"


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    about = header("river", arguments, ROUNDS)
    about["command"] = " ".join(["python -m benchmarks.river", *arguments])
    about["versions"] = {library: version(library) for library in LIBRARIES}
    figures = known("river", given.results) if given.streams else {}
    for name in given.streams or STREAMS:
        say(name)
        figures[name] = compare(corpora.beginning(given.data, name, given.limit))
        say("    " + json.dumps(figures[name]["rates"]))
    save(about | {"figures": figures}, given.results)
    for path in update([given.into], given.results):
        say(f"wrote the table of {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.river",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("streams", nargs="*", choices=[[], *STREAMS], metavar="STREAM",
                        help=", ".join(STREAMS))  # fmt: skip
    parser.add_argument("--data", type=Path, default=corpora.DATA, help="folder of the corpora")
    parser.add_argument("--limit", type=int, default=2_000, help="documents of a stream")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--into", type=Path, default=DOCUMENT, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
