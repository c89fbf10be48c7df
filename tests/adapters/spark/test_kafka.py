"""Addresses of topics; a real broker is read in ``tests/io/connectors/kafka/test_spark.py``."""

from __future__ import annotations

import pytest

from clasher.errors import MissingExtraError, SettingError, StreamError
from clasher.io.records import Fields
from support.environment import optional

kafka = optional("clasher.adapters.spark.kafka", "spark")
RecordReader = optional("clasher.adapters.spark.sources", "spark").RecordReader


def test_a_missing_connector_is_named_with_the_option_that_adds_it(spark):
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
    with pytest.raises(MissingExtraError, match=f"--conf spark.jars.packages={package}, or"):
        kafka.watch_kafka(spark, "kafka://broker/news", RecordReader(Fields()))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("kafka://broker", "is not of the form kafka://broker:9092/topic"),
        ("redis://broker/news", "is not of the form kafka://broker:9092/topic"),
        ("kafka://broker/news?begin=end", "begin"),
        ("kafka://broker/news?start=middle", "start"),
        ("kafka://broker/news?max=many", "max"),
    ],
)
def test_addresses_that_are_refused(address, says):
    with pytest.raises((SettingError, StreamError), match=says):
        kafka.kafka_options(address)


def test_a_query_starts_where_the_address_says():
    options = kafka.kafka_options("kafka://broker/news?start=end")
    assert options["startingOffsets"] == "latest"
    assert "maxOffsetsPerTrigger" not in options


def test_options_of_the_client_win():
    options = kafka.kafka_options(
        "kafka://ann:secret@broker/news?sasl.mechanism=SCRAM-SHA-512&isolation.level=read_uncommitted"
    )
    assert options["kafka.sasl.mechanism"] == "SCRAM-SHA-512"
    assert options["kafka.isolation.level"] == "read_uncommitted"
    assert 'username="ann" password="secret"' in options["kafka.sasl.jaas.config"]
