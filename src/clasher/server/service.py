"""What all operations share: the engine, worker threads, combined predictions, metrics, events."""

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
from clasher.server.problems import HttpError, busy
from clasher.server.schemas import ServiceMetrics
from clasher.server.tokens import TokenFile
from clasher.service.engine import Engine
from clasher.service.structs import Document, Prediction

THREADS = 4
WAITING = 128  # most jobs in the threads and their queue
SMALL = 8  # most documents of a request that is combined with others
SMALL_TEXT = 16_384  # most characters of such a document
COMBINED = 64  # documents of a combined call
PIECE = 250  # documents of a call for a large request, before others get their turn
HISTORY_SECONDS = 5.0  # between two points

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """A few threads with a bounded queue, for work that would block the event loop.

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
        self._jobs = 0

    async def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Run a function in a thread."""
        if self._jobs >= self._most:
            raise busy("too many requests are being processed")
        self._jobs += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, lambda: work(*args, **named))
        finally:
            self._jobs -= 1

    async def take(self, source: Iterator[T], most: int) -> list[T]:
        """Take up to ``most`` items from a slow iterator."""
        return await self.run(lambda: list(islice(source, most)))

    def close(self) -> None:
        """Finish all work and end the threads."""
        self._pool.shutdown()


class Bridge:
    """Waits for futures of other threads; futures done at the same moment wake the loop once.

    ``asyncio.wrap_future`` wakes the loop for each one, but the engine acknowledges many at once.

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
        """Return a future of the running loop with the same result."""
        loop = asyncio.get_running_loop()
        own: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda done: self._put(loop, own, done))
        return own

    def _put(
        self, loop: asyncio.AbstractEventLoop, own: asyncio.Future[T], done: Future[T]
    ) -> None:
        """Note a finished future; called from any thread."""
        self._done.append((own, done))
        if not self._is_woken and not loop.is_closed():
            self._is_woken = True
            loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._is_woken = False  # before the loop: later results wake it again
        while self._done:
            own, done = self._done.popleft()
            if own.done():  # cancelled
                continue
            error = done.exception()
            if error is None:
                own.set_result(done.result())
            else:
                own.set_exception(error)


class _Waiting(NamedTuple):
    documents: Sequence[Document]
    future: asyncio.Future[list[Prediction]]


class Predictor:
    """Predicts for requests; small requests that arrive together share one call of the engine.

    A call costs more than a document in it, so under load every request is answered sooner.
    """

    def __init__(self, engine: Engine, workers: Workers) -> None:
        self._engine = engine
        self._workers = workers
        self._waiting: dict[tuple[int, bool], list[_Waiting]] = {}

    async def predict(
        self, documents: Sequence[Document], top: int, keep: bool
    ) -> AsyncIterator[list[Prediction]]:
        """Yield the predictions piece by piece."""
        if len(documents) <= SMALL and all(len(one.text) <= SMALL_TEXT for one in documents):
            yield await self._combine(documents, top, keep)
            return
        for start in range(0, len(documents), PIECE):
            piece = documents[start : start + PIECE]
            yield await self._workers.run(self._engine.predict, piece, top, keep)

    def _combine(
        self, documents: Sequence[Document], top: int, keep: bool
    ) -> asyncio.Future[list[Prediction]]:
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault((top, keep), [])
        if not waiting:  # other requests of this turn of the loop join before the flush
            loop.call_soon(self._flush, top, keep)
        future = loop.create_future()
        waiting.append(_Waiting(documents, future))
        return future

    def _flush(self, top: int, keep: bool) -> None:
        waiting = self._waiting.pop((top, keep))
        while waiting:
            some, size = [], 0
            while waiting and size < COMBINED:
                some.append(waiting.pop())
                size += len(some[-1].documents)
            self._answer(some, top, keep)

    def _answer(self, some: list[_Waiting], top: int, keep: bool) -> None:
        try:
            documents = [document for one in some for document in one.documents]
            predictions = iter(self._engine.predict(documents, top, keep))
        except ClasherError as error:
            if len(some) > 1:  # only the request at fault should fail
                for one in some:
                    self._answer([one], top, keep)
            elif not some[0].future.done():
                some[0].future.set_exception(error)
            return
        for one in some:
            own = [next(predictions) for _ in one.documents]
            if not one.future.done():
                one.future.set_result(own)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How to reach a service.

    Parameters
    ----------
    tokens
        Who may do what; None: everybody may do everything.
    hosts
        Host names of the service, besides its addresses.
    root_path
        Its path below a proxy's address.
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
        Opens the engine; called in a thread, because recovery may take long.
    """

    def __init__(self, open_engine: Callable[[], Engine], setup: Setup) -> None:
        self._open_engine = open_engine
        self.setup = setup
        self.meters = Meters()
        self.workers = Workers()
        self.bridge = Bridge()
        self.hub = Hub(self.metrics)
        self.history = History()
        self._engine: Engine | None = None
        self._predictor: Predictor | None = None
        self._opening: asyncio.Task[Engine] | None = None
        self._recording: asyncio.Task[None] | None = None
        self._stopping = threading.Event()

    async def open(self) -> Engine:
        """Open the engine; until then, requests get 503."""
        self._opening = asyncio.create_task(asyncio.to_thread(self._open_engine))
        engine = await asyncio.shield(self._opening)
        self._predictor = Predictor(engine, self.workers)
        self._engine = engine
        self.hub.attach(engine)
        self._recording = asyncio.create_task(self._record())
        return engine

    async def _record(self) -> None:
        while True:
            with contextlib.suppress(HttpError):  # busy: skip this point
                self.history.add(point(time.time(), await self.metrics()))
            await asyncio.sleep(HISTORY_SECONDS)

    @property
    def engine(self) -> Engine:
        """The engine; raises while it recovers."""
        if self._engine is None:
            raise HttpError(
                503, "recovering", "the service is starting", "try again soon", retry_after=1.0
            )
        return self._engine

    @property
    def predictor(self) -> Predictor:
        """The predictor; raises while the engine recovers."""
        return self._predictor or Predictor(self.engine, self.workers)

    @property
    def is_ready(self) -> bool:
        """Whether the engine has recovered and the service is not stopping."""
        return self._engine is not None and not self.is_stopping()

    def is_stopping(self) -> bool:
        """Tell whether the service is stopping; may be called from any thread."""
        return self._stopping.is_set()

    async def metrics(self) -> ServiceMetrics:
        """Collect the current metrics."""
        known = msgspec.structs.asdict(await self.workers.run(self.engine.metrics))
        known["subscribers"] = self.hub.watchers
        return ServiceMetrics(
            **known,
            documents_per_second=self.meters.documents_per_second(),
            requests=self.meters.requests,
            latency_ms=self.meters.latencies(),
            awaiting_seconds=self.engine.options.awaiting.seconds,
            settings=self.engine.settings.to_dict(),
        )

    def stop(self) -> None:
        """Begin to stop: end the event streams."""
        self._stopping.set()
        self.hub.close()
        if self._recording is not None:
            self._recording.cancel()

    async def close(self) -> None:
        """Finish accepted work and close the engine."""
        self.stop()
        if self._opening is not None:
            with contextlib.suppress(Exception):  # ``open`` has raised it already
                await asyncio.to_thread((await self._opening).close)
        self.workers.close()
