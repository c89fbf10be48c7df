"""Threads for what would keep the event loop from others; how much may wait is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import ParamSpec, TypeVar

from clasher.app.server.problems import HttpError

THREADS = 4
WAITING = 128  # pieces of work

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """A few threads, and a queue that does not grow without end.

    Examples
    --------
    >>> workers = Workers()
    >>> asyncio.run(workers.run(sum, [1, 2]))
    3
    >>> workers.close()
    """

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="clasher worker")
        self._most = waiting
        self._inside = 0

    async def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Do something in a thread."""
        if self._inside >= self._most:
            raise HttpError(
                503, "busy", "too many requests are being answered", "try again later",
                retry_after=1.0,
            )  # fmt: skip
        self._inside += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, lambda: work(*args, **named))
        finally:
            self._inside -= 1

    async def take(self, source: Iterator[T], most: int) -> list[T]:
        """Take up to ``most`` items of a slow source in a thread; leave the others in it."""
        return await self.run(lambda: list(islice(source, most)))

    def close(self) -> None:
        """Finish, and let the threads go."""
        self._pool.shutdown()
