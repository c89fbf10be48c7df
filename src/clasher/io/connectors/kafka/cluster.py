"""A Kafka cluster: its clients, their settings from the address, and failures in one line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource

from clasher.errors import SettingError, StreamError, UnreachableError
from clasher.io.registry import Address

ANSWER: Final = 3.0  # seconds: a stop waits no longer
LARGEST: Final = 1_000_000  # bytes of a message: the default of the client
OURS: Final = frozenset({
    "acks", "auto.offset.reset", "bootstrap.servers", "enable.auto.commit",
    "enable.auto.offset.store", "enable.idempotence", "enable.partition.eof", "group.id",
    "group.instance.id", "group.protocol", "max.in.flight", "max.in.flight.requests.per.connection",
    "partition.assignment.strategy", "transactional.id",
})  # fmt: skip

DENIED: Final = (
    KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)  # fmt: skip
AWAY: Final = (
    KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._SSL,
    KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError._MSG_TIMED_OUT,
    KafkaError._WAIT_COORD, KafkaError._IN_PROGRESS, KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.INVALID_REPLICATION_FACTOR,  # fewer brokers than replicas
    KafkaError._UNKNOWN_PARTITION,  # a broker that has just started
    KafkaError._DESTROY_BROKER,  # the client forgot one that was away
    KafkaError.NOT_LEADER_FOR_PARTITION,  # it does not lead the partition yet
)  # fmt: skip
QUEUE: Final = 50  # milliseconds without fetching while the queue is full; default: a second
NO_TOPIC: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
FOR_GOOD: Final = (KafkaError.MSG_SIZE_TOO_LARGE, *DENIED, *NO_TOPIC)

T = TypeVar("T")

_logger = logging.getLogger("clasher.kafka")
_logger.addHandler(logging.NullHandler())  # we report what matters ourselves


class Topic(NamedTuple):
    """A topic as it is now."""

    cluster: str  # its id, which it keeps without its brokers
    id: str | None  # another one if the topic was created again; None if unknown
    partitions: list[int]


class Cluster:
    """Makes clients of a topic, and explains their errors.

    Options of the address, beside ``options``: names with a dot are settings of librdkafka, such as
    ``security.protocol=SASL_SSL``; ``config=FILE`` reads more of them from the lines of a file;
    user and password are those of SASL.

    Examples
    --------
    >>> cluster = Cluster(Address.of("kafka://ann:secret@one:9092/news?client.rack=b"))
    >>> cluster.servers, cluster.settings["client.rack"], cluster.settings["security.protocol"]
    ('one:9092', 'b', 'sasl_ssl')
    """

    def __init__(self, address: Address, *options: str) -> None:
        # The client checks options with a dot.
        plain = {name: value for name, value in address.options.items() if "." not in name}
        replace(address, options=plain).check_options([*options, "config"])
        self.topic, self.servers = address.path, address.server
        if not self.topic or "/" in self.topic or not address.host:
            raise SettingError(
                f"{address.shown}: write kafka://broker/topic or kafka://one,two/topic"
            )
        self.settings = _settings(address)
        self._denied: str | None = None
        self._reason: str | None = None
        self.is_down = False

    @property
    def shown(self) -> str:
        return f"kafka://{self.servers}/{self.topic}"

    def beside(self, topic: str) -> Cluster:
        other = copy(self)
        other.topic, other.settings = topic, dict(self.settings)
        return other

    def agree(self, other: Cluster) -> None:
        if other.servers != self.servers:
            what = f"cannot be in one transaction with {self.shown}"
            raise SettingError(f"{other.shown}: {what}: name the same brokers in both")
        for name, value in other.settings.items():
            if self.settings.setdefault(name, value) != value:
                raise SettingError(f"{other.shown}: {name} differs from that of {self.shown}")

    def consumer(self, **settings: Any) -> Consumer:
        """Make a consumer; write settings with underscores for dots."""
        # A consumer must name a group, even if it is in none.
        common = {
            "group_id": "clasher", "enable_auto_commit": False, "enable_partition_eof": True,
            "fetch_wait_max_ms": 100,  # until the broker says that there is nothing
            "fetch_queue_backoff_ms": QUEUE,
        }  # fmt: skip
        return self._make(Consumer, common | settings)

    def producer(self, **settings: Any) -> Producer:
        """Make a producer that sends messages in order, at least once; in transactions, once."""
        # One request at a time keeps the order. Sequence numbers would too, but end a producer for
        # good if a broker has lost count of them.
        in_order = {"max_in_flight": 1}
        # A client that bootstraps again forgets the broker that a transaction waits for, and waits
        # for ever when that comes back (librdkafka 5511).
        patient = {"metadata_recovery_strategy": "none"}
        own = patient if "transactional_id" in settings else in_order
        common = {"acks": "all", "delivery_report_only_error": True, "linger_ms": 5, **own}
        return self._make(Producer, common | settings)

    def admin(self) -> AdminClient:
        return self._make(AdminClient, {})

    def _make(self, kind: Callable[..., T], settings: Mapping[str, Any]) -> T:
        common = {"client.id": "clasher", "reconnect.backoff.max.ms": 2000}
        common |= {name.replace("_", "."): value for name, value in settings.items()}
        always = {"bootstrap.servers": self.servers, "error_cb": self._note}
        try:
            return kind({**common, **self.settings, **always}, logger=_logger)
        except KafkaException as error:
            raise SettingError(f"{self.shown}: {error.args[0].str()}") from error

    def _note(self, error: KafkaError) -> None:
        if error.code() in DENIED:
            self._denied = error.str()
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.is_down = True
        else:
            self._reason = error.str()

    def check(self, client: Consumer) -> None:
        """Raise errors reported since the last time, unless the brokers answer again."""
        if self._denied is not None:
            denied, self._denied = self._denied, None
            raise StreamError(f"{self.shown}: denies access: {denied}")
        if self.is_down:
            with self.answering():
                client.list_topics(self.topic, timeout=ANSWER)
            self.is_down, self._reason = False, None

    @contextmanager
    def answering(self, poll: Callable[[float], object] = lambda seconds: None) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            poll(0)  # clients report the reason when they are polled; not consumers that read
            raise self.failure(error.args[0]) from error

    def failure(self, error: KafkaError) -> StreamError:
        code = error.code()
        if code in DENIED or (code in AWAY and self._denied is not None):
            return StreamError(f"{self.shown}: denies access: {self._denied or error.str()}")
        if code in NO_TOPIC:
            return StreamError(f"{self.shown}: there is no such topic; create it first")
        if code == KafkaError.MSG_SIZE_TOO_LARGE:
            return StreamError(
                f"{self.shown}: an output is larger than a message may be; raise message.max.bytes "
                f"in the address, and max.message.bytes of the topic"
            )
        if code in AWAY or error.retriable():
            reason = self._reason or error.str()
            return UnreachableError(f"{self.shown}: does not answer ({reason})")
        return StreamError(f"{self.shown}: {error.str()}")

    def look(self, client: Consumer) -> Topic:
        """Return the topic as it is now; for a client that does not read yet."""
        found, own = self._metadata(client, poll=client.poll), None
        if self.has_controller(found):
            admin, wanted = self.admin(), TopicCollection([self.topic])  # futures need the admin
            with self.answering():
                futures = admin.describe_topics(wanted, request_timeout=ANSWER)
                own = str(futures[self.topic].result().topic_id)
        return Topic(str(found.cluster_id), own, sorted(found.topics[self.topic].partitions))

    @staticmethod
    def has_controller(metadata: Any) -> bool:
        """Whether there is a controller, which creates and describes topics; a mock has none."""
        return metadata.controller_id in metadata.brokers

    def fetch(self, client: Consumer, most: int, seconds: float) -> list[Message]:
        """Return the messages that are there, or wait for one."""
        with self.answering(), raising_fatal_errors():
            found = client.consume(most, 0)
            if found or not seconds:
                return found
            first = client.poll(seconds)
            return [] if first is None else [first, *client.consume(most - 1, 0)]

    def partitions(self, client: Consumer) -> list[int]:
        return sorted(self._metadata(client).topics[self.topic].partitions)

    def largest_message(self) -> int:
        """Return the size of message that client and topic take, or the default if unknown."""
        own = int(self.settings.get("message.max.bytes", LARGEST))
        try:
            return min(own, int(self.setting(self.admin(), "max.message.bytes")))
        except (KafkaException, KeyError, TypeError, ValueError):
            return min(own, LARGEST)

    def setting(self, admin: AdminClient, name: str) -> Any:
        """Return a setting of the topic."""
        topic = ConfigResource(ConfigResource.Type.TOPIC, self.topic)
        return admin.describe_configs([topic], request_timeout=ANSWER)[topic].result()[name].value

    def _metadata(self, client: Consumer, **options: Any) -> Any:
        with self.answering(**options):
            found = client.list_topics(self.topic, timeout=ANSWER)
        error = found.topics[self.topic].error
        if error is not None:
            raise self.failure(error)
        return found


@contextmanager
def raising_fatal_errors() -> Iterator[None]:
    """Raise fatal errors of clients, even if a callback came after them and replaced them."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        fatal = KafkaError(KafkaError._FATAL, "the client has failed for good", fatal=True)
        raise KafkaException(fatal) from error


def _settings(address: Address) -> dict[str, str]:
    settings: dict[str, str] = {}
    if address.user is not None:
        settings |= {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"}
        settings |= {"sasl.username": address.user, "sasl.password": address.password or ""}
    if (path := address.options.get("config")) is not None:
        try:
            lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").split("\n")]
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"config={path}: cannot be read: {error}") from error
        pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
        if not all(equals for _, equals, _ in pairs):
            raise SettingError(f"config={path}: a line is not name=value")
        settings |= {name.strip(): value.strip() for name, _, value in pairs}
    settings |= {
        name: value
        for name, value in address.options.items()
        if "." in name and not name.startswith("header.")
    }
    for name in settings:
        if name in OURS:
            raise SettingError(f"{address.shown}: clasher sets {name} itself; leave it out")
    return settings
