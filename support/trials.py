"""The command line of the torture suites: run trials of several kinds, and hunt planted bugs."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, Protocol


class Trials(Protocol):
    """Trials of one kind, in a folder of their own."""

    seed: int

    def run(self, number: int) -> list[str]:
        """Run one trial; return what went wrong."""

    def summary(self) -> str:
        """Count what the trials did, in a few words."""

    def close(self) -> None:
        """Clean up."""


CRASHED = 70  # exit code of a child that raised, instead of ending as planned

Kinds = Mapping[str, Callable[[Path, int, "str | None"], Trials]]


def main(
    name: str,
    about: str | None,
    kinds: Kinds,
    bugs: Collection[str],
    needs: Callable[[], Sequence[str]],
    warm_up: Callable[[], None],
    hunts: Sequence[tuple[str, str]] = (),
) -> int:
    """Run trials; return 1 if one failed, or if a hunted bug was not found."""
    given = _arguments(name, about, kinds, bugs, needs)
    warm_up()
    failed = 0
    chosen = given.kinds or kinds
    hunted = [(kind, bug) for kind, bug in hunts if kind in chosen]
    for kind, bug in hunted if given.hunt else [(one, given.bug) for one in chosen]:
        with tempfile.TemporaryDirectory(dir=given.dir) as base:
            trials = kinds[kind](Path(base), given.seed, bug)
            try:
                found = _run(kind, trials, given.trials, given.stop or given.hunt)
            finally:
                trials.close()
        if given.hunt:
            print(f"{kind}: {bug} was {'found' if found else 'not found'}", flush=True)
        failed += not found if given.hunt else found
    return 1 if failed else 0


def _arguments(
    name: str,
    about: str | None,
    kinds: Kinds,
    bugs: Collection[str],
    needs: Callable[[], Sequence[str]],
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"any of {', '.join(kinds)}")
    parser.add_argument("--trials", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--bug", choices=sorted(bugs), help="plant a bug, to see it found")
    parser.add_argument("--hunt", action="store_true", help="plant every bug, one by one")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument("--dir", help="where to work (default: the system's temporary folder)")
    given = parser.parse_args()
    unknown = set(given.kinds) - kinds.keys()
    if unknown:
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    if missing := needs():
        parser.error(f"missing: {', '.join(missing)}")
    return given


def _run(kind: str, trials: Trials, count: int, stop: bool) -> int:
    started, failed, done = time.monotonic(), 0, 0
    for number in range(count):
        found = trials.run(number)
        done += 1
        if found:
            failed += 1
            print(f"{kind}: seed {trials.seed}, trial {number}: {'; '.join(found[:3])}", flush=True)
            if stop:
                break
    seconds = time.monotonic() - started
    print(
        f"{kind}: {done} trials, {failed} failures, {trials.summary()}, "
        f"seed {trials.seed}, {seconds:.1f} s",
        flush=True,
    )
    return failed


def leave_after(work: Callable[[], object]) -> NoReturn:
    """Do some work and end the process: a child must never go on as its parent."""
    code = CRASHED
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
