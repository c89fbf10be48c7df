"""Figures for Prometheus: aggregates and the most frequent labels, never a series for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from clasher.app.server.shapes import Figures
from clasher.service.structs import LabelInfo

COUNTERS = {
    "documents_learned": "Documents learnt.",
    "documents_predicted": "Documents predicted since the start.",
    "documents_taught": "Documents that people spoke of.",
    "awaiting_dropped": "Documents that made room before anybody spoke of them.",
    "log_dropped": "Entries of the log that made room.",
}
GAUGES = {
    "labels": "Labels of the model.",
    "model_bytes": "Bytes of both copies of the model.",
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


def exposition(registry: CollectorRegistry, figures: Figures, top: Sequence[LabelInfo]) -> bytes:
    """Everything as Prometheus reads it."""
    own = CollectorRegistry()
    own.register(_Once(list(_families(figures, top))))
    return bytes(generate_latest(registry)) + bytes(generate_latest(own))


class _Once:
    """Figures of one moment, as a collector."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _families(figures: Figures, top: Sequence[LabelInfo]) -> Iterator[Metric]:
    for name, text in COUNTERS.items():
        yield CounterMetricFamily(f"clasher_{name}", text, value=getattr(figures, name))
    for name, text in GAUGES.items():
        yield GaugeMetricFamily(f"clasher_{name}", text, value=getattr(figures, name))
    quality = GaugeMetricFamily(
        "clasher_quality", "Measures, where there is enough evidence.", labels=["over", "measure"]
    )
    for over in ("cumulative", "recent"):
        for measure in QUALITY:
            estimate = getattr(getattr(figures, over), measure)
            if estimate.is_enough:
                quality.add_metric([over, measure], estimate.value)
    yield quality
    support = GaugeMetricFamily(
        "clasher_label_support", "Documents of the most frequent labels.", labels=["label"]
    )
    for label in top:
        support.add_metric([label.name], label.support)
    yield support
