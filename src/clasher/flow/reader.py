"""Read sources ahead: one thread per source reads, decodes and hashes the next chunks.

Only a few chunks wait. While nobody takes them, nothing more is read, and the broker keeps the
rest. ``Patience`` tries again while a stream does not answer.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from clasher.errors import StoppedError, StreamError, UnreachableError
from clasher.io.formats import BATCH_BYTES
from clasher.io.protocol import Caller, Chunk, Position, Source

FIRST: Final = 0.1  # seconds before the second try
LONGEST: Final = 10.0  # seconds between two tries
SLICE: Final = 0.05  # seconds between two looks at whether to stop
WAIT: Final = 0.25  # seconds that a read may wait: how soon a thread notices that it is to end
LAG: Final = 1.0  # seconds between two requests for the lag
JOIN: Final = 1.0  # seconds for a thread to end: it may wait for a server

T = TypeVar("T")


class Patience:
    """Try again, less and less often, until ``give_up`` seconds have passed; None: for ever.

    ``warn`` gets a line when a stream does not answer, and when it answers again. Set
    ``is_stopping`` from anywhere, also from a signal handler, to end waits within a moment.
    """

    def __init__(self, warn: Callable[[str], object], give_up: float | None = None) -> None:
        self.is_stopping = False
        self.warn, self._give_up = warn, give_up

    def until(self, what: str, work: Callable[[], T]) -> T:
        """Do some work until it succeeds; raise ``StoppedError`` if asked to stop meanwhile."""
        delay, began = FIRST, 0.0
        while True:
            try:
                result = work()
            except UnreachableError as error:
                if not began:
                    began = time.monotonic()
                    self.warn(f"{error}; trying again")
                if self._give_up is not None and time.monotonic() - began >= self._give_up:
                    raise StreamError(f"{error}; gave up after {self._give_up:g} s") from error
                if self.wait(delay):
                    raise StoppedError(f"stopped while waiting for {what}") from error
                delay = min(2 * delay, LONGEST)
            else:
                if began:
                    self.warn(f"{what} answers again")
                return result

    def wait(self, seconds: float) -> bool:
        """Wait; return at once, with True, if asked to stop."""
        until = time.monotonic() + seconds
        while not self.is_stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, SLICE))
        return self.is_stopping


class Reader(Generic[T]):
    """Read ``ahead`` chunks of a source in a thread; the readers of a flow share the ``bell``.

    If sources take turns of ``turn`` arrivals, no chunk crosses the end of a turn. An event among
    the chunks is a source's request to commit all that it has delivered; set it when that is done.
    """

    def __init__(
        self,
        source: Source,
        prepare: Callable[[Chunk], T],
        bell: threading.Condition,
        patience: Patience,
        chunk: int,
        ahead: int,
        turn: int | None = None,
    ) -> None:
        self.source = source
        self._prepare, self._bell, self._patience = prepare, bell, patience
        self._ready: deque[T | threading.Event] = deque()
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self.lag: int | None = None  # arrivals that waited when the source was last asked
        self._lag_at = 0.0
        self._most, self._ahead = chunk, ahead  # smaller chunks if texts are long
        self._turn, self._arrived = turn, 0

    def start(self, position: Position, caller_id: str, arrived: int = 0) -> None:
        """Open the source and read on after a position, up to which ``arrived`` had arrived."""
        caller = Caller(caller_id, self._commit, self._patience.warn)
        while self._thread is not None:  # the previous one is still reading
            if self._patience.wait(JOIN):
                raise StoppedError(f"stopped while {self.source.name} was being read")
            self._join()
        self._patience.until(self.source.name, lambda: self.source.open(position, caller))
        self._ready.clear()
        self._is_idle = self._has_ended = self._knows_end = self._is_closing = False
        self._error, self._arrived = None, arrived
        self._thread = threading.Thread(target=self._run, name="clasher reader", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether the source had nothing more when it was last asked."""
        return not self._ready and (self._is_idle or self._has_ended) and self._error is None

    @property
    def is_at_end(self) -> bool:
        """Whether the source also knew that there was nothing more."""
        return self.is_idle and self._knows_end

    @property
    def is_over(self) -> bool:
        """Whether the source has ended, and everything was taken."""
        return self._has_ended and not self._ready and self._error is None

    @property
    def has_something(self) -> bool:
        return bool(self._ready) or self._error is not None

    def take(self) -> T | threading.Event | None:
        """Take the next item, if any, or raise the thread's error; the caller holds the bell."""
        if self._ready:
            item = self._ready.popleft()
            self._bell.notify_all()
            return item
        if self._error is not None:
            raise self._error
        return None

    def ask_to_end(self) -> None:
        with self._bell:
            self._is_closing = True
            self._bell.notify_all()

    def close(self) -> None:
        """End the thread after ``ask_to_end``; close the source unless it is still being read."""
        self._join()
        if self._thread is None:
            self.source.close()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join(JOIN)
            if not self._thread.is_alive():
                self._thread = None

    def _run(self) -> None:
        try:
            while self._wait_for_room():
                chunk = self._patience.until(self.source.name, self._read)
                if chunk is None or time.monotonic() - self._lag_at >= LAG:
                    self._lag_at = time.monotonic()
                    with suppress(StreamError):
                        self.lag = self.source.lag()
                if chunk is not None:
                    self._put(self._prepare(chunk))
                    continue
                has_ended, knows_end = self.source.is_over, self.source.knows_end
                with self._bell:
                    self._is_idle, self._has_ended, self._knows_end = True, has_ended, knows_end
                    self._bell.notify_all()
                if has_ended:
                    return
        except StoppedError:
            return
        except BaseException as error:  # the flow raises it
            with self._bell:
                self._error = error
                self._bell.notify_all()

    def _read(self) -> Chunk | None:
        """Read a chunk; wait only if the last read found nothing."""
        most = self._most
        if self._turn is not None:
            most = min(most, self._turn - self._arrived % self._turn)
        chunk = self.source.read(most, WAIT if self._is_idle else 0.0)
        if chunk is not None:
            self._arrived += len(chunk)
            if chunk.records.texts.nbytes > BATCH_BYTES:
                self._most = max(1, self._most // 2)
        return chunk

    def _wait_for_room(self) -> bool:
        with self._bell:
            self._bell.wait_for(lambda: self._is_closing or len(self._ready) < self._ahead)
            return not self._is_closing

    def _put(self, item: T | threading.Event) -> None:
        with self._bell:
            self._ready.append(item)
            self._is_idle = False
            self._bell.notify_all()

    def _commit(self) -> None:
        """Have the flow commit all that was delivered; the source calls this."""
        is_done = threading.Event()
        self._put(is_done)
        with self._bell:
            self._bell.wait_for(lambda: is_done.is_set() or self._is_closing)
        if not is_done.is_set():
            raise StoppedError(f"{self.source.name}: the flow ended before the commit")
