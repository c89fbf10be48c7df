"""A Kafka broker on loopback, and loops that only read a topic of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from clasher.io.connectors.kafka.cluster import QUEUE
from support.servers.kafka import KafkaServer
from support.servers.kafka_messages import create

READ = 4000  # messages at a time
PARTITIONS = 4
PATIENCE = 60.0  # seconds


@contextmanager
def started(here: Path) -> Iterator[KafkaServer]:
    """A broker with all that Java has to be fast."""
    server = KafkaServer(here / "kafka", java=["java", "-Xmx2g"])
    try:
        yield server
    finally:
        server.stop()


def fill(broker: KafkaServer, topic: str, lines: Sequence[bytes]) -> None:
    """Messages in all partitions, in turn."""
    create(broker, topic, PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.servers, "linger.ms": 20})
    for number, line in enumerate(lines):
        while True:
            try:
                producer.produce(topic, line, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(PATIENCE):
        raise SystemExit("the broker does not take the documents")


def read(
    broker: KafkaServer, topic: str, documents: int, decode: Callable[[bytes], object]
) -> float:
    """Seconds of a loop that reads and decodes all values from the beginning."""
    start = time.perf_counter()
    consumer = _consumer(broker, "bare")
    consumer.assign([TopicPartition(topic, own, 0) for own in range(PARTITIONS)])
    _read(consumer, documents, decode)
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def read_as_group(
    broker: KafkaServer, topic: str, documents: int, group: str, decode: Callable[[bytes], object]
) -> float:
    """Seconds of a loop that joins a group, reads and decodes all values, commits its offsets."""
    start = time.perf_counter()
    consumer = _consumer(broker, group)
    consumer.subscribe([topic])
    _read(consumer, documents, decode)
    consumer.commit(asynchronous=False)
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def _consumer(broker: KafkaServer, group: str) -> Consumer:
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.servers, "group.id": group, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "fetch.queue.backoff.ms": QUEUE,
    }  # fmt: skip
    return Consumer(settings)


def _read(consumer: Consumer, documents: int, decode: Callable[[bytes], object]) -> None:
    seen, until = 0, time.monotonic() + PATIENCE
    while seen < documents:
        values = [message.value() for message in consumer.consume(READ, 0.1)]
        seen += len(list(map(decode, values)))
        if time.monotonic() > until:
            raise SystemExit(f"{seen:,} of {documents:,} messages came")
