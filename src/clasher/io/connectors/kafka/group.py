"""A Kafka topic shared by the runners of a group: one of them learns each partition.

The group assigns partitions. The topic of commits (``transactions.Commits``) has their offsets, not
the group itself. A runner commits what it got of partitions before it gives them up; if somebody
else has them already, the commit is refused and the runner goes back to the snapshot before.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from clasher.errors import CommitRefusedError, SettingError, StreamError
from clasher.io.connectors.kafka.source import Merge, TopicSource, places_of
from clasher.io.connectors.kafka.transactions import TOPIC, Claim, Scan, Transactions
from clasher.io.protocol import Caller, Chunk, Position
from clasher.io.records import Fields
from clasher.io.registry import Address

SCAN: Final = 0.5  # seconds of reading commits between two polls of the group
LEAVE: Final = 1.0  # seconds that leaving a group may take
HEAR: Final = 0.1  # seconds until an assignment of partitions is noticed


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
        self.transactions.group = self
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
        self._consumer = self._cluster.consumer(
            isolation_level="read_committed", auto_offset_reset="error", group_id=self._group,
            group_instance_id=caller.id, partition_assignment_strategy="range",
        )  # fmt: skip
        self._topic = self._identify(position)
        self._consumer.subscribe(
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
        """Commit what came of partitions before the group takes them."""
        if not self._is_leaving:
            self._caller.settle()
            self._give_back()

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Note that the group took partitions: what came of them is not ours."""
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
        # A static member does not leave when its consumer closes: the group would wait for the end
        # of its session.
        if self._consumer is not None:
            with suppress(KafkaException, StreamError):
                self._consumer.unsubscribe()
                until = time.monotonic() + LEAVE
                while time.monotonic() < until and self._consumer.assignment():
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
