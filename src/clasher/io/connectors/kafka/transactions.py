"""What was learnt, where to go on and what was written, in one Kafka transaction for each snapshot.

A transaction holds the number of the snapshot, where the group goes on (``kafka_commits``), the
offsets of the group, which a broker refuses where partitions were given to somebody else
meanwhile, and the outputs of the sinks that take part. It counts as a whole, or not at all.

Messages on their way to a broker, as many as it takes, and no more than may wait.

The topic in which runners note what they committed, one transaction for each snapshot.

It is compacted, so that the last word about everything stays for good, unlike the offsets of a
group, which brokers delete when nobody has used it for a while:

    runner/ID                       the number of the last snapshot of a model
    group/NAME/TOPIC/PARTITION      where a group goes on

What is written in a transaction counts when that is committed, with all that is in it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from confluent_kafka import (
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from clasher.errors import CommitRefusedError, SettingError, StreamError, UnreachableError
from clasher.io.connectors.kafka.cluster import (
    ANSWER,
    DENIED,
    NO_TOPIC,
    Cluster,
    fetch,
    has_controller,
    raising_fatal_errors,
)
from clasher.io.protocol import Caller, Output, Party, Position

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
