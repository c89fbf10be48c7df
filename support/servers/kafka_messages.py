"""Put messages into topics, and read them back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.servers.kafka import Broker

PATIENCE = 30.0  # seconds


def admin(broker: Broker) -> AdminClient:
    """Make a client that creates topics; keep it until it has answered."""
    return AdminClient({"bootstrap.servers": broker.servers, "log_level": 0})


def create(
    broker: Broker, topic: str, partitions: int = 1, config: dict[str, str] | None = None
) -> None:
    """Create a topic; the mock broker makes its own, with four partitions."""
    client = admin(broker)
    if broker.is_real:
        wanted = NewTopic(topic, partitions, replication_factor=1, config=config or {})
        client.create_topics([wanted])[topic].result(PATIENCE)
    else:
        client.list_topics(topic, PATIENCE)


def fill(
    broker: Broker,
    topic: str,
    values: Iterable[Any],
    partition: int = 0,
    times: Iterable[int] | None = None,
) -> None:
    """Send values, one millisecond apart or at given times; objects become JSON."""
    # One request at a time: a new topic may refuse the first, which must not come last.
    producer = Producer({"bootstrap.servers": broker.servers, "linger.ms": 2, "max.in.flight": 1})
    for value, at in zip(values, count() if times is None else times, strict=False):
        raw = msgspec.json.encode(value) if isinstance(value, dict) else value
        producer.produce(topic, raw, partition=partition, timestamp=at + 1)
    assert producer.flush(PATIENCE) == 0


def found(broker: Broker, topic: str, isolation: str = "read_committed") -> list[Any]:
    """Return all messages of a topic, partition by partition."""
    consumer = Consumer(
        {"bootstrap.servers": broker.servers, "group.id": "looking", "isolation.level": isolation,
         "enable.partition.eof": True, "enable.auto.commit": False, "fetch.wait.max.ms": 20}
    )  # fmt: skip
    try:
        partitions = sorted(consumer.list_topics(topic, PATIENCE).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, own, OFFSET_BEGINNING) for own in partitions])
        return _read(consumer, partitions)
    finally:
        consumer.close()


def _read(consumer: Consumer, partitions: Sequence[int]) -> list[Any]:
    messages: dict[int, list[Any]] = {own: [] for own in partitions}
    ended: set[int] = set()
    until = time.monotonic() + PATIENCE
    while len(ended) < len(partitions) and time.monotonic() < until:
        for message in consumer.consume(1000, 0.05):
            error, own = message.error(), message.partition()
            if error is None:
                messages[own].append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(own)
            else:
                raise RuntimeError(str(error))
    return [message for own in partitions for message in messages[own]]


def outputs(broker: Broker, topic: str) -> list[dict[str, Any]]:
    """Return the committed outputs of a topic."""
    return [msgspec.json.decode(message.value()) for message in found(broker, topic)]
