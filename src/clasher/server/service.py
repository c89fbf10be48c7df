"""Share the engine, worker threads, combined predictions, metrics and events among operations."""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, TypeAlias, TypeVar

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

SMALL = 8  # most documents of a request that is combined with others
SMALL_TEXT = 16_384  # most characters of such a document
COMBINED = 64  # documents of a combined call
PIECE = 250  # documents of a call for a large request, before others get their turn
HISTORY_SECONDS = 5  # between two points

T = TypeVar("T")


class Workers:
    """A few threads, for work that would block the event loop; ``waiting`` bounds all jobs."""

    def __init__(self, threads: int = 4, waiting: int = 128) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="clasher worker")
        self._most = waiting
        self._jobs = 0

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        if self._jobs >= self._most:
            raise busy("too many requests are being processed")
        self._jobs += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *args)
        finally:
            self._jobs -= 1

    def close(self) -> None:
        self._pool.shutdown()


class Bridge:
    """Waits for futures of other threads; futures done at the same moment wake the loop once.

    ``asyncio.wrap_future`` wakes the loop for each one, but the engine acknowledges many at once.
    """

    def __init__(self) -> None:
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def wait(self, future: Future[T]) -> asyncio.Future[T]:
        """Return a future of the running loop with the same result."""
        loop = asyncio.get_running_loop()
        own: asyncio.Future[T] = loop.create_future()

        def put(done: Future[T]) -> None:  # called from any thread
            self._done.append((own, done))
            if not self._is_woken and not loop.is_closed():
                self._is_woken = True
                loop.call_soon_threadsafe(self._take)

        future.add_done_callback(put)
        return own

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


_Waiting: TypeAlias = tuple[Sequence[Document], asyncio.Future[list[Prediction]]]


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
            loop = asyncio.get_running_loop()
            waiting = self._waiting.setdefault((top, keep), [])
            if not waiting:  # other requests of this turn of the loop join before the flush
                loop.call_soon(self._flush, top, keep)
            waiting.append((documents, loop.create_future()))
            yield await waiting[-1][1]
            return
        for start in range(0, len(documents), PIECE):
            piece = documents[start : start + PIECE]
            yield await self._workers.run(self._engine.predict, piece, top, keep)

    def _flush(self, top: int, keep: bool) -> None:
        waiting = self._waiting.pop((top, keep))
        while waiting:
            some, size = [], 0
            while waiting and size < COMBINED:
                some.append(waiting.pop())
                size += len(some[-1][0])
            self._answer(some, top, keep)

    def _answer(self, some: list[_Waiting], top: int, keep: bool) -> None:
        try:
            everything = [document for documents, _ in some for document in documents]
            predictions = iter(self._engine.predict(everything, top, keep))
        except ClasherError as error:
            if len(some) > 1:  # only the request at fault should fail
                for one in some:
                    self._answer([one], top, keep)
            elif not some[0][1].done():
                some[0][1].set_exception(error)
            return
        for documents, future in some:
            own = [next(predictions) for _ in documents]
            if not future.done():
                future.set_result(own)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How to reach a service."""

    limits: Limits = field(default_factory=Limits)
    tokens: TokenFile | None = None  # None: everybody may do everything
    hosts: tuple[str, ...] = ()  # names, besides the addresses
    root_path: str = ""  # the path below a proxy's address


class Service:
    """An engine behind HTTP; ``open_engine`` runs in a thread, because recovery may take long."""

    def __init__(self, open_engine: Callable[[], Engine], setup: Setup) -> None:
        self._open_engine = open_engine
        self.setup = setup
        self.meters, self.history = Meters(), History()
        self.workers, self.bridge = Workers(), Bridge()
        self.hub = Hub()
        self.predictor: Predictor
        self._engine: Engine | None = None
        self._opening: asyncio.Task[Engine] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = threading.Event()
        self.is_stopping = self._stopping.is_set

    async def open(self) -> Engine:
        """Open the engine; until then, requests get 503."""
        self._opening = asyncio.create_task(asyncio.to_thread(self._open_engine))
        engine = await asyncio.shield(self._opening)
        self.predictor = Predictor(engine, self.workers)
        self._engine = engine
        self._tasks = [*map(asyncio.create_task, (self.hub.relay(engine), self._measure()))]
        return engine

    async def _measure(self) -> None:
        """Record metrics every few seconds; publish them every second if somebody watches."""
        for second in count():
            is_due = not second % HISTORY_SECONDS
            if is_due or self.hub.watchers:
                with contextlib.suppress(HttpError):  # busy: skip this moment
                    now, metrics = time.time(), await self.metrics()
                    if is_due:
                        self.history.add(point(now, metrics))
                    if self.hub.watchers:
                        self.hub.publish("metrics", now, metrics)
            await asyncio.sleep(1.0)

    @property
    def engine(self) -> Engine:
        """The engine; raises while it recovers."""
        if self._engine is None:
            raise busy("the service is starting", "try again soon", kind="recovering")
        return self._engine

    @property
    def status(self) -> Literal["ok", "recovering", "stopping"]:
        if self.is_stopping():
            return "stopping"
        return "recovering" if self._engine is None else "ok"

    async def metrics(self) -> ServiceMetrics:
        known = msgspec.structs.asdict(await self.workers.run(self.engine.metrics))
        known["subscribers"] = len(self.hub.watchers)
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
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Finish accepted work and close the engine."""
        self.stop()
        if self._opening is not None:
            with contextlib.suppress(Exception):  # ``open`` has raised it already
                await asyncio.to_thread((await self._opening).close)
        self.workers.close()
