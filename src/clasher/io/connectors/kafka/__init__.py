"""Kafka topics: read from a position or in a group; written message by message.

Without ``group=`` a runner reads all partitions, and the model alone keeps the position
(``source``); with it, runners share them (``group``). Sinks write at once, or in one transaction
with the snapshot (``transactional``, ``transactions``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clasher.errors import SettingError
from clasher.io.connectors.kafka.cluster import ANSWER, Cluster, check_options
from clasher.io.connectors.kafka.group import KafkaGroupSource
from clasher.io.connectors.kafka.source import TopicSource
from clasher.io.connectors.kafka.transactions import TOPIC, WAITING, Outbox, Parcel, Transactions
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
        check_options(address, ["commits"])
        self.cluster = Cluster(address)
        self.name = f"kafka:{self.cluster.topic}"
        self.commits = address.options.get("commits")
        headers = {
            name.removeprefix(HEADER): value.encode()
            for name, value in address.options.items()
            if name.startswith(HEADER)
        }
        self._parcel = Parcel(self.cluster.topic, list(headers.items()))
        self._outbox: Outbox | None = None
        self._room: int | None = None
        self.transactions: Transactions | None = None

    def join(self, transactions: Transactions) -> None:
        self.party = self.transactions = transactions
        transactions.holds_outputs = True

    def open(self, position: Position, caller: Caller) -> None:
        if self.transactions is not None:
            self.transactions.start(caller)
            return
        self.close()
        producer = self.cluster.producer(message_timeout_ms=0, queue_buffering_max_kbytes=WAITING)
        with self.cluster.answering(producer.poll):
            producer.list_topics(self.cluster.topic, timeout=ANSWER)
        self._outbox = Outbox(self.cluster, producer)

    def write(self, outputs: Sequence[Output]) -> None:
        if self.transactions is not None:
            self.transactions.put(self._parcel, outputs)
            return
        assert self._outbox is not None
        self._outbox.put(self._parcel, outputs)
        self._outbox.check()

    def room(self) -> int | None:
        if self._room is None:
            headers = sum(len(name) + len(value or b"") for name, value in self._parcel.headers)
            self._room = self.cluster.largest_message() - headers - AROUND
        return self._room

    def flush(self) -> Position:
        if self.transactions is not None:
            self.transactions.flush()
            return
        assert self._outbox is not None
        self._outbox.flush()
        self._outbox.check()

    def close(self) -> None:
        if self.transactions is not None:
            self.transactions.close()
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None


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
