"""Results of other threads, for the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Bridge:
    """Waits for futures of threads; those that are done at the same moment wake the loop once.

    ``asyncio.wrap_future`` wakes it for each of them, and what is learnt together is acknowledged
    together.

    Examples
    --------
    >>> async def main():
    ...     done = Future()
    ...     done.set_result(3)
    ...     return await Bridge().wait(done)
    >>> asyncio.run(main())
    3
    """

    def __init__(self) -> None:
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def wait(self, future: Future[T]) -> asyncio.Future[T]:
        """The result of a future, for whoever awaits it in the running loop."""
        loop = asyncio.get_running_loop()
        own: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda done: self._put(loop, own, done))
        return own

    def _put(
        self, loop: asyncio.AbstractEventLoop, own: asyncio.Future[T], done: Future[T]
    ) -> None:
        """Called from any thread."""
        self._done.append((own, done))
        if not self._is_woken and not loop.is_closed():
            self._is_woken = True
            loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._is_woken = False  # before it looks: what comes from now on wakes it again
        while self._done:
            own, done = self._done.popleft()
            if own.done():  # whoever waited for it is gone
                continue
            error = done.exception()
            if error is None:
                own.set_result(done.result())
            else:
                own.set_exception(error)
