"""A topic of a real broker on Spark, with Spark's own connector."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from clasher.errors import StreamError
from clasher.io.records import Fields
from support.environment import optional
from support.servers.kafka_maven import spark_connector
from support.servers.kafka_messages import admin, create, fill
from tests.adapters.spark.conftest import corpus  # noqa: F401 (a fixture)
from tests.adapters.spark.test_fit import SMALL, one_pass
from tests.service.plain import file_bytes

optional("pyspark", "spark")

from clasher.adapters.spark import session, stream  # noqa: E402
from clasher.adapters.spark.kafka import KAFKA_ORDER, watch_kafka  # noqa: E402
from clasher.adapters.spark.sources import RecordReader  # noqa: E402

pytestmark = pytest.mark.compiled
READER = RecordReader(Fields(), stop_on_error=False, labels_required=False)
LENGTH = 60  # messages of a batch


@pytest.fixture(scope="module")
def spark():
    """A session that has Spark's own connector."""
    jars = ",".join(map(str, spark_connector()))
    return session("local[2]", {"spark.jars": jars})


def learn(spark, address, folder, **options):
    df = watch_kafka(spark, address, READER)
    once = {"availableNow": True}
    with stream(df, folder, order=KAFKA_ORDER, trigger=once, **options, **SMALL) as running:
        running.wait()
        return running.model


def records(corpus, start, stop):  # noqa: F811
    texts, labels = corpus.texts.to_pylist(), corpus.labels.to_pylist()
    return [{"text": texts[at], "labels": labels[at]} for at in range(start, stop)]


def test_a_topic_is_learnt_as_by_one_process(server, topic, spark, corpus, tmp_path):  # noqa: F811
    """Also when another query continues it; a bad record is counted and skipped."""
    create(server, topic)
    fill(server, topic, [*records(corpus, 0, 2 * LENGTH), b"{nonsense"])
    address, folder = server.url(topic, max=LENGTH), tmp_path / "model"
    progress, written = [], []
    options = {
        "on_progress": progress.append,
        "write": lambda rows, _: written.extend(rows.select("id", "error").collect()),
    }
    learn(spark, address, folder, **options)
    fill(server, topic, records(corpus, 2 * LENGTH, 3 * LENGTH))
    model = learn(spark, address, folder, **options)
    assert file_bytes(model) == file_bytes(one_pass(corpus.head(3 * LENGTH)))
    assert [(one.rows, one.bad) for one in progress] == [
        (LENGTH, 0), (LENGTH, 0), (1, 1), (LENGTH, 0)
    ]  # fmt: skip
    assert sorted(row.id for row in written[:LENGTH])[0] == f"{topic}[0]@0"
    assert "broken JSON" in written[2 * LENGTH].error


def test_a_password_opens_a_broker(server, topic, spark, corpus, tmp_path):  # noqa: F811
    create(server, topic)
    fill(server, topic, records(corpus, 0, LENGTH))
    trust = f"ssl.truststore.type=PEM&ssl.truststore.location={server.certificate}"
    model = learn(spark, f"kafka://ann:secret@{server.safe}/{topic}?{trust}", tmp_path / "model")
    assert file_bytes(model) == file_bytes(one_pass(corpus.head(LENGTH)))


def test_deleted_messages_end_the_query(server, topic, spark, corpus, tmp_path):  # noqa: F811
    """Nothing is skipped silently."""
    create(server, topic)
    fill(server, topic, records(corpus, 0, LENGTH))
    learn(spark, server.url(topic), tmp_path / "model")
    fill(server, topic, records(corpus, LENGTH, 2 * LENGTH))
    client = admin(server)
    for deleted in client.delete_records([TopicPartition(topic, 0, LENGTH + 5)]).values():
        deleted.result(30)
    with pytest.raises(StreamError, match=r"^Kafka no longer has the next offsets"):
        learn(spark, server.url(topic), tmp_path / "model")


def test_a_missing_topic_is_named_in_one_line(server, spark, tmp_path):
    with pytest.raises(StreamError, match=r"^Kafka: This server does not host this topic"):
        learn(spark, server.url("nowhere"), tmp_path / "model")
