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
METRICS_SECONDS = 1.0  # between two events with metrics
GATHER_SECONDS = 0.1  # the engine combines what it learns in this time into one event
_encoder = msgspec.json.Encoder()


class _Line(NamedTuple):
    number: int
    whole: bytes
    nameless: bytes  # without the name of a person


class _Watcher:
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
    """Sends the events of an engine, and metrics every second, to all watchers."""

    def __init__(self, metrics: Callable[[], Awaitable[object]], heartbeat: float = 15.0) -> None:
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._process = secrets.token_hex(4)  # distinguishes event ids of different processes
        self._number = 0
        self._kept: deque[_Line] = deque(maxlen=KEPT)
        self.watchers: set[_Watcher] = set()
        self._is_closed = False
        self._tasks: list[asyncio.Task[None]] = []

    def attach(self, engine: Engine) -> None:
        self._tasks = [*map(asyncio.create_task, (self._relay(engine), self._send_metrics()))]

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
            if self.watchers:
                with contextlib.suppress(HttpError):  # busy: skip this event
                    self.publish("metrics", time.time(), await self._metrics())

    def publish(self, kind: str, at: float, data: Any) -> None:
        self._number += 1
        whole = nameless = self._encode(kind, at, data)
        if isinstance(data, dict) and "who" in data:
            others = {name: value for name, value in data.items() if name != "who"}
            nameless = self._encode(kind, at, others)
        line = _Line(self._number, whole, nameless)
        self._kept.append(line)
        for watcher in list(self.watchers):
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
        if len(self.watchers) >= WATCHERS:
            raise busy(f"{WATCHERS} clients are watching already", "close other pages", 5.0)
        return self._stream(last, _Watcher(sees_people=sees_people))

    async def _stream(self, last: str | None, watcher: _Watcher) -> AsyncIterator[bytes]:
        self.watchers.add(watcher)
        process, _, number = (last or "").partition("-")
        is_known = process == self._process and number.isascii() and number.isdigit()
        after = int(number[:18]) if is_known else self._number
        try:
            missed = [watcher.visible(line) for line in self._kept if line.number > after]
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
            self.watchers.discard(watcher)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for watcher in self.watchers:
            watcher.has_lines.set()
        for task in self._tasks:
            task.cancel()
