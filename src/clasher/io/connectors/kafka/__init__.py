"""Kafka topics: read from a position or in a group; written message by message.

Without ``group=`` a runner reads all partitions; with it, runners share them (``source``). Sinks
write at once, or in one transaction with the snapshot (``transactional``, ``transactions``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clasher.errors import SettingError
from clasher.io.connectors.kafka.cluster import ANSWER, Cluster
from clasher.io.connectors.kafka.source import KafkaGroupSource, TopicSource
from clasher.io.connectors.kafka.transactions import TOPIC, WAITING, Outbox, Transactions
from clasher.io.protocol import Caller, Output, Position, Sink, Source
from clasher.io.records import Fields
from clasher.io.registry import Address

HEADER: Final = "header."
AROUND: Final = 2048  # bytes of a message for its key and its share of the batch


def kafka_source(address: Address, fields: Fields) -> Source:
    """Make a source of a topic, or of the group that the address names."""
    return (KafkaGroupSource if "group" in address.options else TopicSource)(address, fields)


class KafkaSink(Sink):
    """Writes a message for each output: a JSON text, with the id of the document as its key.

    Options: ``header.NAME=VALUE`` adds a header to each message; ``commits=`` names the topic of
    commits of transactions; and those of ``Cluster``.
    """

    def __init__(self, address: Address) -> None:
        self.cluster = Cluster(address, "commits")
        self.name = f"kafka:{self.cluster.topic}"
        self.commits = address.options.get("commits")
        self._headers = [
            (name.removeprefix(HEADER), value.encode())
            for name, value in address.options.items()
            if name.startswith(HEADER)
        ]
        self._way: Outbox | Transactions | None = None
        self._room: int | None = None

    def join(self, transactions: Transactions) -> None:
        self.party = self._way = transactions
        transactions.holds_outputs = True

    def open(self, position: Position, caller: Caller) -> None:
        if isinstance(self._way, Transactions):
            self._way.start(caller)
            return
        self.close()
        producer = self.cluster.producer(message_timeout_ms=0, queue_buffering_max_kbytes=WAITING)
        with self.cluster.answering(producer.poll):
            producer.list_topics(self.cluster.topic, timeout=ANSWER)
        self._way = Outbox(self.cluster, producer, raises=True)

    def write(self, outputs: Sequence[Output]) -> None:
        assert self._way is not None
        self._way.put(outputs, topic=self.cluster.topic, headers=self._headers)

    def room(self) -> int | None:
        if self._room is None:
            headers = sum(len(name) + len(value) for name, value in self._headers)
            self._room = self.cluster.largest_message() - headers - AROUND
        return self._room

    def flush(self) -> Position:
        assert self._way is not None
        self._way.flush()

    def close(self) -> None:
        if self._way is not None:
            self._way.close()
        if self.party is None:
            self._way = None


def transactional(documents: Source, sinks: Sequence[Sink]) -> None:
    """Have the Kafka sinks of a flow, and its source if it is in a group, commit as one."""
    kafka = [sink for sink in sinks if isinstance(sink, KafkaSink)]
    if not kafka:
        raise SettingError("transactions need a Kafka sink: write to kafka://broker/topic")
    named = {sink.commits for sink in kafka if sink.commits is not None}
    if isinstance(documents, KafkaGroupSource):
        transactions = documents.transactions
        named.add(transactions.cluster.topic)
    else:
        transactions = Transactions(kafka[0].cluster.beside(next(iter(named), TOPIC)))
    if len(named) > 1:
        raise SettingError(f"commits= names several topics: {', '.join(sorted(named))}; say one")
    for sink in kafka:
        transactions.cluster.agree(sink.cluster)
        sink.join(transactions)
