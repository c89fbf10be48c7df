"""Run one system once in this process, and print one line of JSON.

python -m benchmarks.peers vw-hinge benchmarks/streams/arxiv --limit 5000
python -m benchmarks.peers knn benchmarks/streams/arxiv --seconds 60 --fraction 0.25
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from benchmarks.peers import SYSTEMS
from benchmarks.peers.base import Task, one_run
from benchmarks.prepared import Prepared
from support.corpora import SEED


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("system", choices=SYSTEMS, metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("folder", type=Path, help="a prepared stream")
    parser.add_argument("--limit", type=int, help="use only the first documents")
    parser.add_argument("--options", type=json.loads, default={}, help="settings as JSON")
    parser.add_argument("--fraction", type=float, help="share of documents with labels, at random")
    parser.add_argument("--points", type=int, nargs="+", default=[], help="where to record figures")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time limit")
    parser.add_argument("--ranked", action="store_true", help="also rank the best labels")
    given = parser.parse_args()
    prepared = Prepared(given.folder)
    corpus = prepared.corpus(given.limit)
    learn = None
    if given.fraction is not None:
        learn = np.random.default_rng(SEED).random(len(corpus)) < given.fraction
    task = Task(
        corpus=corpus,
        folder=given.folder,
        learn=learn,
        test_from=prepared.about.get("test_from"),
        options=given.options,
        points=tuple(given.points),
        seconds=given.seconds,
        ranked=given.ranked,
    )
    about = {"limit": given.limit, "fraction": given.fraction}
    print(json.dumps(about | one_run(SYSTEMS[given.system], task)))


if __name__ == "__main__":
    main()
