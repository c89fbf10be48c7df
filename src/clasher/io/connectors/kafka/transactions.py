"""Kafka topics, written at once or in one transaction per snapshot.

A transaction holds the number of the snapshot, the offsets of the group, and the outputs.
The broker refuses the offsets if partitions were given to somebody else meanwhile. The transaction
counts as a whole, or not at all. A topic of commits keeps the last values for ever, since it is
compacted; brokers delete the offsets of a group that is unused for a while:

    runner/ID                       the number of the last snapshot of a model
    group/NAME/TOPIC/PARTITION      the next offset of a group
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from typing import Any, Final, NamedTuple

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from clasher.errors import CommitRefusedError, SettingError, StreamError, UnreachableError
from clasher.io.connectors.kafka.cluster import ANSWER, FOR_GOOD, Cluster, raising_fatal_errors
from clasher.io.protocol import Caller, Output, Party, Position, Sink, Source, set_back
from clasher.io.registry import Address

WAITING: Final = 65_536  # kB of messages in the queue of a producer
SERVE: Final = 0.1  # seconds between two attempts to queue a message
HEADER: Final = "header."
AROUND: Final = 2048  # bytes of a message for its key and its share of the batch


class Outbox:
    """Gives messages to a producer in order, each once, and none after a permanent failure.

    ``raises``: report such a failure at once, not only in ``failed``.
    """

    def __init__(self, cluster: Cluster, producer: Producer, *, raises: bool = False) -> None:
        self.producer = producer
        self._cluster, self._raises = cluster, raises
        self._given: tuple[Sequence[Output], int] = ((), 0)
        self.failed: KafkaError | None = None

    def put(self, outputs: Sequence[Output], **how: Any) -> None:
        """Queue outputs; after an ``UnreachableError``, call again with the same ones."""
        known, start = self._given
        for at in range(start if known is outputs else 0, len(outputs)):
            if not self._put_one(outputs[at], how):
                self._given = outputs, at
                raise self._full(len(self.producer))
        self._given = (), 0
        self._call(self.producer.poll, 0)
        self._check()

    def _put_one(self, output: Output, how: Mapping[str, Any]) -> bool:
        until, key = time.monotonic() + ANSWER, str(output.id)
        while self.failed is None:
            try:
                self.producer.produce(value=output.value, key=key, on_delivery=self._report, **how)
            except BufferError:
                self._call(self.producer.poll, SERVE)
                if time.monotonic() > until:
                    return False
            except KafkaException as error:
                self._report(error.args[0], None)
            else:
                break
        return True

    def _call(self, method: Callable[[float], int], seconds: float) -> int:
        try:
            with raising_fatal_errors():
                return method(seconds)
        except KafkaException as error:
            self._report(error.args[0], None)
            return 0

    def flush(self) -> None:
        """Wait until everything is delivered, or has failed permanently."""
        left = self._call(self.producer.flush, ANSWER)
        if self.failed is None and left:
            raise self._full(left)
        self._check()

    def _full(self, waiting: int) -> UnreachableError:
        return UnreachableError(f"{self._cluster.shown}: takes nothing; {waiting:,} messages wait")

    def _report(self, error: KafkaError | None, message: Message | None) -> None:
        if error is not None and self.failed is None:
            self.failed = error

    def _check(self) -> None:
        if self._raises and self.failed is not None:
            raise self._cluster.failure(self.failed)

    def close(self) -> None:
        self.producer.purge()
        self._call(self.producer.poll, 0)


TOPIC: Final = "clasher-commits"
PARTITION: Final = 0  # all commits are in one order
PIECE: Final = 1000  # messages read at a time
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "3600000",  # only closed segments are compacted
    "min.cleanable.dirty.ratio": "0.1",
}


class Commits:
    """The topic of commits of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._is_there = False

    def create(self) -> None:
        if self._is_there:
            return
        admin, name = self.cluster.admin(), self.cluster.topic
        with self.cluster.answering(admin.poll):
            # Asking for a topic by name may create it.
            found = admin.list_topics(timeout=ANSWER)
            if not self.cluster.has_controller(found):
                admin.list_topics(name, timeout=ANSWER)
            elif name in found.topics:
                self._check(admin)
            else:
                wanted = NewTopic(name, 1, replication_factor=-1, config=dict(COMPACTED))
                try:
                    admin.create_topics([wanted], request_timeout=ANSWER)[name].result()
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
        self._is_there = True

    def _check(self, admin: AdminClient) -> None:
        try:
            policy = self.cluster.setting(admin, "cleanup.policy")
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return  # it cannot be checked
            raise
        if "compact" not in policy:
            raise StreamError(
                f"{self.cluster.shown}: its cleanup.policy is {policy}, so commits would be lost; "
                f"set it to compact, or name another topic with commits="
            )

    def end(self) -> int:
        """Return the end of the topic, including open transactions."""
        consumer = self.cluster.consumer(isolation_level="read_uncommitted")
        with closing(consumer), self.cluster.answering(consumer.poll):
            place = TopicPartition(self.cluster.topic, PARTITION)
            ends = consumer.get_watermark_offsets(place, timeout=ANSWER)
        if ends is None:
            raise UnreachableError(f"{self.cluster.shown}: does not answer")
        return ends[1]

    def read(self) -> Mapping[str, Any]:
        """Read all commits; raise ``UnreachableError`` if a transaction stays open."""
        with closing(Scan(self)) as scan:
            if not scan.step(ANSWER):
                raise UnreachableError(
                    f"{self.cluster.shown}: waits for the transaction of another runner to end; "
                    f"find one that hangs with kafka-transactions.sh find-hanging"
                )
        return scan.found


class Scan:
    """Reads all commits up to the present end of the topic, after open transactions have ended."""

    def __init__(self, commits: Commits) -> None:
        commits.create()
        self.found: dict[str, Any] = {}  # the last value of each key
        self._cluster, self._end = commits.cluster, commits.end()
        self._is_done = self._end == 0
        self._consumer = self._cluster.consumer(
            isolation_level="read_committed", auto_offset_reset="earliest", fetch_wait_max_ms=50
        )
        self._consumer.assign([TopicPartition(self._cluster.topic, PARTITION, 0)])

    def step(self, seconds: float) -> bool:
        """Read for some seconds at most; tell whether it is done."""
        until = time.monotonic() + seconds
        while not self._is_done and (left := until - time.monotonic()) > 0:
            self._cluster.check(self._consumer)
            for message in self._cluster.fetch(self._consumer, PIECE, left):
                error, key, value = message.error(), message.key(), message.value()
                if error is None:
                    if key is not None and value is not None:
                        self.found[key.decode()] = msgspec.json.decode(value)
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise self._cluster.failure(error)
                elif (message.offset() or 0) >= self._end:  # before it, a transaction is open
                    self._is_done = True
        return self._is_done

    def close(self) -> None:
        self._consumer.close()


TIMEOUT: Final = "transaction.timeout.ms"
SHORT: Final = 60_000  # milliseconds of a transaction without outputs
LONG: Final = 300_000  # and with outputs, from the first one on
STUCK: Final = 10.0  # seconds without a reply after which a client counts as stuck


class Claim(NamedTuple):
    """The new offsets that a snapshot commits for a group."""

    notes: Mapping[str, Any]  # for the topic of commits
    offsets: list[TopicPartition]  # for the broker
    generation: Any  # of the group in which everything was delivered


class Transactions(Party):
    """The transactions of one runner.

    If its source is in a group, ``claim`` and ``settled`` are those of the source.
    """

    claim: Callable[[Position], Claim | None] = staticmethod(lambda position: None)
    settled: Callable[[Position], None] = staticmethod(lambda position: None)

    def __init__(self, cluster: Cluster) -> None:
        self.name, self.cluster = f"kafka:{cluster.topic}", cluster
        self.holds_outputs = False  # sinks take part
        self.commits = Commits(cluster)
        self._producer: Producer | None = None
        self._is_alone = False  # earlier producers of this name are fenced
        self._outbox: Outbox | None = None
        self._failure: KafkaError | None = None
        self._is_open = False
        self._ending = 0  # the number that is being committed
        self._claim: Claim | None = None  # of the noted number
        self._noted = self._last = 0

    @property
    def within(self) -> float | None:
        if not self.holds_outputs:
            return None
        given = self.cluster.settings.get(TIMEOUT, str(LONG))
        if not given.isdecimal():
            raise SettingError(f"{TIMEOUT}={given}: must be a number of milliseconds")
        return int(given) / 1000

    def committed(self, caller: Caller) -> int:
        self.start(caller)
        return self._last

    def start(self, caller: Caller) -> Outbox:
        """Fence earlier producers of this name, and read their last commit."""
        if self._outbox is not None:
            return self._outbox
        self.commits.create()
        if self._producer is None:
            self._producer = self.cluster.producer(
                transactional_id=caller.id,
                transaction_timeout_ms=LONG if self.holds_outputs else SHORT,
                queue_buffering_max_kbytes=WAITING,
            )
        if not self._is_alone:
            with self.cluster.answering(self._producer.poll):
                self._producer.init_transactions(ANSWER)
            self._is_alone = True
        self._last = self.commits.read().get(f"runner/{caller.id}", {"snapshot": 0})["snapshot"]
        self._is_open = False
        self._noted = self._ending = 0
        self._outbox = Outbox(self.cluster, self._producer)
        return self._outbox

    def close(self) -> None:
        self._failure = None
        self._drop()

    def _drop(self) -> None:
        if self._outbox is not None:
            self._outbox.close()
        self._outbox = self._producer = None
        self._is_alone = False

    def put(self, outputs: Sequence[Output], **how: Any) -> None:
        assert self._outbox is not None
        self._begin(self._outbox)
        self._outbox.put(outputs, **how)

    def flush(self) -> None:
        assert self._outbox is not None
        self._outbox.flush()

    def _begin(self, outbox: Outbox) -> None:
        if not self._is_open and outbox.failed is None:
            try:
                outbox.producer.begin_transaction()
                self._is_open = True
            except KafkaException as error:
                outbox.failed = error.args[0]

    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        outbox = self.start(caller)
        if self._failure is None and self._last != number:
            if self._last != after:
                raise set_back(self.name, f"snapshot {after}", f"snapshot {self._last}")
            self._try(outbox, caller, number, position)
        if (reason := self._failure) is not None:
            self.start(caller)  # asks the broker whether the commit came through
            if self._last != number:
                if reason.code() in FOR_GOOD:  # the same message would fail again
                    raise self.cluster.failure(reason)
                why = f"the transaction was refused ({reason.str()})"
                raise CommitRefusedError(f"{self.name}: {why}")
            self._failure = None
        self.settled(position)

    def _try(self, outbox: Outbox, caller: Caller, number: int, position: Position) -> None:
        """Take the steps of a commit, or repeat the one without an answer."""
        self._begin(outbox)
        try:
            if self._ending != number:
                self._note(outbox, caller, number, position)
                # Only now, so that the next owner of the partitions finds the notes.
                if self._claim is not None:
                    send = outbox.producer.send_offsets_to_transaction
                    self._ask(send, self._claim.offsets, self._claim.generation, ANSWER)
                self._ending = number
            self._ask(outbox.producer.commit_transaction, ANSWER)
            self._is_open, self._last = False, number
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            if reason.retriable() and not reason.txn_requires_abort() and not reason.fatal():
                shown = self.cluster.shown
                raise UnreachableError(f"{shown}: does not answer ({reason.str()})") from error
            self._failure = reason
            self._drop()

    def _ask(self, call: Callable[..., object], *arguments: Any) -> None:
        # librdkafka may wait for a forgotten broker, whatever its timeout (issue 5511): abandon it.
        answer: Future[object] = Future()

        def ask() -> None:
            try:
                answer.set_result(call(*arguments))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=ask, name="clasher commit", daemon=True).start()
        if not wait([answer], STUCK).done:
            self._outbox = self._producer = None  # closing them would wait as well
            reason = KafkaError(KafkaError._TIMED_OUT, "the client does not answer", fatal=True)
            raise KafkaException(reason)
        answer.result()

    def _note(self, outbox: Outbox, caller: Caller, number: int, position: Position) -> None:
        if self._noted != number:
            self._claim = self.claim(position)
            places = {} if self._claim is None else self._claim.notes
            notes = {**places, f"runner/{caller.id}": {"snapshot": number}}
            outputs = [Output(key, msgspec.json.encode(value)) for key, value in notes.items()]
            outbox.put(outputs, topic=self.cluster.topic, partition=PARTITION)
            self._noted = number
        outbox.flush()
        if outbox.failed is not None:
            raise KafkaException(outbox.failed)


class KafkaSink(Sink):
    """Writes a message for each output: a JSON text, with the id of the document as its key.

    Options: ``header.NAME=VALUE`` adds a header to each message; ``commits=`` names the topic of
    commits of transactions; and those of ``Cluster``.
    """

    def __init__(self, address: Address) -> None:
        self.cluster = Cluster(address, "commits")
        self.name = f"kafka:{self.cluster.topic}"
        self.commits = address.options.get("commits")
        self._headers = [
            (name.removeprefix(HEADER), value.encode())
            for name, value in address.options.items()
            if name.startswith(HEADER)
        ]
        self._way: Outbox | Transactions | None = None
        self._room: int | None = None

    def join(self, transactions: Transactions) -> None:
        self.party = self._way = transactions
        transactions.holds_outputs = True

    def open(self, position: Position, caller: Caller) -> None:
        if isinstance(self._way, Transactions):
            self._way.start(caller)
            return
        self.close()
        producer = self.cluster.producer(message_timeout_ms=0, queue_buffering_max_kbytes=WAITING)
        with self.cluster.answering(producer.poll):
            producer.list_topics(self.cluster.topic, timeout=ANSWER)
        self._way = Outbox(self.cluster, producer, raises=True)

    def write(self, outputs: Sequence[Output]) -> None:
        assert self._way is not None
        self._way.put(outputs, topic=self.cluster.topic, headers=self._headers)

    def room(self) -> int | None:
        if self._room is None:
            headers = sum(len(name) + len(value) for name, value in self._headers)
            self._room = self.cluster.largest_message() - headers - AROUND
        return self._room

    def flush(self) -> Position:
        assert self._way is not None
        self._way.flush()

    def close(self) -> None:
        if self._way is not None:
            self._way.close()
        if self.party is None:
            self._way = None


def transactional(documents: Source, sinks: Sequence[Sink]) -> None:
    """Have the Kafka sinks of a flow, and its source if it is in a group, commit as one."""
    kafka = [sink for sink in sinks if isinstance(sink, KafkaSink)]
    if not kafka:
        raise SettingError("transactions need a Kafka sink: write to kafka://broker/topic")
    named = {sink.commits for sink in kafka if sink.commits is not None}
    if isinstance(documents.party, Transactions):
        transactions = documents.party
        named.add(transactions.cluster.topic)
    else:
        transactions = Transactions(kafka[0].cluster.beside(next(iter(named), TOPIC)))
    if len(named) > 1:
        raise SettingError(f"commits= names several topics: {', '.join(sorted(named))}; name one")
    for sink in kafka:
        transactions.cluster.agree(sink.cluster)
        sink.join(transactions)
