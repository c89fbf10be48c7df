"""What the operations share: the engine, once it has recovered, and what the edge keeps.

Threads for what would keep the event loop from others; how much may wait is bounded.

Results of other threads, for the event loop.

Predictions at the edge: those that are asked for at the same moment are made together.

A call of the engine costs more than a document in it. Under load many small requests wait in the
event loop at the same time: one call answers them all, and each is answered sooner.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from clasher.errors import ClasherError
from clasher.server.event_stream import Hub
from clasher.server.limits import Limits
from clasher.server.metrics import History, Meters, point
from clasher.server.problems import HttpError
from clasher.server.schemas import Figures
from clasher.server.tokens import TokenFile
from clasher.service.engine import Engine
from clasher.service.structs import Document, Prediction

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


SMALL = 8  # documents of a request that is made together with others
SMALL_TEXT = 16_384  # characters of such a document
TOGETHER = 64  # documents of one call
PIECE = 250  # documents of a call for a large request: others get their turn in between


class _Asked(NamedTuple):
    documents: Sequence[Document]
    future: asyncio.Future[list[Prediction]]


class Predictor:
    """Makes predictions for requests, small ones together."""

    def __init__(self, engine: Engine, workers: Workers) -> None:
        self._engine = engine
        self._workers = workers
        self._asked: dict[tuple[int, bool], list[_Asked]] = {}

    async def predict(
        self, documents: Sequence[Document], top: int, keep: bool
    ) -> AsyncIterator[list[Prediction]]:
        """The predictions, piece by piece."""
        if len(documents) <= SMALL and all(len(one.text) <= SMALL_TEXT for one in documents):
            yield await self._together(documents, top, keep)
            return
        for start in range(0, len(documents), PIECE):
            piece = documents[start : start + PIECE]
            yield await self._workers.run(self._engine.predict, piece, top, keep)

    def _together(
        self, documents: Sequence[Document], top: int, keep: bool
    ) -> asyncio.Future[list[Prediction]]:
        loop = asyncio.get_running_loop()
        asked = _Asked(documents, loop.create_future())
        waiting = self._asked.setdefault((top, keep), [])
        if not waiting:  # what else came with this one is asked for before the loop gets there
            loop.call_soon(self._flush, top, keep)
        waiting.append(asked)
        return asked.future

    def _flush(self, top: int, keep: bool) -> None:
        waiting = self._asked.pop((top, keep))
        while waiting:
            some, size = [], 0
            while waiting and size < TOGETHER:
                some.append(waiting.pop())
                size += len(some[-1].documents)
            self._answer(some, top, keep)

    def _answer(self, some: list[_Asked], top: int, keep: bool) -> None:
        try:
            documents = [document for asked in some for document in asked.documents]
            predictions = iter(self._engine.predict(documents, top, keep))
        except ClasherError as error:
            if len(some) > 1:  # one of them is at fault: the others are not to suffer
                for asked in some:
                    self._answer([asked], top, keep)
            elif not some[0].future.done():
                some[0].future.set_exception(error)
            return
        for asked in some:
            own = [next(predictions) for _ in asked.documents]
            if not asked.future.done():
                asked.future.set_result(own)


HISTORY_EVERY = 5.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How a service is to be reached.

    Parameters
    ----------
    limits
        The bounds of the edge.
    tokens
        Who may do what; None: everybody may do everything.
    hosts
        Names that the service goes by, beside its addresses.
    root_path
        Where it is found below a proxy's address.
    """

    limits: Limits = field(default_factory=Limits)
    tokens: TokenFile | None = None
    hosts: tuple[str, ...] = ()
    root_path: str = ""


class Service:
    """An engine behind HTTP.

    Parameters
    ----------
    open_engine
        Opens the engine; called in a thread, since recovering may take its time.
    """

    def __init__(self, open_engine: Callable[[], Engine], setup: Setup) -> None:
        self._open = open_engine
        self.setup = setup
        self.meters = Meters()
        self.workers = Workers()
        self.bridge = Bridge()
        self.hub = Hub(self.figures)
        self.history = History()
        self._recording: asyncio.Task[None] | None = None
        self._stopping = threading.Event()
        self._engine: Engine | None = None
        self._opening: asyncio.Task[Engine] | None = None
        self._predictor: Predictor | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the engine has recovered, and is not being closed."""
        return self._engine is not None and not self.is_stopping()

    def is_stopping(self) -> bool:
        """Whether it was told to stop: also for the thread that recovers."""
        return self._stopping.is_set()

    @property
    def engine(self) -> Engine:
        """The engine; raises while it recovers."""
        if self._engine is None:
            raise HttpError(
                503, "recovering", "the service reads what was learnt before", "try again soon",
                retry_after=1.0,
            )  # fmt: skip
        return self._engine

    @property
    def predictor(self) -> Predictor:
        """Makes predictions; raises while the engine recovers."""
        return self._predictor or Predictor(self.engine, self.workers)

    async def open(self) -> Engine:
        """Open the engine; until then, requests are told to come again."""
        self._opening = asyncio.create_task(asyncio.to_thread(self._open))
        engine = await asyncio.shield(self._opening)
        self._predictor = Predictor(engine, self.workers)
        self._engine = engine
        self.hub.attach(engine)
        self._recording = asyncio.create_task(self._record())
        return engine

    async def _record(self) -> None:
        while True:
            with contextlib.suppress(HttpError):  # busy: the next point will do
                self.history.add(point(time.time(), await self.figures()))
            await asyncio.sleep(HISTORY_EVERY)

    async def figures(self) -> Figures:
        """How the service is doing."""
        known = msgspec.structs.asdict(await self.workers.run(self.engine.metrics))
        known["subscribers"] = self.hub.watchers
        return Figures(
            **known,
            documents_per_second=self.meters.documents_per_second(),
            requests=self.meters.requests,
            latency_ms=self.meters.latencies(),
            awaiting_seconds=self.engine.options.awaiting.seconds,
            settings=self.engine.settings.to_dict(),
        )

    def stop(self) -> None:
        """Take nothing new; end the streams of those who watch."""
        self._stopping.set()
        self.hub.close()
        if self._recording is not None:
            self._recording.cancel()

    async def close(self) -> None:
        """Finish what was accepted, and close the engine."""
        self.stop()
        if self._opening is not None:
            with contextlib.suppress(Exception):  # told by ``open``
                await asyncio.to_thread((await self._opening).close)
        self.workers.close()
