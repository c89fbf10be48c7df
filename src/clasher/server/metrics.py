"""Metrics of requests, their history for charts, and the text format of Prometheus."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clasher.server.schemas import Point, ServiceMetrics
from clasher.service.structs import LabelInfo

WINDOW = 60.0  # seconds of the latencies shown
KEPT = 4096  # latencies
RATE = 10.0  # seconds over which documents per second are counted
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
POINTS = 600  # most points of the history


class Meters:
    """Counts requests and documents.

    >>> meters = Meters(clock=lambda: 100.0)
    >>> meters.add_request("predict", 200, 0.003)
    >>> meters.add_documents(30)
    >>> meters.requests, meters.latencies(), meters.documents_per_second()
    (1, {'predict': (3.0, 3.0), 'learn': None}, 3.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.registry = CollectorRegistry()
        requests = Counter(
            "clasher_requests", "Requests by operation and status.", ["operation", "status"],
            registry=self.registry,
        )  # fmt: skip
        seconds = Histogram(
            "clasher_request_seconds", "Duration of requests.", ["operation"],
            buckets=BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._meters = cache(lambda name, code: (requests.labels(name, code), seconds.labels(name)))
        self.requests = 0
        self._latencies: dict[str, deque[tuple[float, float]]] = {
            operation: deque(maxlen=KEPT) for operation in ("predict", "learn")
        }
        self._documents: deque[tuple[int, int]] = deque()  # (second, documents)

    def add_request(self, operation: str, status: int, seconds: float) -> None:
        self.requests += 1
        counter, histogram = self._meters(operation, status)
        counter.inc()
        histogram.observe(seconds)
        if operation in self._latencies:
            self._latencies[operation].append((self._clock(), seconds))

    def add_documents(self, number: int) -> None:
        """Count documents that were predicted, learnt or corrected."""
        second = int(self._clock())
        if self._documents and self._documents[-1][0] == second:
            number += self._documents.pop()[1]
        self._documents.append((second, number))
        while self._documents[0][0] <= second - RATE:
            self._documents.popleft()

    def documents_per_second(self) -> float:
        since = self._clock() - RATE
        return sum(number for second, number in self._documents if second > since) / RATE

    def latencies(self) -> dict[str, tuple[float, float] | None]:
        """Return the median and the 99th percentile of the last minute, in milliseconds."""
        since = self._clock() - WINDOW
        found: dict[str, tuple[float, float] | None] = {}
        for operation, kept in self._latencies.items():
            recent = sorted(1000 * seconds for at, seconds in list(kept) if at >= since)
            number = len(recent)
            found[operation] = (recent[number // 2], recent[number * 99 // 100]) if number else None
        return found


class History:
    """Points since the start; when there are too many, every other one is dropped.

    >>> history = History(most=4)
    >>> for at in range(9):
    ...     history.add(Point(at, *[0] * 10))
    >>> [point.at for point in history.points]
    [0, 4, 8]
    """

    def __init__(self, most: int = POINTS) -> None:
        self._most = most
        self._stride = 1
        self._seen = 0
        self.points: list[Point] = []

    def add(self, point: Point) -> None:
        """Record a moment, unless it falls between two points."""
        if not self._seen % self._stride:
            self.points.append(point)
        self._seen += 1
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._stride *= 2


def point(at: float, metrics: ServiceMetrics) -> Point:
    """Extract the point of a moment."""
    over, recent = metrics.cumulative, metrics.recent
    estimates = (over.macro_f1, over.micro_f1, recent.macro_f1, recent.micro_f1)
    values = [estimate.value if estimate.is_enough else None for estimate in estimates]
    latencies = metrics.latency_ms["predict"] or (None, None)
    return Point(
        at, metrics.documents_learned, metrics.documents_predicted,
        values[0], values[1], values[2], values[3],
        metrics.memory_bytes, metrics.labels, latencies[0], latencies[1],
    )  # fmt: skip


COUNTERS = {
    "documents_learned": "Documents learnt.",
    "documents_predicted": "Documents predicted since the start.",
    "documents_taught": "Documents corrected by people.",
    "awaiting_dropped": "Documents dropped before anybody gave feedback.",
    "log_dropped": "Log entries dropped to save space.",
}
GAUGES = {
    "labels": "Labels of the model.",
    "model_bytes": "Bytes of both copies of the model.",
    "model_dropped_values": "Values of words dropped to stay within max_bytes.",
    "memory_bytes": "Bytes of the process.",
    "disk_bytes": "Bytes of the data folder.",
    "awaiting": "Documents kept for feedback.",
    "leased": "Documents that somebody is teaching.",
    "waiting_requests": "Requests that wait to be written and learnt.",
    "subscribers": "Watchers of events.",
    "version": "Version of the model.",
    "snapshot_version": "Version of the newest snapshot.",
    "threshold": "Probability above which labels are predicted.",
    "uptime_seconds": "Seconds since the start.",
}
QUALITY = ("macro_f1", "micro_f1", "frequent_f1", "rare_f1")


def exposition(
    registry: CollectorRegistry, metrics: ServiceMetrics, top: Sequence[LabelInfo]
) -> bytes:
    """Encode all metrics for Prometheus, with the most frequent labels only."""
    return bytes(generate_latest(registry)) + bytes(generate_latest(_Moment(metrics, top)))


@dataclass
class _Moment(Collector):
    metrics: ServiceMetrics
    top: Sequence[LabelInfo]

    def collect(self) -> Iterator[Metric]:
        for kind, texts in ((CounterMetricFamily, COUNTERS), (GaugeMetricFamily, GAUGES)):
            for name, text in texts.items():
                yield kind(f"clasher_{name}", text, value=getattr(self.metrics, name))
        text = "Measures based on enough judged documents."
        quality = GaugeMetricFamily("clasher_quality", text, labels=["over", "measure"])
        for over in ("cumulative", "recent"):
            for measure in QUALITY:
                estimate = getattr(getattr(self.metrics, over), measure)
                if estimate.is_enough:
                    quality.add_metric([over, measure], estimate.value)
        yield quality
        text = "Documents of the most frequent labels."
        support = GaugeMetricFamily("clasher_label_support", text, labels=["label"])
        for label in self.top:
            support.add_metric([label.name], label.support)
        yield support
