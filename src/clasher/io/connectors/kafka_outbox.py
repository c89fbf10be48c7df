"""Messages on their way to a broker, as many as it takes, and no more than may wait."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from clasher.errors import UnreachableError
from clasher.io.connectors.kafka_cluster import (
    ANSWER,
    DENIED,
    NO_TOPIC,
    Cluster,
    raising_fatal_errors,
)
from clasher.io.streams import Output

WAITING: Final = 65_536  # kB of messages that may wait
FOR_GOOD: Final = (KafkaError.MSG_SIZE_TOO_LARGE, *DENIED, *NO_TOPIC)
SERVE: Final = 0.1  # seconds that a wait for room takes at a time

Headers = list[tuple[str, str | bytes | None]]


def is_for_good(error: KafkaError) -> bool:
    """Whether the same message would fail again."""
    return error.code() in FOR_GOOD


class Parcel(NamedTuple):
    """Where outputs go, and with what headers; by default keys decide on partitions."""

    topic: str
    headers: Headers
    partition: int = -1


class Outbox:
    """Hands messages to a producer, in order, each once; none after one that will never come.

    Parameters
    ----------
    cluster
        Where they go, for messages.
    producer
        What sends them.
    """

    def __init__(self, cluster: Cluster, producer: Producer) -> None:
        self.producer = producer
        self._cluster = cluster
        self._given: tuple[Sequence[Output], int] = ((), 0)
        self.failed: KafkaError | None = None
        """Why a message will never come."""

    def put(self, parcel: Parcel, outputs: Sequence[Output]) -> None:
        """Hand over outputs; those that were handed over before are passed over.

        Raises
        ------
        UnreachableError
            No more may wait; to be called again with the same outputs.
        """
        known, start = self._given
        for at in range(start if known is outputs else 0, len(outputs)):
            if not self._put_one(parcel, outputs[at]):
                self._given = outputs, at
                raise UnreachableError(
                    f"{self._cluster.shown}: takes nothing; {len(self.producer):,} messages wait"
                )
        self._given = (), 0
        self._serve(0)

    def _put_one(self, parcel: Parcel, output: Output) -> bool:
        until = time.monotonic() + ANSWER
        while self.failed is None:
            try:
                self.producer.produce(
                    parcel.topic, output.value, str(output.id), parcel.partition,
                    headers=parcel.headers, on_delivery=self._report,
                )  # fmt: skip
            except BufferError:
                self._serve(SERVE)
                if time.monotonic() > until:
                    return False
            except KafkaException as error:
                self._report(error.args[0], None)
            else:
                break
        return True

    def _serve(self, seconds: float) -> None:
        """Hear what became of messages, for some seconds at most."""
        try:
            with raising_fatal_errors():
                self.producer.poll(seconds)
        except KafkaException as error:
            self._report(error.args[0], None)

    def flush(self) -> None:
        """Return when everything is where it belongs, or it is clear that it never will be."""
        left = 0
        try:
            with raising_fatal_errors():
                left = self.producer.flush(ANSWER)
        except KafkaException as error:
            self._report(error.args[0], None)
        if self.failed is None and left:
            raise UnreachableError(f"{self._cluster.shown}: takes nothing; {left:,} messages wait")

    def _report(self, error: KafkaError | None, message: Message | None) -> None:
        if error is not None and self.failed is None:
            self.failed = error

    def check(self) -> None:
        """Raise why a message will never come."""
        if self.failed is not None:
            raise self._cluster.failure(self.failed)

    def close(self) -> None:
        """Let go; what is still on its way is given up."""
        self.producer.purge()
        self._serve(0)
