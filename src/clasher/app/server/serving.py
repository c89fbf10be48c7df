"""What the operations share: the engine, once it has recovered, and what the edge keeps."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from clasher.app.server.bridge import Bridge
from clasher.app.server.history import History, point
from clasher.app.server.hub import Hub
from clasher.app.server.limits import Limits
from clasher.app.server.meters import Meters
from clasher.app.server.predicting import Predictor
from clasher.app.server.problems import HttpError
from clasher.app.server.shapes import Figures
from clasher.app.server.tokens import TokenFile
from clasher.app.server.workers import Workers
from clasher.service.engine import Engine

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
