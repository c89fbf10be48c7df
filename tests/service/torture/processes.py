"""Processes that end badly; forked, so that a trial does not start Python again."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence

from clasher.errors import ClasherError
from support.trials import leave_after
from tests.service.torture.bugs import BUGS
from tests.service.torture.check import Ack, failures
from tests.service.torture.load import Plan, run

NOT_OPENED = 75  # the error is printed in one line
PATIENCE = 60.0  # seconds, after which a child hangs


class Child:
    """A process under load, and the ``acks`` that it sent."""

    def __init__(self, plan: Plan, bug: str | None = None, waits: bool = False) -> None:
        here, there = socket.socketpair()
        self._socket, self._raw, self._heard = here, b"", -1
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            here.close()
            leave_after(lambda: self._live(plan, bug, there, waits))
        there.close()

    @staticmethod
    def _live(plan: Plan, bug: str | None, acks: socket.socket, waits: bool) -> None:
        if waits:
            acks.recv(1)
        if bug is not None:
            BUGS[bug]()
        try:
            run(plan, acks)
        except (ClasherError, OSError) as error:
            try:
                print(f"not opened: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(NOT_OPENED)

    def go(self) -> None:
        """Start a child that waits."""
        self._socket.send(b"!")

    def listen(self, seconds: float) -> bool:
        """Receive acknowledgements for a while; return whether the child still lives."""
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as ready:
            ready.register(self._socket, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0 and ready.select(left):
                piece = self._socket.recv(65536)
                if not piece:
                    return False
                self._raw += piece
        return True

    def fall_silent(self) -> None:
        """Count no further acknowledgements: see ``PowerCut``."""
        self.listen(0.0001)
        self._heard = self._raw.count(b"\n")

    def kill(self) -> None:
        """Send ``kill -9``."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Receive the rest; return the exit code, negative for a signal."""
        if self.listen(PATIENCE):
            self.kill()
        self._socket.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def acks(self) -> list[Ack]:
        """Return the acknowledged requests, and whether they were late."""
        lines = [line for line in self._raw.splitlines(True) if line.endswith(b"\n")]
        in_time = len(lines) if self._heard < 0 else self._heard
        return [{**json.loads(line), "late": place >= in_time} for place, line in enumerate(lines)]


def checked(plan: Plan, acks: Sequence[Ack], bug: str | None = None) -> list[str]:
    """Check a folder in a process of its own; return what is wrong."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:

        def tell() -> None:
            if bug is not None:
                BUGS[bug]()
            try:
                found = failures(plan, acks)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            with os.fdopen(writer, "w") as out:
                json.dump(found, out)

        leave_after(tell)
    os.close(writer)
    with os.fdopen(reader) as answers:
        raw = answers.read()
    os.waitpid(pid, 0)
    found: list[str] = json.loads(raw) if raw else ["the check of the folder crashed"]
    return found
