"""Kafka topics as data frames of documents, with the columns of ``sources``."""

from __future__ import annotations

import re
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from clasher.adapters.spark.records import PLACE, Reading
from clasher.errors import StreamError
from clasher.io.addresses import Address

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
    from clasher.adapters.spark.kafka_source import NAME, KafkaSource

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
