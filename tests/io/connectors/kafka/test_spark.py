"""A topic of a real broker on Spark: with Spark's own connector, and with the source in Python."""

from __future__ import annotations

import pytest

from clasher.io.records import Fields
from support.environment import optional
from support.servers.kafka_maven import spark_connector
from support.servers.kafka_messages import create, fill
from tests.adapters.spark.conftest import corpus  # noqa: F401 (a fixture)
from tests.adapters.spark.test_fit import SMALL, one_pass
from tests.service.plain import file_bytes

optional("pyspark", "spark")

from clasher.adapters.spark import kafka as topics  # noqa: E402
from clasher.adapters.spark import session, stream  # noqa: E402
from clasher.adapters.spark.kafka import NAME  # noqa: E402
from clasher.adapters.spark.sources import Reading  # noqa: E402

pytestmark = pytest.mark.compiled
READING = Reading(Fields(), stopping=False, required=False)
LENGTH = 60  # messages of a batch


@pytest.fixture(scope="module")
def spark():
    """A session that has Spark's own connector."""
    jars = ",".join(map(str, spark_connector()))
    return session("local[2]", {"spark.jars": jars})


@pytest.fixture(params=["kafka", NAME])
def connector(request, monkeypatch):
    """Which one reads; it must not be the other."""
    own, read = request.param, topics._stream

    def only(spark, kind, *given):
        if kind != own:
            raise topics.AnalysisException("there is no kafka")
        return read(spark, kind, *given)

    monkeypatch.setattr(topics, "_stream", only)
    return own


def learn(spark, address, folder):
    df = topics.watch_kafka(spark, address, READING)
    order, once = topics.KAFKA_ORDER, {"availableNow": True}
    with stream(df, folder, order=order, trigger=once, **SMALL) as running:
        running.wait()
        return running.model


def records(corpus, start, stop):  # noqa: F811
    texts, labels = corpus.texts.to_pylist(), corpus.labels.to_pylist()
    return [{"text": texts[at], "labels": labels[at]} for at in range(start, stop)]


def test_a_topic_is_learnt_as_by_one_process(server, topic, spark, corpus, connector, tmp_path):  # noqa: F811
    """Also when it is gone on with by another query, and by whoever has the password."""
    create(server, topic)
    fill(server, topic, records(corpus, 0, 2 * LENGTH))
    learn(spark, server.url(topic, max=LENGTH), tmp_path / "model")
    fill(server, topic, records(corpus, 2 * LENGTH, 3 * LENGTH))
    model = learn(spark, server.url(topic, max=LENGTH), tmp_path / "model")
    assert file_bytes(model) == file_bytes(one_pass(corpus.head(3 * LENGTH)))


def test_a_password_opens_a_broker(server, topic, spark, corpus, connector, tmp_path):  # noqa: F811
    create(server, topic)
    fill(server, topic, records(corpus, 0, LENGTH))
    names = {"kafka": f"ssl.truststore.type=PEM&ssl.truststore.location={server.certificate}"}
    safe = names.get(connector, f"ssl.ca.location={server.certificate}")
    model = learn(spark, f"kafka://ann:secret@{server.safe}/{topic}?{safe}", tmp_path / "model")
    assert file_bytes(model) == file_bytes(one_pass(corpus.head(LENGTH)))
