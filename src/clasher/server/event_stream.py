"""Server-sent events: one subscription to the engine feeds all watchers.

The last events are kept, so a client that reconnects with a ``Last-Event-ID`` misses nothing. Each
watcher has a bounded buffer; one that falls behind is disconnected and reconnects.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from clasher.server.problems import HttpError, busy
from clasher.service.engine import Engine
from clasher.service.structs import Event

KEPT = 1024  # events for clients that reconnect
BUFFER = 256  # events that wait for one watcher
WATCHERS = 256
HEARTBEAT = 15.0  # seconds
METRICS_SECONDS = 1.0  # between two events with metrics
GATHER_SECONDS = 0.1  # the engine combines what it learns in this time into one event
WHO = "who"  # the field of an event with a person's name
_encoder = msgspec.json.Encoder()


class _Line(NamedTuple):
    """An encoded event, with and without the name of a person."""

    number: int
    whole: bytes
    nameless: bytes


class _Watcher:
    """A client, and the events that wait for it."""

    def __init__(self, *, sees_people: bool) -> None:
        self.has_lines = asyncio.Event()
        self.is_late = False
        self._sees_people = sees_people
        self._lines: list[bytes] = []

    def visible(self, line: _Line) -> bytes:
        return line.whole if self._sees_people else line.nameless

    def put(self, line: _Line) -> None:
        if len(self._lines) >= BUFFER:
            self.is_late = True
        else:
            self._lines.append(self.visible(line))
        self.has_lines.set()

    def take(self) -> bytes:
        lines, self._lines = self._lines, []
        self.has_lines.clear()
        return b"".join(lines)


class Hub:
    """Sends the events of an engine, and metrics every second, to all watchers.

    Parameters
    ----------
    metrics
        Collects the current metrics.
    """

    def __init__(
        self, metrics: Callable[[], Awaitable[object]], heartbeat: float = HEARTBEAT
    ) -> None:
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._process = secrets.token_hex(4)  # distinguishes event ids of different processes
        self._number = 0
        self._kept: deque[_Line] = deque(maxlen=KEPT)
        self._watchers: set[_Watcher] = set()
        self._is_closed = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def watchers(self) -> int:
        """The number of watchers."""
        return len(self._watchers)

    def attach(self, engine: Engine) -> None:
        """Relay the events of an engine."""
        work = (self._relay(engine), self._send_metrics())
        self._tasks = [asyncio.create_task(one) for one in work]

    async def _relay(self, engine: Engine) -> None:
        loop = asyncio.get_running_loop()
        has_events = asyncio.Event()

        def notify() -> None:  # called from another thread
            loop.call_soon_threadsafe(has_events.set)

        subscription = engine.subscribe(notify)
        while True:
            await has_events.wait()
            await asyncio.sleep(GATHER_SECONDS)
            has_events.clear()
            for event in subscription.take():
                self.publish(event.kind, event.at, event.data)
            if subscription.is_over:  # it overflowed
                subscription = engine.subscribe(notify)

    async def _send_metrics(self) -> None:
        while True:
            await asyncio.sleep(METRICS_SECONDS)
            if self._watchers:
                with contextlib.suppress(HttpError):  # busy: skip this event
                    self.publish("metrics", time.time(), await self._metrics())

    def publish(self, kind: str, at: float, data: Any) -> None:
        """Send an event to all watchers."""
        self._number += 1
        whole = nameless = self._encode(kind, at, data)
        if isinstance(data, dict) and WHO in data:
            others = {name: value for name, value in data.items() if name != WHO}
            nameless = self._encode(kind, at, others)
        line = _Line(self._number, whole, nameless)
        self._kept.append(line)
        for watcher in list(self._watchers):
            watcher.put(line)

    def _encode(self, kind: str, at: float, data: Any) -> bytes:
        event = Event(number=self._number, at=at, kind=kind, data=data)
        return b"id: %s-%d\nevent: %s\ndata: %s\n\n" % (
            self._process.encode(), self._number, kind.encode(), _encoder.encode(event),
        )  # fmt: skip

    def watch(self, last: str | None, *, sees_people: bool = True) -> AsyncIterator[bytes]:
        """Stream the events after the one with id ``last`` until the service stops.

        Without ``sees_people``, events leave out who did something.
        """
        if len(self._watchers) >= WATCHERS:
            raise busy(f"{WATCHERS} clients are watching already", "close other pages", 5.0)
        return self._stream(last, _Watcher(sees_people=sees_people))

    async def _stream(self, last: str | None, watcher: _Watcher) -> AsyncIterator[bytes]:
        self._watchers.add(watcher)
        try:
            missed = [watcher.visible(line) for line in self._since(last)]
            yield b"retry: 2000\n\n" + b"".join(missed)
            while not self._is_closed and not watcher.is_late:
                try:
                    async with asyncio.timeout(self._heartbeat):
                        await watcher.has_lines.wait()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if lines := watcher.take():
                    yield lines
        finally:
            self._watchers.discard(watcher)

    def _since(self, last: str | None) -> list[_Line]:
        process, _, number = (last or "").partition("-")
        if process != self._process or not (number.isascii() and number.isdigit()):
            return []
        return [line for line in self._kept if line.number > int(number[:18])]

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for watcher in self._watchers:
            watcher.has_lines.set()
        for task in self._tasks:
            task.cancel()
