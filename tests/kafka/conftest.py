"""The brokers that tests share: one for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import optional

optional("confluent_kafka", "kafka")

from tests.kafka.brokers import Broker, KafkaServer, MockBroker, is_real  # noqa: E402

_numbers = count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The broker of the client, or with ``make test-kafka`` a real one."""
    folder = tmp_path_factory.mktemp("kafka") / "broker"
    started: Broker = (KafkaServer if is_real() else MockBroker)(folder)
    yield started
    started.stop()


@pytest.fixture
def server(broker: Broker) -> KafkaServer:
    """A real broker."""
    if not isinstance(broker, KafkaServer):
        pytest.skip("needs a Kafka server: make test-kafka")
    return broker


@pytest.fixture
def topic() -> str:
    """The name of a topic that nobody else uses."""
    return f"news-{next(_numbers)}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a flow keeps its model."""
    return tmp_path / "model"
