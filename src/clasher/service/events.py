"""Events for subscribers: each has a small buffer, and one that does not keep up is dropped."""

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

    def __init__(self, came: threading.Condition, notify: Callable[[], None] | None) -> None:
        self._came, self._notify = came, notify
        self._events: deque[Event] = deque()
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

    def put(self, event: Event) -> None:
        """Add an event; end if the buffer is full. Adjacent ``learned`` events merge."""
        with self._came:
            if self._events and self._events[-1].kind == event.kind == LEARNED:
                documents = self._events.pop().data["documents"] + event.data["documents"]
                event = replace(event, data={**event.data, "documents": documents})
            if len(self._events) < BUFFER:
                self._events.append(event)
                self._wake()
            else:
                self.close()

    def close(self) -> None:
        with self._came:
            self.is_over = True
            self._wake()

    def _wake(self) -> None:
        self._came.notify_all()
        if self._notify is not None:
            self._notify()


class Events:
    """Publish events to all subscribers, without waiting for any of them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._came = threading.Condition()
        self._subscriptions: list[Subscription] = []
        self._is_closed = False
        self._number = self.dropped = 0

    def subscribe(self, notify: Callable[[], None] | None = None) -> Subscription:
        """Subscribe to all events from now on; the oldest of too many subscribers is dropped."""
        subscription = Subscription(self._came, notify)
        with self._came:
            subscription.is_over = self._is_closed
            self._subscriptions = [one for one in self._subscriptions if not one.is_over]
            if len(self._subscriptions) == MOST:
                self._subscriptions.pop(0).close()
                self.dropped += 1
            self._subscriptions.append(subscription)
        return subscription

    def publish(self, kind: str, **data: Any) -> None:
        with self._came:
            self._number += 1
            event = Event(number=self._number, at=self._clock(), kind=kind, data=data)
            for subscription in self._subscriptions:
                if not subscription.is_over:
                    subscription.put(event)
                    self.dropped += subscription.is_over

    def __len__(self) -> int:
        return sum(not subscription.is_over for subscription in self._subscriptions)

    def close(self) -> None:
        with self._came:
            self._is_closed = True
            for subscription in self._subscriptions:
                subscription.close()
