"""One run of one system in this process; prints one line of JSON.

python -m benchmarks.peers vw-hinge benchmarks/streams/arxiv --limit 5000
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.measure import version
from benchmarks.peers import SYSTEMS
from benchmarks.peers.base import Outcome, System, Task
from benchmarks.prepared import Prepared


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("folder", type=Path, help="a prepared corpus")
    parser.add_argument("--limit", type=int, help="the first documents only")
    parser.add_argument("--options", type=json.loads, default={}, help="settings, as JSON")
    given = parser.parse_args()
    task = Task(Prepared(given.folder), given.limit, given.options)
    print(json.dumps(one_run(SYSTEMS[given.system], task)))


def one_run(system: System, task: Task) -> dict[str, Any]:
    """Run a system; a library that is not installed is a failure with a reason."""
    about = {
        "system": system.name,
        "settings": system.settings,
        "options": task.options,
        "version": version(system.library),
        "corpus": task.prepared.about["name"],
        "order": task.prepared.about["order"],
        "limit": task.limit,
    }
    if about["version"] == "not installed":
        reason = f"{system.library} is not installed: pip install 'clasher[bench]'"
        return about | {"failed": reason}
    return about | _figures(system.run(task))


def _figures(outcome: Outcome) -> dict[str, Any]:
    took = outcome.measured
    return {
        "documents": outcome.documents,
        "labels": outcome.labels,
        "seconds": took.seconds,
        "documents_per_second": outcome.documents / took.seconds,
        "macro_f1": outcome.macro_f1,
        "micro_f1": outcome.micro_f1,
        "peak_memory_bytes": took.memory_peak,
        "added_memory_bytes": took.memory_added,
        **outcome.more,
    }


if __name__ == "__main__":
    main()
