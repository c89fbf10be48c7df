"""Server-sent events: one subscription to the engine feeds all watchers.

The last events are kept, so a client that reconnects with a ``Last-Event-ID`` misses nothing. Each
watcher has a bounded buffer; one that falls behind is disconnected and reconnects.
"""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from clasher.server.problems import busy
from clasher.service.engine import Engine
from clasher.service.structs import Event

KEPT = 1024  # events for clients that reconnect
BUFFER = 256  # events that wait for one watcher
WATCHERS = 256
GATHER_SECONDS = 0.1  # the engine combines what it learns in this time into one event
_encoder = msgspec.json.Encoder()


class Hub:
    """Sends events to all watchers."""

    def __init__(self, heartbeat: float = 15.0) -> None:
        self._heartbeat = heartbeat
        self._process = secrets.token_hex(4)  # distinguishes event ids of different processes
        self._number = 0
        self._kept: deque[tuple[int, tuple[bytes, bytes]]] = deque(maxlen=KEPT)
        self.watchers: dict[asyncio.Queue[bytes], bool] = {}  # and whether they see people
        self._is_closed = False

    async def relay(self, engine: Engine) -> None:
        """Publish the events of an engine."""
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

    def publish(self, kind: str, at: float, data: Any) -> None:
        self._number += 1
        whole = nameless = self._encode(kind, at, data)
        if isinstance(data, dict) and "who" in data:
            others = {name: value for name, value in data.items() if name != "who"}
            nameless = self._encode(kind, at, others)
        lines = nameless, whole
        self._kept.append((self._number, lines))
        for queue, sees_people in list(self.watchers.items()):
            try:
                queue.put_nowait(lines[sees_people])
            except asyncio.QueueFull:
                del self.watchers[queue]  # too late; it reconnects

    def _encode(self, kind: str, at: float, data: Any) -> bytes:
        event = Event(number=self._number, at=at, kind=kind, data=data)
        return b"id: %s-%d\nevent: %s\ndata: %s\n\n" % (
            self._process.encode(), self._number, kind.encode(), _encoder.encode(event),
        )  # fmt: skip

    def watch(self, last: str | None, *, sees_people: bool = True) -> AsyncIterator[bytes]:
        """Stream the events after the one with id ``last``; ``sees_people``: with their ``who``."""
        if len(self.watchers) >= WATCHERS:
            raise busy(f"{WATCHERS} clients are watching already", "close other pages", 5.0)
        return self._stream(last, sees_people)

    async def _stream(self, last: str | None, sees_people: bool) -> AsyncIterator[bytes]:
        queue = asyncio.Queue[bytes](BUFFER)
        self.watchers[queue] = sees_people
        process, _, number = (last or "").partition("-")
        is_known = process == self._process and number.isascii() and number.isdigit()
        after = int(number[:18]) if is_known else self._number
        try:
            missed = [lines[sees_people] for at, lines in self._kept if at > after]
            yield b"retry: 2000\n\n" + b"".join(missed)
            while not self._is_closed and (queue in self.watchers or not queue.empty()):
                try:
                    async with asyncio.timeout(self._heartbeat):
                        lines = [await queue.get()]
                except TimeoutError:
                    lines = [b": still here\n\n"]
                while not queue.empty():
                    lines.append(queue.get_nowait())
                yield b"".join(lines)
        finally:
            self.watchers.pop(queue, None)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for queue in self.watchers:
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(b"")  # wakes it
