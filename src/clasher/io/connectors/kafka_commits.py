"""The topic in which runners note what they committed, one transaction for each snapshot.

It is compacted, so that the last word about everything stays for good, unlike the offsets of a
group, which brokers delete when nobody has used it for a while:

    runner/ID                       the number of the last snapshot of a model
    group/NAME/TOPIC/PARTITION      where a group goes on

What is written in a transaction counts when that is committed, with all that is in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from confluent_kafka import (
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from clasher.errors import StreamError, UnreachableError
from clasher.io.connectors.kafka_cluster import ANSWER, Cluster, fetch, has_controller

TOPIC: Final = "clasher-commits"
PARTITION: Final = 0  # of which all is one order, however many others there are
PIECE: Final = 1000  # messages read at a time
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "3600000",  # what is compacted is read soon: only closed segments are
    "min.cleanable.dirty.ratio": "0.1",
}


class Commits:
    """The commits of a cluster.

    Parameters
    ----------
    cluster
        With the topic of the commits.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._is_there = False

    def create(self) -> None:
        """See that the topic is there, and keeps what it should."""
        if self._is_there:
            return
        admin, name = self.cluster.admin(), self.cluster.topic
        with self.cluster.answering(admin.poll):
            # A topic that is asked for by its name may be made, as others are.
            found = admin.list_topics(timeout=ANSWER)
            if not has_controller(found):
                admin.list_topics(name, timeout=ANSWER)
            elif name in found.topics:
                self._check(admin)
            else:
                self._create(admin)
        self._is_there = True

    def _create(self, admin: AdminClient) -> None:
        wanted = NewTopic(self.cluster.topic, 1, replication_factor=-1, config=dict(COMPACTED))
        try:
            admin.create_topics([wanted], request_timeout=ANSWER)[self.cluster.topic].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _check(self, admin: AdminClient) -> None:
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.cluster.topic)
        try:
            found = admin.describe_configs([resource], request_timeout=ANSWER)[resource].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return  # whoever may not ask must believe
            raise
        policy = found["cleanup.policy"].value
        if "compact" not in policy:
            raise StreamError(
                f"{self.cluster.shown}: its cleanup.policy is {policy}, so that it would forget; "
                f"set it to compact, or name another topic with commits="
            )

    def end(self) -> int:
        """Where the topic ends, what is not committed yet included."""
        consumer = self.cluster.consumer(isolation_level="read_uncommitted")
        try:
            with self.cluster.answering(consumer.poll):
                place = TopicPartition(self.cluster.topic, PARTITION)
                ends = consumer.get_watermark_offsets(place, timeout=ANSWER)
        finally:
            consumer.close()
        if ends is None:
            raise UnreachableError(f"{self.cluster.shown}: does not answer")
        return ends[1]

    def read(self) -> Mapping[str, Any]:
        """All that is committed; ``UnreachableError`` where that is not known soon."""
        scan = Scan(self)
        try:
            if not scan.step(ANSWER):
                raise UnreachableError(
                    f"{self.cluster.shown}: waits for the transaction of another runner to end; "
                    f"one that never does is found by kafka-transactions.sh find-hanging"
                )
        finally:
            scan.close()
        return scan.found


class Scan:
    """Reads all commits that there are at this moment, those that are being made included.

    Whatever is in the topic when it begins has an outcome when it is done: committed, or not.

    Attributes
    ----------
    found : dict
        The last word about everything, by key.
    """

    def __init__(self, commits: Commits) -> None:
        commits.create()
        self.found: dict[str, Any] = {}
        self._cluster, self._end = commits.cluster, commits.end()
        self._is_done = self._end == 0
        self._consumer = self._cluster.consumer(
            isolation_level="read_committed", auto_offset_reset="earliest", fetch_wait_max_ms=50
        )
        self._consumer.assign([TopicPartition(self._cluster.topic, PARTITION, 0)])

    def step(self, seconds: float) -> bool:
        """Read on for some seconds at most; whether it is done."""
        until = time.monotonic() + seconds
        while not self._is_done and (left := until - time.monotonic()) > 0:
            self._cluster.check(self._consumer)
            with self._cluster.answering():
                found = fetch(self._consumer, PIECE, left)
            for message in found:
                self._take(message)
        return self._is_done

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is None:
            key, value = message.key(), message.value()
            if key is not None and value is not None:
                self.found[key.decode()] = msgspec.json.decode(value)
        elif error.code() != KafkaError._PARTITION_EOF:
            raise self._cluster.failure(error)
        elif (message.offset() or 0) >= self._end:  # before it, a transaction is still open
            self._is_done = True

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()
