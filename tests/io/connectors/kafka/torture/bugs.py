"""Bugs that are put there on purpose, to show that they are found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import TopicPartition

from clasher.io.connectors import kafka
from clasher.io.connectors.kafka.source import KafkaGroupSource, Merge, TopicSource
from clasher.io.connectors.kafka.transactions import Outbox, Transactions
from tests.flow.torture import bugs as flows


def as_they_come() -> None:
    """Wait for no partition."""

    def hasty(self: Merge, most: int) -> Any:
        self.awaited.clear()
        return take(self, most)

    take = Merge.take
    Merge.take = hasty  # type: ignore[method-assign]


def write_at_once() -> None:
    """Leave outputs out of transactions."""
    kafka.KafkaSink.join = lambda self, transactions: None  # type: ignore[method-assign]


def note_outside() -> None:
    """Note the number of a snapshot before its transaction is committed, and not in it."""
    note = Transactions._note
    outside: list[Outbox] = []

    def early(self: Transactions, outbox: Any, *given: Any) -> None:
        if not outside:
            outside.append(Outbox(self.cluster, self.cluster.producer()))
        note(self, outside[0], *given)

    Transactions._note = early  # type: ignore[method-assign]


def no_fence() -> None:
    """Commit whatever was learnt, whose partitions they may be."""
    claim = KafkaGroupSource.claim

    def unasked(self: KafkaGroupSource, position: Any) -> Any:
        found = claim(self, position)
        return found and found._replace(offsets=[])  # nothing for the broker to look at

    KafkaGroupSource.claim = unasked  # type: ignore[method-assign]


def keep_what_is_lost() -> None:
    """Go on as if nothing had been when partitions are lost."""

    def deaf(self: KafkaGroupSource, *given: Any) -> None:
        self._give_back()

    KafkaGroupSource._on_lost = KafkaGroupSource._on_revoke = deaf  # type: ignore[method-assign]


def trust_the_group() -> None:
    """Go on where the offsets of the group say."""

    def find(self: KafkaGroupSource, partitions: list[int]) -> bool:
        asked = [TopicPartition(self._cluster.topic, own) for own in partitions]
        for said in self.consumer.committed(asked, 10):
            if said.offset >= 0:
                self._places[said.partition] = said.offset
            else:
                self._places.pop(said.partition, None)
        self._take_up(partitions, is_new=self._is_new)
        self._committed = dict(self._places)
        return True

    KafkaGroupSource._find_places = find  # type: ignore[method-assign]


def skip_what_is_gone() -> None:
    """Go on silently where messages were deleted."""
    TopicSource._note_loss = lambda *given: None  # type: ignore[method-assign]


def drop_what_is_too_much() -> None:
    """Lose outputs while a broker takes none."""

    def once(self: Outbox, outputs: Any, topic: str, **how: Any) -> None:
        for output in outputs:
            with suppress(BufferError):
                self.producer.produce(topic, output.value, str(output.id))

    Outbox.put = once  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        flows.forget_positions, flows.run_ahead, flows.newest_snapshot, flows.oldest_snapshot,
        flows.commit_first, as_they_come, write_at_once, note_outside, no_fence,
        keep_what_is_lost, trust_the_group, skip_what_is_gone, drop_what_is_too_much,
    )
}  # fmt: skip
"""By the names under which the command line knows them."""

HUNTS = (
    ("mock", "forget-positions"),
    ("mock", "run-ahead"),
    ("mock", "as-they-come"),
    ("once", "newest-snapshot"),
    ("once", "oldest-snapshot"),
    ("once", "commit-first"),
    ("once", "write-at-once"),
    ("once", "note-outside"),
)
"""Which kind of trial finds which; the others are found by tests of their own."""
