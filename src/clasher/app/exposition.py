"""The figures of a flow for Prometheus, at a port of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from clasher.errors import MissingExtraError, SettingError
from clasher.flow import Figures

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
except ImportError as error:
    raise MissingExtraError.of("--metrics", "metrics") from error

LOOPBACK: Final = "127.0.0.1"
COUNTERS: Final = {
    "documents": "Documents predicted and learnt since the folder was made.",
    "labelled": "Documents that came with labels.",
    "joined": "Documents whose labels came later.",
    "poison": "Arrivals that went to the dead letters.",
    "duplicates": "Arrivals that had come before.",
    "unmatched": "Labels whose document did not come in time.",
    "refused": "Commits of this run that another party refused.",
    "troubles": "How often a stream did not answer, or answered again, in this run.",
}
GAUGES: Final = {
    "lag": "Arrivals that wait in the source.",
    "documents_per_second": "Over the last ten seconds.",
    "waiting": "Documents that wait for their labels.",
    "early": "Labels that wait for their documents.",
    "labels": "Labels of the model.",
    "judged": "Documents whose labels came, among the last 8,000.",
    "micro_f1": "Micro F1 of these.",
    "macro_f1": "Macro F1 of these.",
    "snapshot": "The number of the last snapshot.",
    "snapshot_seconds": "How long it took.",
}


@contextmanager
def exposed(read: Callable[[], Figures], port: int) -> Iterator[str]:
    """Answer Prometheus while the block lasts; the URL."""
    registry = CollectorRegistry()
    registry.register(_Collector(read))
    try:
        server, thread = start_http_server(port, LOOPBACK, registry)
    except OSError as error:
        raise SettingError(f"--metrics {port}: {error.strerror}; name another port") from error
    try:
        yield f"http://{LOOPBACK}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Collector:
    """Figures of the moment in which they are asked for."""

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        figures = self._read()
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"clasher_run_{name}", text, value=getattr(figures, name))
        for name, text in GAUGES.items():
            value = getattr(figures, name)
            if value is not None:
                yield GaugeMetricFamily(f"clasher_run_{name}", text, value=value)
