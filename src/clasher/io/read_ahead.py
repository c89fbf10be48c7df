"""Long loops over a stream: reading runs ahead in a thread, Ctrl-C waits for the item in hand."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TypeVar

PATIENCE = 1.0  # seconds to wait for a source that is to be left
WAKE = 0.25  # seconds after which a waiting loop looks for signals

T = TypeVar("T")


def read_ahead(items: Generator[T], ahead: int) -> Generator[T]:
    """Run ``items`` in a background thread, up to ``ahead`` items before they are asked for.

    The thread ends with this generator. A source that waits for its next item cannot be woken:
    after a second it is left alone, in a daemon thread that ends with the item or the process.
    """
    ready: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    free = threading.Semaphore(ahead)
    closed = threading.Event()

    def read() -> None:
        try:
            with closing(items):
                while free.acquire() and not closed.is_set():
                    ready.put((item := next(items, None), None))
                    if item is None:
                        return
        except BaseException as error:  # whatever it is, it belongs to the caller
            ready.put((None, error))

    thread = threading.Thread(target=read, name="clasher-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = _get(ready)
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


def _get(ready: SimpleQueue[T]) -> T:
    """Wait for an item, waking now and then: a signal may have come just before the wait began."""
    while True:
        try:
            return ready.get(timeout=WAKE)
        except Empty:
            continue


class _Stopped(KeyboardInterrupt):
    """Ctrl-C came while nothing was in hand."""


class HeldInterrupt:
    """Holds Ctrl-C back until the item in hand is done with.

    The first Ctrl-C ends ``between`` when the loop asks for the next item, or at once when it is
    waiting for one; the second raises KeyboardInterrupt wherever it is. Acts in the main thread,
    and only in place of Python's own handler: a program that has its own keeps it.
    """

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False
        self._installed = False

    def __enter__(self) -> HeldInterrupt:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            signal.signal(signal.SIGINT, self._on_signal)
            self._installed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def between(self, items: Iterator[T]) -> Iterator[T]:
        """The items, until Ctrl-C."""
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
