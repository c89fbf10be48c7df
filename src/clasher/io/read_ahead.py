"""Long loops over a stream: reading ahead in a thread, and Ctrl-C between two items."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TypeVar

PATIENCE = 1.0  # seconds to wait for a source to end
WAKE = 0.25  # seconds between two checks for signals while waiting
HEAD_START = 0.001  # seconds for the caller to enter a kernel, where it does not need Python's lock

T = TypeVar("T")


def read_ahead(items: Generator[T], ahead: int) -> Generator[T]:
    """Run ``items`` in a background thread, up to ``ahead`` items before they are needed.

    The thread ends with this generator. A source that waits for its next item cannot be woken:
    after a second its daemon thread is left behind, and ends with the item or the process.
    """
    ready: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    free = threading.Semaphore(ahead)
    closed = threading.Event()

    def is_next_wanted() -> bool:
        if not free.acquire(blocking=False):  # the caller is slower: it should not wait for us
            free.acquire()
            closed.wait(HEAD_START)
        return not closed.is_set()

    def read() -> None:
        try:
            with closing(items):
                while is_next_wanted():
                    ready.put((item := next(items, None), None))
                    if item is None:
                        return
        except BaseException as error:  # the caller raises it
            ready.put((None, error))

    thread = threading.Thread(target=read, name="clasher-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item, error = ready.get(timeout=WAKE)  # a signal may have come just before
            except Empty:
                continue
            if error is not None:
                raise error
            if item is None:
                return
            free.release()
            yield item
    finally:
        closed.set()
        free.release()
        thread.join(PATIENCE)


class _Stopped(KeyboardInterrupt):
    """Ctrl-C while waiting for an item."""


class HeldInterrupt:
    """Delays Ctrl-C until the current item is done.

    The first Ctrl-C ends ``between`` when the loop asks for the next item, or at once while it
    waits for one; the second raises KeyboardInterrupt anywhere. Works in the main thread, and
    leaves a handler of the program's own alone.
    """

    asked = _waiting = _installed = False

    def __enter__(self) -> HeldInterrupt:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._on_signal)
            self._installed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def between(self, items: Iterator[T]) -> Iterator[T]:
        try:
            while True:
                self._waiting = True
                item = None if self.asked else next(items, None)
                self._waiting = False
                if item is None:
                    return
                yield item
        except _Stopped:
            return
        finally:
            self._waiting = False

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        waiting, asked = self._waiting, self.asked
        self._waiting, self.asked = False, True
        if waiting:
            raise _Stopped
        if asked:
            raise KeyboardInterrupt
