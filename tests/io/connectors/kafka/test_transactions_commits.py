"""The topic of commits: what is in it counts when its transaction does, and stays."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource

from clasher.errors import StreamError, UnreachableError
from clasher.io.connectors.kafka import transactions
from clasher.io.connectors.kafka.cluster import Cluster
from clasher.io.connectors.kafka.transactions import PARTITION, Commits, Scan
from clasher.io.registry import Address
from support.servers.kafka_messages import admin, create

PATIENCE = 20.0  # seconds


def commits_at(broker, topic):
    return Commits(Cluster(Address.of(broker.url(topic))))


def note(broker, topic, who):
    """A transaction that is still open, with a note in it."""
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": f"{topic}-{who}"})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic, b'{"snapshot":7}', f"runner/{who}", PARTITION)
    assert producer.flush(PATIENCE) == 0
    return producer


def test_the_last_word_about_everything_is_found(broker, topic):
    commits = commits_at(broker, topic)
    assert commits.read() == {}
    for who in ("a", "b", "a"):
        note(broker, topic, who).commit_transaction(PATIENCE)
    assert commits.read() == {"runner/a": {"snapshot": 7}, "runner/b": {"snapshot": 7}}


def test_it_keeps_the_last_word_for_good(server, topic):
    commits_at(server, topic).create()
    commits_at(server, topic).create()  # it is there
    client, resource = admin(server), ConfigResource(ConfigResource.Type.TOPIC, topic)
    settings = client.describe_configs([resource])[resource].result(PATIENCE)
    assert settings["cleanup.policy"].value == "compact"
    create(server, f"{topic}-forgets")
    with pytest.raises(StreamError, match="is delete, so commits would be lost"):
        commits_at(server, f"{topic}-forgets").read()


def waits_for_an_outcome(server, topic):
    """Whether notes of an open transaction are waited for, and count when it is committed."""
    commits = commits_at(server, topic)
    commits.create()
    committed, aborted = note(server, topic, "a"), note(server, topic, "b")
    scan = Scan(commits)
    try:
        is_early = scan.step(0.5)
        committed.commit_transaction(PATIENCE)
        aborted.abort_transaction(PATIENCE)
        return not is_early and scan.step(PATIENCE) and set(scan.found) == {"runner/a"}
    finally:
        scan.close()


def test_a_transaction_that_is_open_is_waited_for(server, topic):
    assert waits_for_an_outcome(server, topic)


def test_a_scan_that_does_not_wait_is_caught(server, topic, monkeypatch):
    monkeypatch.setattr(Commits, "end", lambda self: 0)
    assert not waits_for_an_outcome(server, topic)


def test_a_scan_of_uncommitted_values_is_caught(server, topic, monkeypatch):
    consumer = Cluster.consumer
    monkeypatch.setattr(
        Cluster,
        "consumer",
        lambda self, **given: consumer(self, **given | {"isolation_level": "read_uncommitted"}),
    )
    assert not waits_for_an_outcome(server, topic)


def test_a_wait_for_another_runner_is_reported(server, topic, monkeypatch):
    monkeypatch.setattr(transactions, "ANSWER", 0.5)
    commits = commits_at(server, topic)
    commits.create()
    somebody = note(server, topic, "a")
    with pytest.raises(UnreachableError, match="waits for the transaction of another runner"):
        commits.read()
    somebody.abort_transaction(PATIENCE)
    assert commits.read() == {}
