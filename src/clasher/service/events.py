"""News for those who watch: each has a small buffer, and who does not keep up is let go."""

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
    """The events since somebody subscribed.

    ``notify`` is called, from another thread, when something has come: it must return at once.
    """

    def __init__(self, bus: Events, notify: Callable[[], None] | None, buffer: int) -> None:
        self._bus = bus
        self._notify = notify
        self._buffer = buffer
        self._events: deque[Event] = deque()
        self._came = threading.Condition()
        self.is_over = False
        """Whether nothing will come any more: the service closed, or the buffer was full."""

    def take(self) -> list[Event]:
        """What has come since, at once."""
        with self._came:
            events = list(self._events)
            self._events.clear()
            return events

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None where none comes in time, or none will."""
        with self._came:
            self._came.wait_for(lambda: bool(self._events) or self.is_over, timeout)
            return self._events.popleft() if self._events else None

    def close(self) -> None:
        """Want no more."""
        self._bus.remove(self)
        self._end()

    def _put(self, event: Event) -> bool:
        """Whether there was room."""
        with self._came:
            if self._events and _are_alike(self._events[-1], event):
                event = _joined(self._events.pop(), event)
            if len(self._events) >= self._buffer:
                return False
            self._events.append(event)
            self._came.notify_all()
        if self._notify is not None:
            self._notify()
        return True

    def _end(self) -> None:
        with self._came:
            self.is_over = True
            self._came.notify_all()
        if self._notify is not None:
            self._notify()


def _are_alike(last: Event, event: Event) -> bool:
    """Whether one event can tell of both: a stream that is learnt must not fill the buffers."""
    return last.kind == event.kind == LEARNED


def _joined(last: Event, event: Event) -> Event:
    documents = last.data["documents"] + event.data["documents"]
    return replace(event, data={**event.data, "documents": documents})


class Events:
    """Tells all who want to know; never waits for any of them.

    Examples
    --------
    >>> events = Events(clock=lambda: 0.0)
    >>> subscription = events.subscribe()
    >>> events.publish("learned", documents=3)
    >>> subscription.get().data
    {'documents': 3}
    """

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
        """Hear of everything from now on; the oldest of too many subscribers is let go."""
        subscription = Subscription(self, notify, buffer)
        with self._lock:
            if self._is_closed:
                subscription.is_over = True
                return subscription
            self._subscriptions.append(subscription)
            surplus = self._subscriptions[:-MOST]
        for late in surplus:
            self._let_go(late)
        return subscription

    def publish(self, kind: str, **data: Any) -> None:
        """Tell all; those whose buffer is full hear no more."""
        with self._lock:
            self._number += 1
            event = Event(number=self._number, at=self._clock(), kind=kind, data=data)
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            if not subscription._put(event):
                self._let_go(subscription)

    def remove(self, subscription: Subscription) -> None:
        """Tell somebody no more."""
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def __len__(self) -> int:
        return len(self._subscriptions)

    def close(self) -> None:
        """End all subscriptions."""
        with self._lock:
            self._is_closed = True
            subscriptions = list(self._subscriptions)
            self._subscriptions.clear()
        for subscription in subscriptions:
            subscription._end()

    def _let_go(self, subscription: Subscription) -> None:
        self.dropped += 1
        subscription.close()
