"""What the commands that torture share: trials, failures and seeds."""

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
        """One trial; what was found to be wrong."""

    def told(self) -> str:
        """What was put through, in a few words."""

    def close(self) -> None:
        """Leave nothing behind."""


CRASHED = 70  # a child that raised: not the end that was meant for it

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
    """Run trials; exit code 1 where one failed, or where a bug that is hunted was not found."""
    given = _arguments(name, about, kinds, bugs, needs)
    warm_up()
    failed = 0
    wanted = given.kinds or kinds
    hunted = [(kind, bug) for kind, bug in hunts if kind in wanted]
    for kind, bug in hunted if given.hunt else [(one, given.bug) for one in wanted]:
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
    parser.add_argument("--bug", choices=sorted(bugs), help="put a bug there, to see it found")
    parser.add_argument("--hunt", action="store_true", help="put every bug there, one by one")
    parser.add_argument("--stop", action="store_true", help="at the first failure")
    parser.add_argument("--dir", help="where to work (default: the system's temporary folder)")
    given = parser.parse_args()
    unknown = set(given.kinds) - kinds.keys()
    if unknown:
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    if missing := needs():
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
        f"{kind}: {done} trials, {len(failed)} failures, {trials.told()}, "
        f"seed {trials.seed}, {seconds:.1f} s",
        flush=True,
    )
    return len(failed)


def leave_after(work: Callable[[], object]) -> NoReturn:
    """Do something and end, whatever happens: a child must never go on as its parent."""
    code = CRASHED
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
