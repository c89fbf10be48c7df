"""What happens, told to all who watch over HTTP: server-sent events.

One subscription to the engine feeds everybody. The last events are kept, so that whoever comes back
with a ``Last-Event-ID`` misses nothing; each watcher has a bounded buffer, and who does not keep up
is let go and comes back.
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

from clasher.server.problems import HttpError
from clasher.service.engine import Engine
from clasher.service.structs import Event

KEPT = 1024  # events for those who come back
BUFFER = 256  # events that wait for a watcher
WATCHERS = 256
HEARTBEAT = 15.0  # seconds
FIGURES_EVERY = 1.0  # seconds
GATHERED = 0.1  # seconds, in which the engine makes one event of much that is learnt
WHO = "who"  # in the data of an event: the name of somebody
_encoder = msgspec.json.Encoder()


class Hub:
    """Fans out the events of an engine, and its figures every few seconds.

    Parameters
    ----------
    figures
        Makes the figures of now, for as long as somebody watches.
    """

    def __init__(
        self, figures: Callable[[], Awaitable[object]], heartbeat: float = HEARTBEAT
    ) -> None:
        self._figures = figures
        self._heartbeat = heartbeat
        self._start = secrets.token_hex(4)  # tells the numbers of this process from those before
        self._number = 0
        self._kept: deque[_Line] = deque(maxlen=KEPT)
        self._watchers: set[_Watcher] = set()
        self._is_closed = False
        self._tasks: list[asyncio.Task[None]] = []

    def attach(self, engine: Engine) -> None:
        """Hear of what happens in an engine."""
        self._tasks = [
            asyncio.create_task(self._relay(engine)),
            asyncio.create_task(self._tick()),
        ]

    async def _relay(self, engine: Engine) -> None:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()

        def notify() -> None:  # called from another thread
            loop.call_soon_threadsafe(came.set)

        subscription = engine.subscribe(notify)
        while True:
            await came.wait()
            await asyncio.sleep(GATHERED)
            came.clear()
            for event in subscription.take():
                self.publish(event.kind, event.at, event.data)
            if subscription.is_over:  # too much at once: begin anew
                subscription = engine.subscribe(notify)

    def publish(self, kind: str, at: float, data: Any) -> None:
        """Tell all who watch."""
        self._number += 1
        whole = nameless = self._encoded(kind, at, data)
        if isinstance(data, dict) and WHO in data:
            others = {name: value for name, value in data.items() if name != WHO}
            nameless = self._encoded(kind, at, others)
        line = _Line(self._number, whole, nameless)
        self._kept.append(line)
        for watcher in list(self._watchers):
            watcher.put(line)

    def _encoded(self, kind: str, at: float, data: Any) -> bytes:
        event = Event(number=self._number, at=at, kind=kind, data=data)
        return b"id: %s-%d\nevent: %s\ndata: %s\n\n" % (
            self._start.encode(), self._number, kind.encode(), _encoder.encode(event),
        )  # fmt: skip

    def watch(self, last: str | None, *, sees_people: bool = True) -> AsyncIterator[bytes]:
        """The events after the one with this id, as they are sent; ends when the service does.

        Without ``sees_people`` they leave out who did what.
        """
        if len(self._watchers) >= WATCHERS:
            raise HttpError(
                503, "busy", f"{WATCHERS} are watching already", "close other pages",
                retry_after=5.0,
            )  # fmt: skip
        return self._lines(last, _Watcher(sees_people=sees_people))

    async def _lines(self, last: str | None, watcher: _Watcher) -> AsyncIterator[bytes]:
        self._watchers.add(watcher)
        try:
            yield b"retry: 2000\n\n" + b"".join(self._since(last, watcher))
            while not self._is_closed and not watcher.is_late:
                try:
                    async with asyncio.timeout(self._heartbeat):
                        await watcher.came.wait()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if lines := watcher.take():
                    yield lines
        finally:
            self._watchers.discard(watcher)

    def _since(self, last: str | None, watcher: _Watcher) -> list[bytes]:
        start, _, number = (last or "").partition("-")
        if start != self._start or not (number.isascii() and number.isdigit()):
            return []
        return [watcher.sees(line) for line in self._kept if line.number > int(number[:18])]

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(FIGURES_EVERY)
            if self._watchers:
                with contextlib.suppress(HttpError):  # busy: the next ones will do
                    self.publish("metrics", time.time(), await self._figures())

    @property
    def watchers(self) -> int:
        """How many watch."""
        return len(self._watchers)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for watcher in self._watchers:
            watcher.came.set()
        for task in self._tasks:
            task.cancel()


class _Line(NamedTuple):
    """An event as it is sent: its number, with names of people and without."""

    number: int
    whole: bytes
    nameless: bytes


class _Watcher:
    """Somebody who watches, and what waits for them."""

    def __init__(self, *, sees_people: bool) -> None:
        self.came = asyncio.Event()
        self.is_late = False
        self._sees_people = sees_people
        self._lines: list[bytes] = []

    def sees(self, line: _Line) -> bytes:
        return line.whole if self._sees_people else line.nameless

    def put(self, line: _Line) -> None:
        if len(self._lines) >= BUFFER:
            self.is_late = True
        else:
            self._lines.append(self.sees(line))
        self.came.set()

    def take(self) -> bytes:
        lines, self._lines = self._lines, []
        self.came.clear()
        return b"".join(lines)
