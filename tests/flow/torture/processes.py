"""Flows in forked processes, so that a trial does not start Python again."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from clasher.flow.folder import FlowFolder
from support.trials import leave_after
from tests.flow.runs import run
from tests.flow.torture.bugs import BUGS

PATIENCE = 60.0  # seconds, after which a child hangs
LAST_WORDS = 5.0  # seconds in which it tells where
WIDE = 0.004  # seconds between the phases of a commit


class Forked:
    """A forked process that does some work."""

    def __init__(self, work: Callable[[], Any]) -> None:
        sys.stdout.flush()
        self._code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            faulthandler.register(signal.SIGUSR1, chain=True)  # it tells where it is, and ends
            leave_after(work)

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> int:
        """Send ``kill -9``, unless it has ended by itself; return the exit code."""
        if self.poll() is None:
            self.signal(signal.SIGKILL)
        return self.wait()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it lives."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for its end; ask a hanging one for a traceback, then kill it."""
        until = time.monotonic() + seconds
        ways = iter([signal.SIGUSR1])
        while self.poll() is None:
            if time.monotonic() > until:
                self.signal(next(ways, signal.SIGKILL))
                until += LAST_WORDS
            time.sleep(0.002)
        assert self._code is not None
        return self._code


class Child(Forked):
    """A flow in a process of its own."""

    def __init__(self, bug: str | None, *given: Any, **options: Any) -> None:
        super().__init__(lambda: _live(bug, given, options))


def _live(bug: str | None, given: Any, options: Any) -> None:
    widen()
    if bug is not None:
        BUGS[bug]()
    run(*given, **options)


def widen() -> None:
    """Slow down the phases of a commit, so that many crashes fall between them."""
    keep, confirm = FlowFolder.keep, FlowFolder.confirm

    def slow_keep(self: FlowFolder, *given: Any) -> None:
        keep(self, *given)
        time.sleep(WIDE)

    def slow_confirm(self: FlowFolder, *given: Any) -> None:
        time.sleep(WIDE)
        confirm(self, *given)

    FlowFolder.keep, FlowFolder.confirm = slow_keep, slow_confirm  # type: ignore[method-assign]
