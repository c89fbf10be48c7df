"""A Kafka topic, read alone or with the other runners of a group.

A message is JSON, or is decoded by the user's decoder. The fields ``kafka.key``,
``kafka.headers.NAME``, ``kafka.timestamp``, ``kafka.partition`` and ``kafka.offset`` are those of
the message, not of its value (``--id kafka.key``); ``kafka.value`` is the value as plain text.

Partitions are merged in an order that depends on them alone: next is the message with the earliest
time among the first ones of all partitions; of equals, that of the lower partition. The merge waits
for a partition whose next message is unknown, but not for an empty one. So a backlog is read in the
same order every time, from any position.

Without a group, the model alone keeps the position. A group assigns each partition to one of its
runners; the topic of commits (``transactions.Commits``) keeps the offsets, not the group itself. A
runner commits messages of partitions before it gives them up; if another runner already has them,
the commit is refused and the runner goes back to the snapshot before.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from heapq import heappop, heappush, heapreplace
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from clasher.errors import CommitRefusedError, SettingError, StreamError, UnreachableError
from clasher.io.connectors.kafka.cluster import ANSWER, Cluster, Topic
from clasher.io.connectors.kafka.transactions import TOPIC, Claim, Scan, Transactions
from clasher.io.formats import Value
from clasher.io.jsonl import Decoder, decode_object
from clasher.io.protocol import Caller, Chunk, Poison, Position, Source, set_back
from clasher.io.records import FaultError, Fields, invalid_utf8
from clasher.io.registry import Address, load_function

ABOUT: Final = "kafka"
VALUE: Final = "kafka.value"


class Messages:
    """Turns messages into chunks; ``decode`` makes an object of bytes that are not JSON."""

    def __init__(
        self, source: str, fields: Fields, decode: Callable[[bytes], Any] | None = None
    ) -> None:
        self._decoder = Decoder(source, fields)
        self._decode = decode
        wanted = [fields.text or "", fields.labels, fields.id or ""]
        self._looks_at_message = any(name.startswith(f"{ABOUT}.") for name in wanted)
        self._is_text = VALUE in wanted

    def chunk(self, messages: list[Message], position: Position, lost: list[Poison]) -> Chunk:
        values = [self._value(message) for message in messages]
        places = [f"{message.partition()}:{message.offset()}" for message in messages]
        chunk = self._decoder.chunk(values, places, position)
        if not chunk.poison and not lost:
            return chunk
        raw = dict(zip(places, messages, strict=True))  # of the message, not of the decoded object
        poison = [one._replace(raw=raw[str(one.place)].value()) for one in chunk.poison]
        return Chunk(chunk.records, position, [*lost, *poison])

    def _value(self, message: Message) -> Value:
        raw = message.value()
        if raw is None:
            return FaultError("it has no value (a tombstone for its key)")
        if self._decode is None and not self._looks_at_message:
            return raw
        found: Mapping[str, Any] = {}
        if self._decode is not None:
            try:
                found = self._decode(raw)
            except Exception as error:  # a decoder may raise anything
                return FaultError(f"the decoder: {type(error).__name__}: {error}")
            if not isinstance(found, Mapping):
                return FaultError(f"the decoder returned a {type(found).__name__}, not a mapping")
        try:
            if self._decode is None and not self._is_text:
                found = decode_object(raw)
            about: dict[str, Any] = {"value": raw.decode()} if self._is_text else {}
        except FaultError as fault:
            return fault
        except UnicodeDecodeError:
            return invalid_utf8(raw)
        if not self._looks_at_message:
            return found
        headers: Any = message.headers() or []
        about |= {
            "partition": message.partition(), "offset": message.offset(),
            "timestamp": message.timestamp()[1], "key": _text(message.key()),
            "headers": {name: _text(value) for name, value in headers},
        }  # fmt: skip
        return {**found, ABOUT: about}


def _text(raw: bytes | str | None) -> str | None:
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw


def kafka_source(address: Address, fields: Fields) -> Source:
    """Make a source of a topic, or of the group that the address names."""
    return (KafkaGroupSource if "group" in address.options else TopicSource)(address, fields)


class Merge:
    """Merges partitions in the order of time."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[tuple[int, int, Any]]] = {}  # time, size, item
        self._heads: list[tuple[int, int]] = []  # time and partition of the first in each
        self._ended: set[int] = set()
        self.awaited: set[int] = set()  # partitions whose next message is unknown
        self.held: dict[int, int] = {}  # bytes that wait, by partition

    def begin(self, partition: int) -> None:
        self._waiting[partition] = deque()
        self.held[partition] = 0
        self.awaited.add(partition)

    def add(self, partition: int, time: int, item: Any, size: int = 0) -> None:
        waiting = self._waiting[partition]
        if not waiting:
            heappush(self._heads, (time, partition))
            self.awaited.discard(partition)
        waiting.append((time, size, item))
        self._ended.discard(partition)
        self.held[partition] += size

    def end(self, partition: int) -> None:
        self._ended.add(partition)
        self.awaited.discard(partition)

    @property
    def is_at_end(self) -> bool:
        return not self._heads and not self.awaited

    def take(self, most: int) -> list[Any]:
        taken: list[Any] = []
        while self._heads and not self.awaited and len(taken) < most:
            partition = self._heads[0][1]
            waiting = self._waiting[partition]
            _, size, item = waiting.popleft()
            taken.append(item)
            self.held[partition] -= size
            if waiting:
                heapreplace(self._heads, (waiting[0][0], partition))
            else:
                heappop(self._heads)
                if partition not in self._ended:
                    self.awaited.add(partition)
        return taken


KNOW: Final = 1.0  # seconds for a broker to say whether there is anything
SILENT: Final = 10.0  # seconds after which a silent partition is reported
REFRESH: Final = 30.0  # seconds between two looks for new partitions
HELD: Final = 8_000_000  # bytes of a partition that wait for others before it is paused
SCAN: Final = 0.5  # seconds of reading commits between two polls of the group
LEAVE: Final = 1.0  # seconds that leaving a group may take
HEAR: Final = 0.1  # seconds until an assignment of partitions is noticed


class TopicSource(Source):
    """Messages of all partitions of a topic, merged by time.

    Options: ``start=end`` begins with messages that arrive from now on; ``on_loss=skip`` goes on if
    messages were deleted before they were read; ``decoder=module:function`` decodes values that are
    not JSON; and those of ``Cluster``.
    """

    options: tuple[str, ...] = ("decoder", "on_loss", "start")

    def __init__(self, address: Address, fields: Fields) -> None:
        self._cluster = Cluster(address, *self.options)
        self.name, self.fields = f"kafka:{self._cluster.topic}", fields
        self._begins_at_end, self._skips = address.begins_at_end, address.skips_losses
        decoder = address.options.get("decoder")
        decode = None if decoder is None else load_function(decoder)
        self._messages = Messages(self.name, fields, decode)
        self.consumer: Any = None
        self._begin(None)

    def open(self, position: Position, caller: Caller) -> None:
        self.close()
        self._begin(position)
        self.consumer = self._cluster.consumer(
            isolation_level="read_committed", auto_offset_reset="error"
        )
        self._topic = self._identify(position)
        self._take_up(self._topic.partitions, is_new=position is None)
        self._looked_at = time.monotonic()

    def _begin(self, position: Position) -> None:
        self._places = places_of(position)
        self._fetched: dict[int, int] = {}
        self._merge = Merge()
        self._paused: set[int] = set()
        self._lost: list[Poison] = []
        self._moved_at = time.monotonic()

    def _identify(self, position: Position) -> Topic:
        topic = self._cluster.look(self.consumer)
        if position is None:
            return topic
        for what, now in (("cluster", topic.cluster), ("topic", topic.id)):
            known = position[what]
            if known is not None and now is not None and known != now:
                raise StreamError(
                    f"{self._cluster.shown}: this is not the {what} read before ({known}, now "
                    f"{now}), so its offsets are unknown. Begin a new folder with this model "
                    f"(--initial-model), or add --new-stream to learn it from the beginning"
                )
        return topic

    def _take_up(self, partitions: list[int], *, is_new: bool) -> None:
        at_end = is_new and self._begins_at_end
        for partition in partitions:
            place = self._kept(partition, self._places.get(partition), at_end=at_end)
            self._places[partition] = self._fetched[partition] = place
            self._merge.begin(partition)
        self._assign([self._at(partition) for partition in partitions])
        self._moved_at = time.monotonic()

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.consumer.incremental_assign(partitions)

    def _at(self, partition: int) -> TopicPartition:
        return TopicPartition(self._cluster.topic, partition, self._fetched[partition])

    def _kept(
        self, partition: int, place: int | None, *, at_end: bool = False, is_refused: bool = False
    ) -> int:
        """Return the offset to continue at; raise or note a loss if messages were deleted."""
        shown, where = self._cluster.shown, TopicPartition(self._cluster.topic, partition)
        with self._cluster.answering():
            ends = self.consumer.get_watermark_offsets(where, timeout=ANSWER)
        if ends is None:
            raise UnreachableError(f"{shown}: partition {partition} does not answer")
        low, high = map(int, ends)
        if place is None:  # a new partition is read from its beginning
            return high if at_end else low
        if place > high or (is_refused and place >= low):
            raise set_back(f"{shown}, partition {partition}", f"{place:,}", f"{high:,}")
        if place < low:
            self._note_loss(partition, place, low)
        return max(place, low)

    def _note_loss(self, partition: int, place: int, low: int) -> None:
        what = f"messages {place:,} to {low - 1:,} of partition {partition} were deleted unread"
        if not self._skips:
            raise StreamError(
                f"{self._cluster.shown}: {what}; keep them for longer (retention.ms), or add the "
                f"option on_loss=skip to continue without them, with a dead letter"
            )
        self._lost.append(Poison(self.name, f"{partition}:{place}", what))

    def read(self, most: int, seconds: float) -> Chunk | None:
        self._cluster.check(self.consumer)
        self._look_around()
        # It takes a moment until the broker says whether there is anything.
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
                break
        silent = ", ".join(map(str, sorted(self._merge.awaited)))
        if silent and time.monotonic() - self._moved_at > SILENT:
            raise UnreachableError(
                f"{self._cluster.shown}: nothing arrives from partition {silent}"
            )
        return None

    @property
    def knows_end(self) -> bool:
        return self._merge.is_at_end

    def _look_around(self) -> None:
        if time.monotonic() - self._looked_at >= REFRESH:
            found = self._cluster.partitions(self.consumer)
            self._take_up([own for own in found if own not in self._fetched], is_new=False)
            self._looked_at = time.monotonic()

    def _fetch(self, most: int, seconds: float) -> None:
        messages = self._poll(most, seconds)
        fetched, add = self._fetched, self._merge.add  # a poll may replace them
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
        return self._cluster.fetch(self.consumer, most, seconds)

    def _judge(self, error: KafkaError, partition: int) -> None:
        if error.code() != KafkaError._AUTO_OFFSET_RESET:
            raise self._cluster.failure(error)
        place = self._kept(partition, self._fetched[partition], is_refused=True)
        self._fetched[partition], self._paused = place, set()
        self.consumer.assign([self._at(own) for own in self._fetched])

    def _make_room(self) -> None:
        """Pause partitions with many bytes that wait for others."""
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
        places = {str(own): place for own, place in sorted(self._places.items())}
        position = {"cluster": self._topic.cluster, "topic": self._topic.id, "next": places}
        return self._messages.chunk(taken, position, lost)

    def lag(self) -> int | None:
        if self.consumer is None or self._merge.is_at_end:
            return 0
        left = 0
        for own in list(self._fetched):
            ends = self.consumer.get_watermark_offsets(self._at(own), cached=True)
            left += 0 if ends is None else max(0, ends[1] - self._places[own])
        return left

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
            self.consumer = None

    def identity(self) -> str | None:
        topic = self._look()
        return f"{topic.cluster} {topic.id or ''}"

    def same(self, identity: str) -> bool:
        cluster, _, own = identity.partition(" ")
        topic = self._look()
        return cluster == topic.cluster and (not own or topic.id in (None, own))

    def _look(self) -> Topic:
        with closing(self._cluster.consumer()) as consumer:
            return self._cluster.look(consumer)


class KafkaGroupSource(TopicSource):
    """The partitions that a group assigns to this runner; each model folder is a static member.

    A runner that is killed and restarts within the session gets its partitions back at once. One
    that stops leaves the group.

    Options: ``group=`` its name; ``commits=`` the topic of commits; and those of ``TopicSource``.
    """

    options = (*TopicSource.options, "commits", "group")

    def __init__(self, address: Address, fields: Fields) -> None:
        super().__init__(address, fields)
        self._group = address.options["group"]
        if not self._group:
            raise SettingError(f"{address.shown}: group= must name a group")
        commits = self._cluster.beside(address.options.get("commits", TOPIC))
        self.party = self.transactions = Transactions(commits)
        self.transactions.claim, self.transactions.settled = self.claim, self.settled
        self._committed: dict[int, int] | None = None
        self._given: list[int] | None = None
        self._generation: Any = None
        self._scan: Scan | None = None
        self._changes = 0
        self._is_leaving = self._is_lost = False

    def open(self, position: Position, caller: Caller) -> None:
        self._let_go()
        self._begin(position)
        self._caller, self._is_new = caller, position is None
        self._committed, self._generation = dict(self._places), None
        self._is_leaving = self._is_lost = False
        self.consumer = self._cluster.consumer(
            isolation_level="read_committed", auto_offset_reset="error", group_id=self._group,
            group_instance_id=caller.id, partition_assignment_strategy="range",
        )  # fmt: skip
        self._topic = self._identify(position)
        self.consumer.subscribe(
            [self._cluster.topic],
            on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost,
        )  # fmt: skip

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._is_leaving:  # called while the consumer closes
            return
        consumer.assign([])
        self._generation = consumer.consumer_group_metadata()
        self._given = sorted(one.partition for one in partitions)
        self._changes += 1

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Commit everything read from partitions before the group reassigns them."""
        if not self._is_leaving:
            self._caller.settle()
            self._give_back()

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Note that the group reassigned partitions; their uncommitted messages are not ours."""
        self._is_lost = self._places != self._committed
        self._give_back()

    def _give_back(self) -> None:
        self._fetched, self._merge, self._paused = {}, Merge(), set()
        self._forget_scan()
        self._given = None
        self._changes += 1

    def _forget_scan(self) -> None:
        if self._scan is not None:
            self._scan.close()
            self._scan = None

    def read(self, most: int, seconds: float) -> Chunk | None:
        chunk = super().read(most, seconds)
        if self._is_lost:
            raise self._refused()
        return chunk

    def _refused(self) -> CommitRefusedError:
        what = f"the group {self._group!r} gave the partitions to others"
        return CommitRefusedError(f"{self._cluster.shown}: {what}")

    def _fetch(self, most: int, seconds: float) -> None:
        super()._fetch(most, seconds)
        if self._given is not None and self._find_places(self._given):
            self._given = None

    def _find_places(self, partitions: list[int]) -> bool:
        """Find the offsets of partitions, after open transactions of others have ended."""
        if self._scan is None:
            self._scan = Scan(self.transactions.commits)
        if not self._scan.step(SCAN):
            return False
        for own in partitions:
            note = self._scan.found.get(self._key(own))
            if note is not None:
                self._places[own] = max(note["next"], self._places.get(own, 0))
        self._take_up(partitions, is_new=self._is_new)
        self._committed = dict(self._places)
        self._forget_scan()
        return True

    @property
    def knows_end(self) -> bool:
        return self._generation is not None and self._given is None and super().knows_end

    def _poll(self, most: int, seconds: float) -> list[Message]:
        changes = self._changes
        # A poll does not return for an assignment, only for messages.
        found = super()._poll(most, seconds if self._fetched else min(seconds, HEAR))
        # Messages that came with a new assignment may be of partitions that are not ours.
        return found if changes == self._changes else []

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.consumer.assign(partitions)

    def _look_around(self) -> None:
        """Do nothing: the group assigns new partitions."""

    def _judge(self, error: KafkaError, partition: int) -> None:
        if error.code() != KafkaError._MAX_POLL_EXCEEDED:  # ``_on_lost`` is called too
            super()._judge(error, partition)

    def close(self) -> None:
        self._is_leaving = True
        # A static member does not leave by closing: the group would wait for its session to end.
        if self.consumer is not None:
            with suppress(KafkaException, StreamError):
                self.consumer.unsubscribe()
                until = time.monotonic() + LEAVE
                while time.monotonic() < until and self.consumer.assignment():
                    self._poll(1, HEAR)
                self._poll(1, HEAR)  # sends the request
        self._let_go()
        self.transactions.close()

    def _let_go(self) -> None:
        self._is_leaving = True
        self._forget_scan()
        super().close()

    def claim(self, position: Position) -> Claim | None:
        if self._committed is None:
            return None  # nothing was read yet
        places = places_of(position)
        moved = {own: place for own, place in places.items() if self._committed.get(own) != place}
        if not moved:
            return None
        if self._is_lost or not moved.keys() <= self._fetched.keys():
            raise self._refused()
        notes = {self._key(own): {"next": at} for own, at in moved.items()}
        offsets = [TopicPartition(self._cluster.topic, own, at) for own, at in moved.items()]
        return Claim(notes, offsets, self._generation)

    def settled(self, position: Position) -> None:
        if self._committed is not None:
            self._committed = self._committed | places_of(position)

    def _key(self, partition: int) -> str:
        return f"group/{self._group}/{self._cluster.topic}/{partition}"


def places_of(position: Position) -> dict[int, int]:
    """Return the next offset of each partition."""
    return {} if position is None else {int(own): at for own, at in position["next"].items()}
