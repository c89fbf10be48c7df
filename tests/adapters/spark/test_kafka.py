"""Topics of a broker through the source in Python; the broker is the client library's own."""

from __future__ import annotations

import msgspec
import pytest

from clasher.errors import StreamError
from clasher.io.records import Fields
from support.environment import optional
from tests.adapters.spark.inbox import LENGTH
from tests.adapters.spark.test_fit import SMALL, one_pass
from tests.service.plain import file_bytes

kafka = optional("confluent_kafka", "kafka")
stream = optional("clasher.adapters.spark", "spark").stream
topics = optional("clasher.adapters.spark.kafka", "spark")
source = optional("clasher.adapters.spark.kafka", "spark")
Reading = optional("clasher.adapters.spark.sources", "spark").Reading

READING = Reading(Fields(), stopping=False, required=False)
ONCE = {"availableNow": True}


class Broker:
    """A producer that carries a cluster in it, which others may talk to."""

    def __init__(self) -> None:
        self._producer = kafka.Producer({"test.mock.num.brokers": 1, "linger.ms": 0})
        (broker,) = self._producer.list_topics(timeout=10).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def send(self, topic: str, values: list[bytes], partition: int = 0) -> None:
        for value in values:
            self._producer.produce(topic, value, partition=partition)
        assert self._producer.flush(10) == 0


@pytest.fixture(scope="module")
def broker():
    return Broker()


def lines(corpus, start, stop):
    rows = zip(
        corpus.texts[start:stop].to_pylist(), corpus.labels[start:stop].to_pylist(), strict=True
    )
    return [msgspec.json.encode({"text": text, "labels": labels}) for text, labels in rows]


def reader(broker, topic, **options):
    given = {"kafka.bootstrap.servers": broker.address, "subscribe": topic}
    return source.KafkaReader(given | {"startingOffsets": "earliest"} | options)


def test_a_topic_is_learnt_batch_by_batch_and_gone_on_with(spark, corpus, broker, tmp_path):
    """Byte for byte as one process would; what is no record is counted and passed over."""
    broker.send("news", [*lines(corpus, 0, LENGTH), b"{nonsense"])
    address = f"kafka://{broker.address}/news?max={LENGTH}"
    told, written = [], []

    def run():
        df = topics.watch_kafka(spark, address, READING)
        with stream(
            df, tmp_path / "m", order=topics.KAFKA_ORDER, trigger=ONCE, told=told.append,
            write=lambda rows, _: written.extend(rows.select("id", "error").collect()), **SMALL,
        ) as running:  # fmt: skip
            running.wait()
            return running.model

    run()
    broker.send("news", lines(corpus, LENGTH, 2 * LENGTH))
    model = run()
    assert file_bytes(model) == file_bytes(one_pass(corpus.head(2 * LENGTH)))
    assert [(one.rows, one.bad) for one in told] == [(LENGTH, 0), (1, 1), (LENGTH, 0)]
    assert [row.id for row in written[:2]] == ["news[0]@0", "news[0]@1"]
    assert "broken JSON" in written[LENGTH].error


def test_offsets_are_planned_in_stretches(broker):
    broker.send("planned", [b"a"] * 5)
    broker.send("planned", [b"b"] * 3, partition=1)
    reading = reader(broker, "planned")
    start = reading.initialOffset()
    assert (start["0"], start["1"]) == (0, 0)
    every = reading.latestOffset(start, source.ReadAllAvailable())
    assert (every["0"], every["1"]) == (5, 3)
    some = reading.latestOffset(start, source.ReadMaxRows(4))
    assert 0 < sum(some.values()) <= 4
    stretches = reading.partitions({"0": 2}, {"0": 5, "1": 3})
    assert [(s.partition, s.start, s.stop) for s in stretches] == [(0, 2, 5), (1, 0, 3)]
    (rows,) = reading.read(stretches[0])
    assert rows.column("offset").to_pylist() == [2, 3, 4]
    assert rows.column("value").to_pylist() == [b"a"] * 3
    assert reading.partitions(every, every) == []


def test_a_query_that_ends_with_what_there_is_does_not_look_further(broker):
    broker.send("ending", [b"a"] * 2)
    reading = reader(broker, "ending")
    reading.prepareForTriggerAvailableNow()
    broker.send("ending", [b"b"] * 2)
    assert reading.latestOffset(reading.initialOffset(), source.ReadAllAvailable())["0"] == 2


def test_a_new_query_begins_with_what_is_new(broker):
    broker.send("late", [b"a"] * 2)
    assert reader(broker, "late", startingOffsets="latest").initialOffset()["0"] == 2


def test_positions_that_are_not_there_end_the_query(broker):
    """A topic that was made anew, or has forgotten: nothing is skipped."""
    broker.send("short", [b"a"] * 2)
    with pytest.raises(
        StreamError, match=r"short\[0\]: has positions 0 to 2 by now, and 1 to 9 are"
    ):
        list(reader(broker, "short").read(source.Stretch(0, 1, 9)))


def test_what_cannot_be_read_is_told_in_one_line(spark, broker, monkeypatch):
    with pytest.raises(StreamError, match="is not of the form kafka://broker:9092/topic"):
        topics.watch_kafka(spark, "kafka://broker", READING)
    with pytest.raises(StreamError, match="needs the option 'subscribe'"):
        source.KafkaReader({"kafka.bootstrap.servers": "x"})
    monkeypatch.setattr(source, "PATIENCE", 1.0)
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "x", "kafka.log_level": "0"}
    with pytest.raises(StreamError, match=r"^127\.0\.0\.1:1: "):
        source.KafkaReader(nowhere).initialOffset()


def test_a_broker_that_is_not_there_is_told_in_one_line(spark, tmp_path):
    """Also where the reading is done by a worker of Spark."""
    df = topics.watch_kafka(spark, "kafka://127.0.0.1:1/news", READING)
    with (
        stream(df, tmp_path / "m", trigger=ONCE, **SMALL) as running,
        pytest.raises(StreamError, match=r"^127\.0\.0\.1:1: "),
    ):
        running.wait()
