"""A Kafka topic, read from a position that is kept with the model alone."""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from clasher.errors import StreamError, UnreachableError
from clasher.io.addresses import Address
from clasher.io.connectors.kafka_cluster import ANSWER, Cluster, Topic, check_options, fetch
from clasher.io.connectors.kafka_merging import Merge
from clasher.io.connectors.kafka_messages import Messages
from clasher.io.functions import load_function
from clasher.io.records import Fields
from clasher.io.streams import Caller, Chunk, Poison, Position, Source

READING: Final = ("decoder", "on_loss", "start")
KNOW: Final = 1.0  # seconds in which a broker should say whether there is anything
SILENT: Final = 10.0  # seconds after which a partition that says nothing is told
REFRESH: Final = 30.0  # seconds between two looks for new partitions
HELD: Final = 8_000_000  # bytes of a partition that wait for others; no more are read meanwhile


class TopicSource(Source):
    """Messages of all partitions of a topic, merged by their times (``kafka_merging``).

    Options: ``start=end`` to begin with what comes from now on; ``on_loss=skip`` to go on where
    messages were deleted before they were read; ``decoder=module:function`` for values that are
    not JSON; those of ``kafka_cluster``.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        self._check_options(address)
        self._cluster = Cluster(address)
        self.name, self.fields = f"kafka:{self._cluster.topic}", fields
        self._begins_at_end = address.choice("start", ["beginning", "end"]) == "end"
        self._skips = address.choice("on_loss", ["stop", "skip"]) == "skip"
        decoder = address.options.get("decoder")
        decode = None if decoder is None else load_function(decoder)
        self._messages = Messages(self.name, fields, decode)
        self._consumer: Consumer | None = None
        self._begin(None)

    def _check_options(self, address: Address) -> None:
        check_options(address, READING)

    # ── opening ──────────────────────────────────────────────────────────────────────────────

    def open(self, position: Position, caller: Caller) -> None:
        """Go on with each partition where it was."""
        self.close()
        self._begin(position)
        self._consumer = self._cluster.consumer(
            isolation_level="read_committed", auto_offset_reset="error"
        )
        self._topic = self._identify(position)
        self._take_up(self._topic.partitions, is_new=position is None)
        self._looked_at = time.monotonic()

    def _begin(self, position: Position) -> None:
        self._places = places_of(position)
        self._fetched: dict[int, int] = {}
        self._merge: Merge[Message] = Merge()
        self._paused: set[int] = set()
        self._lost: list[Poison] = []
        self._moved_at = time.monotonic()

    def _identify(self, position: Position) -> Topic:
        """See that it is the topic that was read before."""
        topic = self._cluster.look(self.consumer)
        if position is None:
            return topic
        for what, known, now in (
            ("cluster", position["cluster"], topic.cluster),
            ("topic", position["topic"], topic.id),
        ):
            if known is not None and now is not None and known != now:
                raise StreamError(
                    f"{self._cluster.shown}: is not the {what} that was read before ({known}, and "
                    f"now {now}): where to go on is not known. Begin a new folder with this model "
                    f"(--begin-with), or learn it from its beginning as a new one: --new-stream"
                )
        return topic

    def _take_up(self, partitions: list[int], *, is_new: bool) -> None:
        """Begin to read partitions where they are to be gone on with."""
        for partition in partitions:
            self._places[partition] = self._checked(partition, is_new=is_new)
            self._fetched[partition] = self._places[partition]
            self._merge.begin(partition)
        self._assign([self._at(partition) for partition in partitions])
        self._moved_at = time.monotonic()

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.consumer.incremental_assign(partitions)

    def _at(self, partition: int) -> TopicPartition:
        """Where a partition is fetched next."""
        return TopicPartition(self._cluster.topic, partition, self._fetched[partition])

    def _checked(self, partition: int, *, is_new: bool) -> int:
        """Where to begin; what was deleted meanwhile is an error, or accepted."""
        low, high = self._ends(partition)
        place = self._places.get(partition)
        if place is None:  # a partition that was added to a topic is read from its beginning
            return high if is_new and self._begins_at_end else low
        if place > high:
            raise set_back(self._cluster.shown, partition, place, high)
        if place < low:
            self._note_loss(partition, place, low)
        return max(place, low)

    def _note_loss(self, partition: int, place: int, low: int) -> None:
        what = (
            f"partition {partition} was to be gone on with at {place:,}, and begins at {low:,}: "
            f"messages were deleted before they were read"
        )
        if not self._skips:
            raise StreamError(
                f"{self._cluster.shown}: {what}; keep them for longer (retention.ms), and to go on "
                f"without them, with a dead letter, add the option on_loss=skip"
            )
        self._lost.append(Poison(self.name, f"{partition}:{place}", what))

    def _ends(self, partition: int) -> tuple[int, int]:
        place = TopicPartition(self._cluster.topic, partition)
        with self._cluster.answering():
            ends = self.consumer.get_watermark_offsets(place, timeout=ANSWER)
        if ends is None:
            raise UnreachableError(f"{self._cluster.shown}: partition {partition} does not answer")
        return ends

    @property
    def consumer(self) -> Consumer:
        """The consumer, while it is open."""
        assert self._consumer is not None
        return self._consumer

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next messages."""
        self._cluster.check(self.consumer)
        self._look_around()
        # Whether there is anything is known when the broker has said so, which takes a moment.
        until = time.monotonic() + (seconds if self.knows_end else max(seconds, KNOW))
        wait = 0.0
        while True:
            self._fetch(most, wait)
            taken = self._merge.take(most)
            if taken or self._lost:
                self._make_room()
                return self._deliver(taken)
            wait = until - time.monotonic()
            if wait <= 0 or (not seconds and self.knows_end):
                self._check_silence()
                return None

    @property
    def knows_end(self) -> bool:
        """Whether all partitions were read to their ends."""
        return self._merge.is_at_end

    def _look_around(self) -> None:
        """Take up partitions that were added to the topic."""
        if time.monotonic() - self._looked_at >= REFRESH:
            found = self._cluster.partitions(self.consumer)
            self._take_up([own for own in found if own not in self._fetched], is_new=False)
            self._looked_at = time.monotonic()

    def _fetch(self, most: int, seconds: float) -> None:
        messages = self._poll(most, seconds)
        fetched, add = self._fetched, self._merge.add  # which a poll may change
        for message in messages:
            partition, error = message.partition(), message.error()
            assert partition is not None
            if error is None:
                offset = message.offset() or 0
                if offset >= fetched[partition]:
                    fetched[partition] = offset + 1
                    add(partition, message.timestamp()[1], message, len(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                self._merge.end(partition)
            else:
                self._judge(error, partition)

    def _poll(self, most: int, seconds: float) -> list[Message]:
        with self._cluster.answering():
            return fetch(self.consumer, most, seconds)

    def _judge(self, error: KafkaError, partition: int) -> None:
        """What went wrong with a partition."""
        if error.code() != KafkaError._AUTO_OFFSET_RESET:
            raise self._cluster.failure(error)
        low, high = self._ends(partition)
        if not self._fetched[partition] < low:
            raise set_back(self._cluster.shown, partition, self._fetched[partition], high)
        self._note_loss(partition, self._fetched[partition], low)
        self._fetched[partition], self._paused = low, set()
        self.consumer.assign([self._at(own) for own in self._fetched])

    def _make_room(self) -> None:
        """Read no more of a partition of which much waits for the others."""
        if len(self._fetched) == 1:
            return
        full = {own for own, size in self._merge.held.items() if size > HELD}
        empty = {own for own in self._paused if self._merge.held[own] < HELD // 2}
        if new := full - self._paused:
            self.consumer.pause([self._at(own) for own in new])
        if empty:
            self.consumer.resume([self._at(own) for own in empty])
        self._paused = (self._paused | new) - empty

    def _deliver(self, taken: list[Message]) -> Chunk:
        self._moved_at = time.monotonic()
        lost, self._lost = self._lost, []
        for partition, last in {message.partition(): message for message in taken}.items():
            self._places[partition or 0] = (last.offset() or 0) + 1
        position = {
            "cluster": self._topic.cluster,
            "topic": self._topic.id,
            "next": {str(own): place for own, place in sorted(self._places.items())},
        }
        return self._messages.chunk(taken, position, lost)

    def _check_silence(self) -> None:
        silent = sorted(self._merge.awaited)
        if silent and time.monotonic() - self._moved_at > SILENT:
            listed = ", ".join(map(str, silent))
            raise UnreachableError(f"{self._cluster.shown}: nothing comes of partition {listed}")

    def lag(self) -> int | None:
        """How many messages are there beyond those that were delivered."""
        if self._consumer is None or self._merge.is_at_end:
            return 0
        ends = [
            self._consumer.get_watermark_offsets(self._at(p), cached=True) for p in self._fetched
        ]
        pairs = zip(self._fetched, ends, strict=True)
        return sum(max(0, end[1] - self._places[own]) for own, end in pairs if end is not None)

    def close(self) -> None:
        """Let go of the connections."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def identity(self) -> str | None:
        """Return the ids of the cluster and of the topic."""
        topic = self._look()
        return f"{topic.cluster} {topic.id or ''}"

    def same(self, identity: str) -> bool:
        """Tell whether the ids are those that were kept; a topic without an id is known by name."""
        cluster, _, own = identity.partition(" ")
        topic = self._look()
        return cluster == topic.cluster and (not own or topic.id in (None, own))

    def _look(self) -> Topic:
        consumer = self._cluster.consumer()
        try:
            return self._cluster.look(consumer)
        finally:
            consumer.close()


def places_of(position: Position) -> dict[int, int]:
    """Where partitions are to be gone on with, as a position says.

    >>> places_of({"next": {"0": 17}})
    {0: 17}
    """
    return {} if position is None else {int(own): at for own, at in position["next"].items()}


def set_back(shown: str, partition: int, known: int, high: int) -> StreamError:
    """The one sentence for a topic that has less than was read of it."""
    return StreamError(
        f"{shown}: was set back: partition {partition} was read as far as {known:,}, and ends at "
        f"{high:,} now. Restore it, or begin a new folder with this model: --begin-with"
    )
