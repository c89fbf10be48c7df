"""A Kafka topic, shared by the runners of a group: each partition is learnt by one of them.

Who gets which partitions is up to the group. Where a partition is gone on with is not said by the
offsets of the group but by the topic of commits (``kafka_commits``). Before partitions are given
up, all that was delivered of them is committed; a commit is refused where they are somebody
else's by then, and the runner goes back to the snapshot before.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from clasher.errors import CommitRefusedError, SettingError, StreamError
from clasher.io.connectors.kafka.cluster import check_options
from clasher.io.connectors.kafka.source import READING, Merge, TopicSource, places_of
from clasher.io.connectors.kafka.transactions import TOPIC, Claim, Scan, Transactions
from clasher.io.protocol import Caller, Chunk, Position
from clasher.io.records import Fields
from clasher.io.registry import Address

SCAN: Final = 0.5  # seconds for which commits are read before the group is listened to again
LEAVE: Final = 1.0  # seconds that leaving a group may take
HEAR: Final = 0.1  # seconds after which it is noticed that the group has given partitions
JOINING: Final = ("commits", "group")


class GroupSource(TopicSource):
    """The partitions that a group gives to this runner; each model folder is a member for good.

    One that is killed and starts again within the session gets its partitions back at once. One
    that stops leaves the group.

    Options: ``group=`` its name; ``commits=`` the topic of the commits; those of ``kafka_topic``.
    """

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

    def _check_options(self, address: Address) -> None:
        check_options(address, [*READING, *JOINING])

    # ── opening, and what the group says ─────────────────────────────────────────────────────

    def open(self, position: Position, caller: Caller) -> None:
        """Join the group, as the member that this folder was before."""
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
        """The group gives us partitions; where to go on with them is yet to be found out."""
        if self._is_leaving:  # heard of while the consumer closes
            return
        consumer.assign([])
        self._generation = consumer.consumer_group_metadata()
        self._given = sorted(one.partition for one in partitions)
        self._changes += 1

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group asks for its partitions: all that came of them is committed first."""
        if not self._is_leaving:
            self._caller.settle()
            self._give_back()

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The group has taken its partitions: what came of them is not ours."""
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

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next messages of the partitions that are ours."""
        chunk = super().read(most, seconds)
        if self._is_lost:
            raise CommitRefusedError(
                f"{self._cluster.shown}: the group {self._group!r} gave the partitions to others"
            )
        return chunk

    def _fetch(self, most: int, seconds: float) -> None:
        super()._fetch(most, seconds)
        if self._given is not None and self._find_places(self._given):
            self._given = None

    def _find_places(self, partitions: list[int]) -> bool:
        """Find out where to go on with partitions; what others have begun must end first."""
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
        """Whether all partitions were read to their ends."""
        return self._generation is not None and self._given is None and super().knows_end

    def _poll(self, most: int, seconds: float) -> list[Message]:
        changes = self._changes
        # A poll does not return when the group gives partitions, only when something comes of them.
        found = super()._poll(most, seconds if self._fetched else min(seconds, HEAR))
        # What came while partitions were given or taken may be of those that are not ours.
        return found if changes == self._changes else []

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.consumer.assign(partitions)

    def _look_around(self) -> None:
        """Partitions that are added to a topic are given by the group."""

    def _judge(self, error: KafkaError, partition: int) -> None:
        if error.code() != KafkaError._MAX_POLL_EXCEEDED:  # of which ``_on_lost`` hears too
            super()._judge(error, partition)

    def close(self) -> None:
        """Leave the group, so that others get our partitions at once, and let go."""
        self._leave()
        self._let_go()
        self.transactions.close()

    def _leave(self) -> None:
        """Leave the group, in some seconds at most.

        A member that stays one for good does not leave when its consumer closes: the group would
        wait for it until its session ends. It does leave when it unsubscribes.
        """
        if self._consumer is None:
            return
        self._is_leaving = True
        with suppress(KafkaException, StreamError):
            self._consumer.unsubscribe()
            until = time.monotonic() + LEAVE
            while time.monotonic() < until and self._consumer.assignment():
                self._poll(1, HEAR)
            self._poll(1, HEAR)  # sends the word

    def _let_go(self) -> None:
        self._is_leaving = True
        self._forget_scan()
        super().close()

    # ── committing ───────────────────────────────────────────────────────────────────────────

    def claim(self, position: Position) -> Claim | None:
        """What the group is to know of a position."""
        if self._committed is None:
            return None  # nothing was read yet
        places = places_of(position)
        moved = {own: place for own, place in places.items() if self._committed.get(own) != place}
        if not moved:
            return None
        if self._is_lost or not moved.keys() <= self._fetched.keys():
            raise CommitRefusedError(
                f"{self._cluster.shown}: the group {self._group!r} gave the partitions to others"
            )
        notes = {self._key(own): {"next": at} for own, at in moved.items()}
        offsets = [TopicPartition(self._cluster.topic, own, at) for own, at in moved.items()]
        return Claim(notes, offsets, self._generation)

    def settled(self, position: Position) -> None:
        """The group knows of a position."""
        if self._committed is not None:
            self._committed = self._committed | places_of(position)

    def _key(self, partition: int) -> str:
        return f"group/{self._group}/{self._cluster.topic}/{partition}"
