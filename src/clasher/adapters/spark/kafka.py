"""A Kafka topic as a stream of documents, read by Spark's own connector.

Spark's checkpoint holds the offsets; nothing is committed to a consumer group. Offsets that the
broker has deleted end the query.
"""

import re
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from clasher.adapters.spark.sources import PLACE, RecordReader
from clasher.errors import MissingExtraError, StreamError
from clasher.io.registry import Address

KAFKA_ORDER = ("partition", "offset")  # the columns that order the documents of a batch
_STARTS = {"beginning": "earliest", "end": "latest"}
_DEFAULTS = {
    "isolation.level": "read_committed",
    # The connector tries three times: a missing broker is reported after a minute.
    "default.api.timeout.ms": "20000",
    "request.timeout.ms": "20000",
}


def watch_kafka(spark: SparkSession, address: str, reader: RecordReader) -> DataFrame:
    """Read a topic as a stream: ``kafka://broker:9092/topic?start=end&max=10000``.

    ``start`` says where a new query starts (default: ``beginning``), ``max`` limits the messages of
    a batch. A user and password before the broker log in with SASL. Options with a dot configure
    Kafka's Java client: ``security.protocol=SSL``. A record without an id gets its place as one.

    The session needs Spark's Kafka connector, ``spark-sql-kafka-0-10``.
    """
    options = kafka_options(address)
    try:
        messages = spark.readStream.format("kafka").options(**options).load()
    except AnalysisException as error:
        if "kafka" not in str(error):
            raise
        package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
        raise MissingExtraError(
            f"Spark's Kafka connector is missing: add --conf spark.jars.packages={package}, or "
            f"--packages {package} to spark-submit"
        ) from None
    place = sf.format_string("%s[%d]@%d", "topic", "partition", "offset")
    rows = messages.select("value", place.alias(PLACE), *KAFKA_ORDER)
    return reader.read(rows).withColumn("id", sf.coalesce("id", PLACE))


def kafka_options(address: str) -> dict[str, str]:
    """Translate an address into the options of Spark's connector.

    >>> options = kafka_options("kafka://one,two:9093/news?max=50&security.protocol=SSL")
    >>> options["kafka.bootstrap.servers"], options["subscribe"], options["startingOffsets"]
    ('one:9092,two:9093', 'news', 'earliest')
    >>> options["maxOffsetsPerTrigger"], options["kafka.security.protocol"]
    ('50', 'SSL')
    """
    parts = Address.of(address)
    if parts.scheme != "kafka" or not parts.host or not parts.path:
        raise StreamError(f"{parts.shown}: is not of the form kafka://broker:9092/topic")
    client = {name: value for name, value in parts.options.items() if "." in name}
    plain = {name: value for name, value in parts.options.items() if name not in client}
    replace(parts, options=plain).check_options(("start", "max"))
    servers = parts.server.split(",")
    servers = [one if re.search(r":\d+$", one) else f"{one}:9092" for one in servers]
    options = {
        "kafka.bootstrap.servers": ",".join(servers),
        "subscribe": parts.path,
        "startingOffsets": _STARTS[parts.choice("start", list(_STARTS))],
    }
    if "max" in plain:
        options["maxOffsetsPerTrigger"] = str(int(parts.number("max", 1)))
    client = _DEFAULTS | _login(parts) | client
    return options | {f"kafka.{name}": value for name, value in client.items()}


def _login(address: Address) -> dict[str, str]:
    r"""Translate a user and password.

    >>> _login(Address.of("kafka://ann:se%22cret@one/news"))["sasl.jaas.config"][-44:]
    'required username="ann" password="se\\"cret";'
    """
    if address.user is None:
        return {}
    pairs = {"username": address.user, "password": address.password or ""}
    escaped = {name: re.sub(r'(["\\])', r"\\\1", value) for name, value in pairs.items()}
    login = " ".join(f'{name}="{value}"' for name, value in escaped.items())
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"{module} required {login};",
    }
