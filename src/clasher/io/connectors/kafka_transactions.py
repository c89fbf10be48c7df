"""What was learnt, where to go on and what was written, in one Kafka transaction for each snapshot.

A transaction holds the number of the snapshot, where the group goes on (``kafka_commits``), the
offsets of the group, which a broker refuses where partitions were given to somebody else
meanwhile, and the outputs of the sinks that take part. It counts as a whole, or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from clasher.errors import CommitRefusedError, SettingError, StreamError, UnreachableError
from clasher.io.connectors.kafka_cluster import ANSWER, Cluster
from clasher.io.connectors.kafka_commits import PARTITION, Commits
from clasher.io.connectors.kafka_outbox import WAITING, Outbox, Parcel, is_for_good
from clasher.io.streams import Caller, Output, Party, Position

TIMEOUT: Final = "transaction.timeout.ms"
SHORT: Final = 60_000  # milliseconds that a transaction may take
LONG: Final = 300_000  # where outputs are in it: from the first one on
STUCK: Final = 10.0  # seconds after which a client will never answer: it was told to in ``ANSWER``


class Claim(NamedTuple):
    """What a group is to know of a snapshot.

    Attributes
    ----------
    notes : mapping
        Where it goes on, by keys of ``kafka_commits``.
    offsets : list of TopicPartition
        The same in the words of the broker.
    generation
        The generation of the group in which all of it was delivered.
    """

    notes: Mapping[str, Any]
    offsets: list[TopicPartition]
    generation: Any


class Sharing(Protocol):
    """A source that shares partitions with others."""

    def claim(self, position: Position) -> Claim | None:
        """What a group is to know of a position; None where that is nothing new."""

    def settled(self, position: Position) -> None:
        """The group knows it."""


class Transactions(Party):
    """The transactions of one runner.

    Parameters
    ----------
    cluster
        With the topic of the commits.

    Attributes
    ----------
    group : Sharing | None
        The source whose partitions are to be committed too.
    holds_outputs : bool
        Whether sinks take part.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.name, self.cluster = f"kafka:{cluster.topic}", cluster
        self.group: Sharing | None = None
        self.holds_outputs = False
        self.commits = Commits(cluster)
        self._producer: Producer | None = None
        self._is_alone = False  # whoever had the name before is shut out
        self._outbox: Outbox | None = None
        self._failure: KafkaError | None = None
        self._is_open = False
        self._ending = 0  # the number whose commit was asked for
        self._claim: Claim | None = None  # of what was noted
        self._noted = self._last = 0

    @property
    def _timeout(self) -> int:
        """Milliseconds that a transaction may take, unless the address says otherwise."""
        return LONG if self.holds_outputs else SHORT

    @property
    def within(self) -> float | None:
        """Where outputs are in the transaction, it begins with the first one."""
        if not self.holds_outputs:
            return None
        said = self.cluster.settings.get(TIMEOUT, str(self._timeout))
        if not said.isdecimal():
            raise SettingError(f"{TIMEOUT}={said}: say milliseconds, as a number")
        return int(said) / 1000

    # ── beginning and ending ─────────────────────────────────────────────────────────────────

    def committed(self, caller: Caller) -> int:
        """The number that the commits know of; what was still under way is aborted first."""
        self.start(caller)
        return self._last

    def start(self, caller: Caller) -> Outbox:
        """Shut out whoever had this name before, and ask what was committed under it."""
        if self._outbox is not None:
            return self._outbox
        self.commits.create()
        if self._producer is None:
            self._producer = self.cluster.producer(
                transactional_id=caller.id,
                transaction_timeout_ms=self._timeout,
                queue_buffering_max_kbytes=WAITING,
            )
        if not self._is_alone:
            with self.cluster.answering(self._producer.poll):
                self._producer.init_transactions(ANSWER)
            self._is_alone = True
        self._last = self.commits.read().get(runner_key(caller), {"snapshot": 0})["snapshot"]
        self._is_open = False
        self._noted = self._ending = 0
        self._outbox = Outbox(self.cluster, self._producer)
        return self._outbox

    def close(self) -> None:
        """Let go; what is not committed never will be."""
        self._failure = None
        self._drop()

    def _drop(self) -> None:
        if self._outbox is not None:
            self._outbox.close()
        self._outbox = self._producer = None
        self._is_alone = False

    # ── outputs ──────────────────────────────────────────────────────────────────────────────

    def put(self, parcel: Parcel, outputs: Sequence[Output]) -> None:
        """Write outputs that will be seen with the next commit, or never: then they come again."""
        assert self._outbox is not None
        self._begin(self._outbox)
        self._outbox.put(parcel, outputs)

    def flush(self) -> None:
        """Return when all outputs are where they belong, or it is clear that they never will be."""
        assert self._outbox is not None
        self._outbox.flush()

    def _begin(self, outbox: Outbox) -> None:
        if not self._is_open and outbox.failed is None:
            try:
                outbox.producer.begin_transaction()
                self._is_open = True
            except KafkaException as error:
                outbox.failed = error.args[0]

    # ── committing ───────────────────────────────────────────────────────────────────────────

    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        """Commit the transaction, with the number of the snapshot and what the group is to know."""
        outbox = self.start(caller)
        if self._failure is None and self._last != number:
            if self._last != after:
                raise StreamError(
                    f"{self.name}: was set back: it remembers snapshot {self._last} of this model, "
                    f"which has gone on to {after}. Restore the topic, or begin a new folder with "
                    f"this model: --begin-with"
                )
            self._try(outbox, caller, number, position)
        if self._failure is not None:
            self._look_again(self._failure, caller, number)
        if self.group is not None:
            self.group.settled(position)

    def _try(self, outbox: Outbox, caller: Caller, number: int, position: Position) -> None:
        """Go through the steps of a commit, or go on with the one that got no answer."""
        self._begin(outbox)
        try:
            if self._ending != number:
                self._note(outbox, caller, number, position)
                # Only now, so that whoever gets the partitions next finds the notes before it.
                if self._claim is not None:
                    offsets, generation = self._claim.offsets, self._claim.generation
                    send = outbox.producer.send_offsets_to_transaction
                    self._ask(send, offsets, generation, ANSWER)
                self._ending = number
            self._ask(outbox.producer.commit_transaction, ANSWER)
            self._is_open, self._last = False, number
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            if reason.retriable() and not reason.txn_requires_abort() and not reason.fatal():
                raise UnreachableError(
                    f"{self.cluster.shown}: does not answer ({reason.str()})"
                ) from error
            self._failure = reason
            self._drop()

    def _ask(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call the client; one that never comes back is left alone, and another made.

        librdkafka may wait for a broker that it has forgotten, whatever its time is (issue 5511).
        """
        raised: list[BaseException] = []

        def ask() -> None:
            try:
                call(*arguments)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=ask, name="clasher commit", daemon=True)
        thread.start()
        thread.join(STUCK)
        if thread.is_alive():
            self._outbox = self._producer = None  # which would wait as well
            reason = KafkaError(KafkaError._TIMED_OUT, "the client does not answer", fatal=True)
            raise KafkaException(reason)
        if raised:
            raise raised[0]

    def _note(self, outbox: Outbox, caller: Caller, number: int, position: Position) -> None:
        if self._noted != number:
            self._claim = None if self.group is None else self.group.claim(position)
            places = {} if self._claim is None else self._claim.notes
            notes = {**places, runner_key(caller): {"snapshot": number}}
            outputs = [Output(key, msgspec.json.encode(value)) for key, value in notes.items()]
            outbox.put(Parcel(self.cluster.topic, [], PARTITION), outputs)
            self._noted = number
        outbox.flush()
        if outbox.failed is not None:
            raise KafkaException(outbox.failed)

    def _look_again(self, reason: KafkaError, caller: Caller, number: int) -> None:
        """After a failure nobody knows whether it came through, but the broker."""
        self.start(caller)
        if self._last != number:
            if is_for_good(reason):
                raise self.cluster.failure(reason)
            raise CommitRefusedError(f"{self.name}: the transaction was refused ({reason.str()})")
        self._failure = None


def runner_key(caller: Caller) -> str:
    """What the last snapshot of a runner is noted under."""
    return f"runner/{caller.id}"
