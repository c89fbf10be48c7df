"""``python -m tests.service.torture``: trials, failures and seeds."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.service.torture import disks
from tests.service.torture.bugs import BUGS
from tests.service.torture.load import SETTINGS, document
from tests.service.torture.trials import KINDS, Trials


def main() -> int:
    """Run trials; exit code 1 where one failed."""
    given = _arguments()
    _warm_up()
    failed = 0
    for kind in given.kinds or KINDS:
        with tempfile.TemporaryDirectory(dir=given.dir) as base:
            trials = KINDS[kind](Path(base), given.seed, given.bug)
            try:
                failed += _run(kind, trials, given.trials, given.stop)
            finally:
                trials.close()
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.service.torture", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"any of {', '.join(KINDS)}")
    parser.add_argument("--trials", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--bug", choices=sorted(BUGS), help="put a bug there, to see it found")
    parser.add_argument("--stop", action="store_true", help="at the first failure")
    parser.add_argument("--dir", help="where to work (default: the system's temporary folder)")
    given = parser.parse_args()
    unknown = set(given.kinds) - KINDS.keys()
    if unknown:
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    if missing := disks.needs():
        parser.error(f"missing: {', '.join(missing)}")
    return given


def _run(kind: str, trials: Trials, count: int, stop: bool) -> int:
    started, failed, done = time.monotonic(), [], 0
    for number in range(count):
        found = trials.run(number)
        done += 1
        if found:
            failed.append(number)
            print(f"{kind}: seed {trials.seed}, trial {number}: {'; '.join(found[:3])}", flush=True)
            if stop:
                break
    seconds = time.monotonic() - started
    print(
        f"{kind}: {done} trials, {len(failed)} failures, {trials.acknowledged} acknowledged, "
        f"seed {trials.seed}, {seconds:.1f} s",
        flush=True,
    )
    return len(failed)


def _warm_up() -> None:
    """Load and compile everything once, before processes are forked; no thread is left behind."""
    from tests.service.plain import model_of

    model = model_of(SETTINGS)
    draw = random.Random(0)
    for _ in range(20):
        said = document(draw, "a")
        model.step_many([said.text], [said.labels])
        model.decide_many([said.text])
        model.unlearn(said.text, said.labels)


if __name__ == "__main__":
    sys.exit(main())
