"""Kafka topics as data frames of documents, with the columns of ``sources``.

Kafka topics as a stream for Spark, in Python: for sessions without Spark's own connector.

Columns and options are those of that connector, as far as they go: ``kafka.bootstrap.servers`` and
all other ``kafka.…`` settings (those of librdkafka here), ``subscribe``, ``startingOffsets``,
``maxOffsetsPerTrigger``. Spark's checkpoint holds the positions; nothing is committed to a group.
Positions that the broker no longer has end the query: nothing is skipped silently.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from clasher.adapters.spark.sources import PLACE, Reading
from clasher.errors import MissingExtraError, StreamError
from clasher.io.registry import Address

NAME = "clasher_kafka"
SCHEMA = "key binary, value binary, topic string, partition int, offset bigint"
PATIENCE = 60.0  # seconds that a broker may take for anything
TOGETHER = 1000  # messages of a batch of rows

_ARROW = pa.schema(
    [
        ("key", pa.binary()), ("value", pa.binary()), ("topic", pa.string()),
        ("partition", pa.int32()), ("offset", pa.int64()),
    ]
)  # fmt: skip


class KafkaSource(DataSource):
    """What ``spark.dataSource.register`` takes; then ``format("clasher_kafka")`` is known."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> str:
        """The columns."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> KafkaReader:  # noqa: N802
        """Reads a topic."""
        return KafkaReader(dict(self.options))


class Stretch(InputPartition):
    """Consecutive messages of a partition: from ``start`` on, ``stop`` excluded."""

    def __init__(self, partition: int, start: int, stop: int) -> None:
        super().__init__((partition, start, stop))
        self.partition = partition
        self.start = start
        self.stop = stop


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver, and reads them on executors.

    An offset is the next position of every partition: ``{"0": 17, "1": 4}``.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        known = {name.lower(): value for name, value in options.items()}
        for name in ("kafka.bootstrap.servers", "subscribe"):
            if name not in known:
                raise StreamError(f"a stream from Kafka needs the option {name!r}")
        self._topic = known["subscribe"]
        self._from_start = known.get("startingoffsets", "latest") == "earliest"
        self._most = int(known.get("maxoffsetspertrigger", 0))
        self._settings = {
            name.removeprefix("kafka."): value
            for name, value in known.items()
            if name.startswith("kafka.")
        }
        self._target: dict[str, int] | None = None

    # ── on the driver ────────────────────────────────────────────────────────────────────────

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where a new query begins."""
        return {name: bounds[0 if self._from_start else 1] for name, bounds in self._now().items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """How many messages a batch may have."""
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Remember where everything ends now."""
        self._target = {name: stop for name, (_, stop) in self._now().items()}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Where a batch that begins at ``start`` ends; partitions that are new begin with 0."""
        ends = self._target
        if ends is None:
            ends = {name: stop for name, (_, stop) in self._now().items()}
        starts = dict.fromkeys(ends, 0) | start
        if isinstance(limit, ReadMaxRows):
            return _within(starts, ends, limit.max_rows)
        return {name: max(at, ends.get(name, at)) for name, at in starts.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Stretch]:
        """A task for every partition that has something new."""
        return [
            Stretch(int(name), start.get(name, 0), stop)
            for name, stop in sorted(end.items(), key=lambda pair: int(pair[0]))
            if stop > start.get(name, 0)
        ]

    def _now(self) -> dict[str, tuple[int, int]]:
        """The oldest position of every partition, and the one after the newest."""
        with _Client(self._settings, self._topic) as client:
            return {str(number): client.bounds(number) for number in client.partitions()}

    # ── on executors ─────────────────────────────────────────────────────────────────────────

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a stretch."""
        assert isinstance(partition, Stretch)
        with _Client(self._settings, self._topic) as client:
            yield from client.read(partition)


class _Client:
    """A consumer for a moment; it belongs to no group."""

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        try:
            import confluent_kafka
        except ImportError as error:
            raise MissingExtraError.of("Reading from Kafka", "kafka") from error
        self._kafka = confluent_kafka
        self._topic = topic
        self._servers = settings["bootstrap.servers"]
        errors = confluent_kafka.KafkaError
        self._passing = (errors._TRANSPORT, errors._ALL_BROKERS_DOWN, errors._RESOLVE)
        self._consumer: Any = confluent_kafka.Consumer(
            {
                "group.id": "clasher-spark", "isolation.level": "read_committed", **settings,
                "enable.auto.commit": False, "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )  # fmt: skip

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def partitions(self) -> list[int]:
        """The partitions of the topic."""
        found = self._asked(self._consumer.list_topics, self._topic).topics[self._topic]
        if found.error is not None or not found.partitions:
            raise StreamError(
                f"{self._servers}: there is no topic {self._topic!r}; make it, or name another one"
            )
        return sorted(found.partitions)

    def bounds(self, number: int) -> tuple[int, int]:
        """The oldest position of a partition, and the one after the newest."""
        partition = self._kafka.TopicPartition(self._topic, number)
        low, high = self._asked(self._consumer.get_watermark_offsets, partition)
        return int(low), int(high)

    def read(self, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        """The messages of a stretch, in order."""
        where = f"{self._topic}[{stretch.partition}]"
        low, high = self.bounds(stretch.partition)
        if stretch.start < low or stretch.stop > high:
            raise StreamError(
                f"{where}: has positions {low} to {high} by now, and {stretch.start} to "
                f"{stretch.stop} are asked for: they were deleted, or the topic is another one. "
                f"Begin anew in another folder with this model"
            )
        at = self._kafka.TopicPartition(self._topic, stretch.partition, stretch.start)
        self._consumer.assign([at])
        deadline = time.monotonic() + PATIENCE
        ended = False
        while not ended:
            messages, ended = self._next(stretch)
            if messages:
                deadline = time.monotonic() + PATIENCE
                yield _rows(messages)
            elif not ended and time.monotonic() > deadline:
                raise StreamError(f"{where}: {self._servers} sent nothing for {PATIENCE:.0f} s")

    def _next(self, stretch: Stretch) -> tuple[list[Any], bool]:
        """Some more messages, and whether the stretch ends with them."""
        found = []
        for message in self._consumer.consume(TOGETHER, 1.0):
            error = message.error()
            if error is None:
                if message.offset() < stretch.stop:
                    found.append(message)
                if message.offset() >= stretch.stop - 1:
                    return found, True
            elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                return found, True  # what is left of the stretch are marks of transactions
            elif not error.retriable() and error.code() not in self._passing:
                raise StreamError(f"{self._servers}: {error.str()}")
        return found, False

    def _asked(self, ask: Any, what: Any) -> Any:
        try:
            return ask(what, timeout=PATIENCE)
        except self._kafka.KafkaException as error:
            raise StreamError(f"{self._servers}: {error.args[0].str()}") from error


def _rows(messages: Sequence[Any]) -> pa.RecordBatch:
    rows = [
        [message.key() for message in messages], [message.value() for message in messages],
        [message.topic() for message in messages], [message.partition() for message in messages],
        [message.offset() for message in messages],
    ]  # fmt: skip
    columns = [pa.array(row, kind) for row, kind in zip(rows, _ARROW.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW)


def _within(starts: dict[str, int], ends: dict[str, int], most: int) -> dict[str, int]:
    """Ends that are at most so many messages away, all partitions getting on alike.

    >>> _within({"0": 0, "1": 0}, {"0": 90, "1": 10}, 50)
    {'0': 45, '1': 5}
    """
    waiting = {name: max(0, ends.get(name, at) - at) for name, at in starts.items()}
    total = sum(waiting.values())
    if total <= most:
        return {name: at + waiting[name] for name, at in starts.items()}
    shares = {name: max(1, some * most // total) if some else 0 for name, some in waiting.items()}
    return {name: at + shares[name] for name, at in starts.items()}


KAFKA_ORDER = ("partition", "offset")
"""What puts the documents of a batch in order."""
STARTS = {"beginning": "earliest", "end": "latest"}
"""Where a new query begins, in our words and in Spark's."""


def watch_kafka(spark: SparkSession, address: str, reading: Reading) -> DataFrame:
    """A topic of Kafka, as a stream: ``kafka://broker:9092/topic?start=end&max=10000``.

    ``start`` is where a new query begins (``beginning`` otherwise), ``max`` how many messages a
    batch may have; a user and password before the broker are those of SASL; options with a dot are
    settings of the client: ``security.protocol=SSL``. A record without an id gets its place as one.
    Read by Spark's own connector where that is installed, else by ``kafka_source``.
    """
    parts = Address.of(address)
    if parts.scheme != "kafka" or not parts.host or not parts.path:
        raise StreamError(f"{parts.shown}: is not of the form kafka://broker:9092/topic")
    client = {name: value for name, value in parts.options.items() if "." in name}
    plain = {name: value for name, value in parts.options.items() if name not in client}
    replace(parts, options=plain).check_options(("start", "max"))
    options = {
        "kafka.bootstrap.servers": _with_ports(parts.server),
        "subscribe": parts.path,
        "startingOffsets": STARTS[parts.choice("start", list(STARTS))],
    }
    if "max" in parts.options:
        options["maxOffsetsPerTrigger"] = str(int(parts.number("max", 1)))
    messages = _messages(spark, options, parts, client)
    place = sf.concat(
        sf.col("topic"), sf.lit("["), sf.col("partition"), sf.lit("]@"), sf.col("offset")
    )
    rows = messages.select("value", place.alias(PLACE), "partition", "offset")
    return reading.read(rows).withColumn("id", sf.coalesce("id", PLACE))


def _messages(
    spark: SparkSession, options: dict[str, str], address: Address, client: dict[str, str]
) -> DataFrame:
    try:
        own = _sasl_of_java(address) | client
        return _stream(spark, "kafka", options, own)
    except AnalysisException as error:
        if "kafka" not in str(error):
            raise

    spark.dataSource.register(KafkaSource)
    return _stream(spark, NAME, options, _sasl(address) | client)


def _stream(
    spark: SparkSession, kind: str, options: dict[str, str], client: dict[str, str]
) -> DataFrame:
    settings = {f"kafka.{name}": value for name, value in client.items()}
    return spark.readStream.format(kind).options(**options, **settings).load()


def _with_ports(servers: str) -> str:
    """Brokers with their ports, which Java wants.

    >>> _with_ports("one,two:9093")
    'one:9092,two:9093'
    """
    named = [
        server if re.search(r":\d+$", server) else f"{server}:9092" for server in servers.split(",")
    ]
    return ",".join(named)


def _sasl(address: Address) -> dict[str, str]:
    """A user and password, in the words of librdkafka."""
    if address.user is None:
        return {}
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": address.user,
        "sasl.password": address.password or "",
    }


def _sasl_of_java(address: Address) -> dict[str, str]:
    r"""A user and password, in the words of Kafka's own client.

    >>> _sasl_of_java(Address.of("kafka://ann:se%22cret@one/news"))["sasl.jaas.config"][-44:]
    'required username="ann" password="se\\"cret";'
    """
    found = _sasl(address)
    if not found:
        return {}
    pair = {"username": found.pop("sasl.username"), "password": found.pop("sasl.password")}
    said = " ".join(f'{name}="{_escaped(value)}"' for name, value in pair.items())
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return found | {"sasl.jaas.config": f"{module} required {said};"}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
