"""Reading ahead: a thread for each source, which reads, decodes and hashes what is needed next.

No more than a few chunks wait: where they are not taken, nothing more is read, and the broker keeps
what is to come.

Waiting: for a stream that does not answer now, until somebody says to stop.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from clasher.errors import StoppedError, StreamError, UnreachableError
from clasher.flow.options import Options
from clasher.io.formats import BATCH_BYTES
from clasher.io.protocol import Caller, Chunk, Position, Source

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
        self.tell, self._give_up = tell, give_up

    def until(self, what: str, work: Callable[[], T]) -> T:
        """Do some work, as often as it takes; ``StoppedError`` where it was to stop meanwhile."""
        delay, began = FIRST, 0.0
        while True:
            try:
                result = work()
            except UnreachableError as error:
                if not began:
                    began = time.monotonic()
                    self.tell(f"{error}; trying again")
                if self._give_up is not None and time.monotonic() - began >= self._give_up:
                    raise StreamError(f"{error}; gave up after {self._give_up:g} s") from error
                if self.wait(delay):
                    raise StoppedError(f"told to stop while waiting for {what}") from error
                delay = min(2 * delay, LONGEST)
            else:
                if began:
                    self.tell(f"{what} answers again")
                return result

    def wait(self, seconds: float) -> bool:
        """Wait, unless it is to stop; whether it is."""
        until = time.monotonic() + seconds
        while not self.is_stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, SLICE))
        return self.is_stopping


WAIT: Final = 0.25  # seconds that a read may wait: how soon a thread hears that it is to end
LAG: Final = 1.0  # seconds between two questions of how much waits
JOIN: Final = 1.0  # seconds that a thread is given to end: it may wait for a server


@dataclass
class Settling:
    """A source that must have all that it delivered committed before it goes on."""

    is_done: bool = False


class Reader(Generic[T]):
    """Reads a source ahead.

    Parameters
    ----------
    source
        What is read.
    prepare
        Applied to each chunk, in the thread.
    bell
        Rung when there is something to look at; readers of one flow share it.
    turn
        Arrivals of a turn, where sources take turns: no chunk goes beyond the end of one.

    Attributes
    ----------
    is_idle : bool
        Whether the source had nothing more when it was last asked.
    is_at_end : bool
        Whether it also knew that there was nothing more.
    is_over : bool
        Whether its end was reached, and everything was taken.
    """

    def __init__(
        self,
        source: Source,
        prepare: Callable[[Chunk], T],
        bell: threading.Condition,
        patience: Patience,
        options: Options,
        turn: int | None = None,
    ) -> None:
        self.source = source
        self._prepare, self._bell, self._patience = prepare, bell, patience
        self._options = options
        self._ready: deque[T | Settling] = deque()
        self._is_idle = self._has_ended = self._knows_end = self._is_closing = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._lag: int | None = None
        self._lag_at = 0.0
        self._most = options.chunk  # fewer where texts are long
        self._turn, self._arrived = turn, 0

    def start(self, position: Position, caller_id: str, arrived: int = 0) -> None:
        """Open the source and read on after a position, up to which so many had arrived."""
        caller = Caller(caller_id, self._settle, self._patience.tell)
        while self._thread is not None:  # the one before still reads
            if self._patience.wait(JOIN):
                raise StoppedError(f"told to stop while {self.source.name} was being read")
            self._end()
        self._patience.until(self.source.name, lambda: self.source.open(position, caller))
        self._ready.clear()
        self._is_idle = self._has_ended = self._knows_end = self._is_closing = False
        self._error, self._arrived = None, arrived
        self._thread = threading.Thread(target=self._run, name="clasher reader", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing now, to the best of anybody's knowledge."""
        return not self._ready and (self._is_idle or self._has_ended) and self._error is None

    @property
    def is_at_end(self) -> bool:
        """Whether there is nothing now, and the source knows."""
        return self.is_idle and self._knows_end

    @property
    def lag(self) -> int | None:
        """What waited in the source and here when it was last asked."""
        return self._lag

    @property
    def is_over(self) -> bool:
        """Whether there will be nothing any more."""
        return self._has_ended and not self._ready and self._error is None

    def take(self) -> T | Settling | None:
        """The next chunk, or a wish; None where there is none. Raises what went wrong.

        With the bell held.
        """
        if self._ready:
            item = self._ready.popleft()
            self._bell.notify_all()
            return item
        if self._error is not None:
            raise self._error
        return None

    @property
    def has_something(self) -> bool:
        """Whether ``take`` would give or raise something."""
        return bool(self._ready) or self._error is not None

    def ask_to_end(self) -> None:
        """Have the thread end when it has read what it is reading."""
        with self._bell:
            self._is_closing = True
            self._bell.notify_all()

    def close(self) -> None:
        """End the thread and close the source; one that is still being read ends with the process.

        After ``ask_to_end``.
        """
        self._end()
        if self._thread is None:
            self.source.close()

    def _end(self) -> None:
        if self._thread is not None:
            self._thread.join(JOIN)
            if not self._thread.is_alive():
                self._thread = None

    # ── the thread ───────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        try:
            while self._wait_for_room():
                chunk = self._patience.until(self.source.name, self._read)
                self._ask_lag(at_once=chunk is None)
                if chunk is not None:
                    self._put(self._prepare(chunk))
                elif self.source.is_over:
                    self._note_silence(ended=True)
                    return
                else:
                    self._note_silence()
        except StoppedError:
            return
        except BaseException as error:  # whatever it is, it belongs to the flow
            with self._bell:
                self._error = error
                self._bell.notify_all()

    def _read(self) -> Chunk | None:
        """Without waiting at first, so that it is soon known whether there is anything."""
        most = self._most
        if self._turn is not None:
            most = min(most, self._turn - self._arrived % self._turn)
        chunk = self.source.read(most, WAIT if self._is_idle else 0.0)
        if chunk is not None:
            self._arrived += len(chunk)
            if chunk.records.texts.nbytes > BATCH_BYTES:
                self._most = max(1, self._most // 2)
        return chunk

    def _ask_lag(self, *, at_once: bool) -> None:
        if at_once or time.monotonic() - self._lag_at >= LAG:
            self._lag_at = time.monotonic()
            with suppress(StreamError):
                self._lag = self.source.lag()

    def _wait_for_room(self) -> bool:
        with self._bell:
            self._bell.wait_for(lambda: self._is_closing or len(self._ready) < self._options.ahead)
            return not self._is_closing

    def _put(self, item: T | Settling) -> None:
        with self._bell:
            self._ready.append(item)
            self._is_idle = False
            self._bell.notify_all()

    def _note_silence(self, *, ended: bool = False) -> None:
        knows_end = self.source.knows_end
        with self._bell:
            self._is_idle, self._has_ended, self._knows_end = True, ended, knows_end
            self._bell.notify_all()

    def _settle(self) -> None:
        wish = Settling()
        self._put(wish)
        with self._bell:
            self._bell.wait_for(lambda: wish.is_done or self._is_closing)
        if not wish.is_done:
            raise StoppedError(f"{self.source.name}: the flow ended before all was committed")
