"""Flows in processes of their own, made by forking, so that a trial costs no start of Python."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from tests.flow.running import run
from tests.flow.torture.bugs import BUGS

CRASHED = 70  # a child that raised: not the end that was meant for it
PATIENCE = 60.0  # seconds, after which a child hangs


class Child:
    """A flow under way."""

    def __init__(self, bug: str | None, *given: Any, **options: Any) -> None:
        sys.stdout.flush()
        self._code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _leave_after(lambda: _live(bug, given, options))

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> int:
        """End it as the system would, at once, unless it has ended by itself: its exit code."""
        if self.poll() is None:
            self.signal(signal.SIGKILL)
        return self.wait()

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it lives."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for its end; one that hangs is killed."""
        until = time.monotonic() + seconds
        while self.poll() is None:
            if time.monotonic() > until:
                self.signal(signal.SIGKILL)
                until += PATIENCE
            time.sleep(0.002)
        assert self._code is not None
        return self._code


def _live(bug: str | None, given: Any, options: Any) -> None:
    if bug is not None:
        BUGS[bug]()
    run(*given, **options)


def _leave_after(work: Callable[[], Any]) -> None:
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
