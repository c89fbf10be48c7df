"""The brokers that tests share: one for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from support.environment import optional

optional("confluent_kafka", "kafka")

from support.servers.kafka import Broker, KafkaServer, MockBroker, is_real  # noqa: E402

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
    """A real broker; tests that need one are those of ``make test-kafka`` alone."""
    assert isinstance(broker, KafkaServer)
    return broker


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests for the other broker, which has a run of its own."""
    others = [item for item in items if _needs_other(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def _needs_other(item: pytest.Item) -> bool:
    if is_real():
        return item.get_closest_marker("mock") is not None
    here = item.path.is_relative_to(Path(__file__).parent)
    return here and "server" in getattr(item, "fixturenames", ())


@pytest.fixture
def topic() -> str:
    """The name of an unused topic."""
    return f"news-{next(_numbers)}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a flow."""
    return tmp_path / "model"
