"""Events for subscribers: each has a small buffer, and one that does not keep up is dropped."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from clasher.service.structs import Event

LEARNED = "learned"
BUFFER = 256  # events that wait for a subscriber
MOST = 64  # subscribers


class Subscription:
    """The events of one subscriber; ``notify``, from another thread, must return at once."""

    def __init__(self, events: Events, notify: Callable[[], None] | None, buffer: int) -> None:
        self._source = events
        self._notify = notify
        self._buffer = buffer
        self._events: deque[Event] = deque()
        self._came = threading.Condition()
        self.is_over = False  # no more events come: the service closed, or the buffer was full

    def take(self) -> list[Event]:
        with self._came:
            events = list(self._events)
            self._events.clear()
            return events

    def get(self, timeout: float | None = None) -> Event | None:
        """Wait for the next event; None if none comes in time, or none will."""
        with self._came:
            self._came.wait_for(lambda: bool(self._events) or self.is_over, timeout)
            return self._events.popleft() if self._events else None

    def put(self, event: Event) -> bool:
        """Add an event; return False if the buffer is full. Adjacent ``learned`` events merge."""
        with self._came:
            if self._events and self._events[-1].kind == event.kind == LEARNED:
                documents = self._events.pop().data["documents"] + event.data["documents"]
                event = replace(event, data={**event.data, "documents": documents})
            if len(self._events) >= self._buffer:
                return False
            self._events.append(event)
            self._came.notify_all()
        if self._notify is not None:
            self._notify()
        return True

    def end(self) -> None:
        with self._came:
            self.is_over = True
            self._came.notify_all()
        if self._notify is not None:
            self._notify()

    def close(self) -> None:
        self._source.remove(self)
        self.end()


class Events:
    """Publish events to all subscribers, without waiting for any of them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._subscriptions: list[Subscription] = []
        self._number = 0
        self._is_closed = False
        self.dropped = 0

    def subscribe(
        self, notify: Callable[[], None] | None = None, buffer: int = BUFFER
    ) -> Subscription:
        """Subscribe to all events from now on; the oldest of too many subscribers is dropped."""
        subscription = Subscription(self, notify, buffer)
        with self._lock:
            if self._is_closed:
                subscription.is_over = True
                return subscription
            self._subscriptions.append(subscription)
            surplus = self._subscriptions[:-MOST]
        for late in surplus:
            self._drop(late)
        return subscription

    def publish(self, kind: str, **data: Any) -> None:
        with self._lock:
            self._number += 1
            event = Event(number=self._number, at=self._clock(), kind=kind, data=data)
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            if not subscription.put(event):
                self._drop(subscription)

    def remove(self, subscription: Subscription) -> None:
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def __len__(self) -> int:
        return len(self._subscriptions)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            subscriptions, self._subscriptions = self._subscriptions, []
        for subscription in subscriptions:
            subscription.end()

    def _drop(self, subscription: Subscription) -> None:
        self.dropped += 1
        subscription.close()
