"""What the edge counts: requests, how long they take, how much is predicted and learnt now."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Histogram

WINDOW = 60.0  # seconds of the latency that is shown
KEPT = 4096  # latencies
RATE = 10.0  # seconds over which documents per second are counted
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Meters:
    """Figures of requests, for people and for Prometheus.

    Examples
    --------
    >>> meters = Meters(clock=lambda: 100.0)
    >>> meters.done("predict", 200, 0.003)
    >>> meters.add_documents(30)
    >>> meters.requests, meters.latencies(), meters.documents_per_second()
    (1, {'predict': (3.0, 3.0), 'learn': None}, 3.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "clasher_requests", "Requests by operation and status.", ["operation", "status"],
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "clasher_request_seconds", "How long requests take.", ["operation"],
            buckets=BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._counters: dict[tuple[str, int], Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self.requests = 0
        self._latencies: dict[str, deque[tuple[float, float]]] = {
            operation: deque(maxlen=KEPT) for operation in ("predict", "learn")
        }
        self._documents: deque[tuple[int, int]] = deque()  # (second, documents)

    def done(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests += 1
        key = (operation, status)
        if (counter := self._counters.get(key)) is None:
            counter = self._counters[key] = self._requests.labels(operation, str(status))
            self._histograms[operation] = self._seconds.labels(operation)
        counter.inc()
        self._histograms[operation].observe(seconds)
        if operation in self._latencies:
            self._latencies[operation].append((self._clock(), seconds))

    def add_documents(self, number: int) -> None:
        """Count documents that were predicted, learnt or spoken of."""
        second = int(self._clock())
        if self._documents and self._documents[-1][0] == second:
            number += self._documents.pop()[1]
        self._documents.append((second, number))
        while self._documents[0][0] <= second - RATE:
            self._documents.popleft()

    def documents_per_second(self) -> float:
        """Over the last few seconds."""
        since = self._clock() - RATE
        return sum(number for second, number in self._documents if second > since) / RATE

    def latencies(self) -> dict[str, tuple[float, float] | None]:
        """The median and the 99th percentile of the last minute, in milliseconds."""
        since = self._clock() - WINDOW
        return {
            operation: _percentiles([seconds for at, seconds in list(kept) if at >= since])
            for operation, kept in self._latencies.items()
        }


def _percentiles(seconds: list[float]) -> tuple[float, float] | None:
    if not seconds:
        return None
    ordered = sorted(seconds)
    return 1000 * ordered[len(ordered) // 2], 1000 * ordered[len(ordered) * 99 // 100]
