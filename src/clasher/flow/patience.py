"""Waiting: for a stream that does not answer now, until somebody says to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from clasher.errors import StoppedError, StreamError, UnreachableError

FIRST: Final = 0.1  # seconds before the second try
LONGEST: Final = 10.0  # seconds between two tries
SLICE: Final = 0.05  # seconds after which a wait looks whether to stop

T = TypeVar("T")


class Patience:
    """Tries again, less and less often, and says so.

    Parameters
    ----------
    tell
        Told, in one line, of a stream that does not answer, and when it does again.
    give_up
        Seconds after which it is enough; None: never.

    Attributes
    ----------
    is_stopping : bool
        Set from anywhere, also from a signal handler: waits end within a moment.

    Examples
    --------
    >>> tries = iter([UnreachableError("no answer"), None])
    >>> def ask():
    ...     if error := next(tries):
    ...         raise error
    ...     return "here"
    >>> Patience(print).until("the broker", ask)
    no answer; trying again
    the broker answers again
    'here'
    """

    def __init__(self, tell: Callable[[str], object], give_up: float | None = None) -> None:
        self.is_stopping = False
        self._tell, self._give_up = tell, give_up

    def until(self, what: str, work: Callable[[], T]) -> T:
        """Do some work, as often as it takes; ``StoppedError`` where it was to stop meanwhile."""
        delay, began = FIRST, 0.0
        while True:
            try:
                result = work()
            except UnreachableError as error:
                if not began:
                    began = time.monotonic()
                    self._tell(f"{error}; trying again")
                if self._give_up is not None and time.monotonic() - began >= self._give_up:
                    raise StreamError(f"{error}; gave up after {self._give_up:g} s") from error
                if self.wait(delay):
                    raise StoppedError(f"told to stop while waiting for {what}") from error
                delay = min(2 * delay, LONGEST)
            else:
                if began:
                    self._tell(f"{what} answers again")
                return result

    def wait(self, seconds: float) -> bool:
        """Wait, unless it is to stop; whether it is."""
        until = time.monotonic() + seconds
        while not self.is_stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, SLICE))
        return self.is_stopping
