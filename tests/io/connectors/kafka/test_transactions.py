"""Outputs that are seen once, with the snapshot that knows of them."""

from __future__ import annotations

import shutil
import signal
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from clasher.errors import CommitRefusedError, SettingError, StreamError, UnreachableError
from clasher.io.connectors.kafka import transactions
from clasher.io.protocol import Caller, Output
from clasher.io.registry import commit_as_one, sink_at, source_at
from support.servers.kafka import KafkaServer
from support.servers.kafka_messages import admin, create, fill, found, outputs
from tests.flow import plain
from tests.flow.runs import flow, run

PATIENCE = 20.0  # seconds
LITTLE = {"transaction.timeout.ms": "4000"}
OUT = [Output(number, b'{"id":%d}' % number) for number in range(3)]


def joined(url, name="me"):
    """A sink that takes part in transactions, open."""
    sink = sink_at(url)
    commit_as_one(source_at("-"), [sink])
    sink.open(None, Caller(name))
    return sink


def commit(sink, number, name="me"):
    sink.flush()
    sink.party.commit(Caller(name), number, number - 1, None)


def committed(url, name="me"):
    sink = joined(url, name)
    try:
        return sink.party.committed(Caller(name))
    finally:
        sink.close()


def test_outputs_are_seen_with_their_commit(server, topic):
    create(server, topic)
    url = server.url(topic, commits=f"{topic}-commits")
    sink = joined(url)
    sink.write(OUT)
    sink.flush()
    assert found(server, topic) == []
    assert len(found(server, topic, "read_uncommitted")) == 3
    commit(sink, 1)
    commit(sink, 1)  # it came through before
    assert len(outputs(server, topic)) == 3
    sink.write(OUT)
    sink.flush()
    sink.close()
    assert committed(url) == 1
    assert len(outputs(server, topic)) == 3
    assert committed(url, "somebody else") == 0


def test_an_earlier_runner_of_the_name_is_fenced(server, topic):
    create(server, topic)
    url = server.url(topic, commits=f"{topic}-commits")
    old = joined(url)
    old.write(OUT)
    old.flush()
    new = joined(url)
    new.write(OUT)
    commit(new, 1)
    with pytest.raises(StreamError, match=r"was reset: .* now ends at snapshot 1"):
        commit_after(old, 2, after=5)
    assert len(outputs(server, topic)) == 3
    old.close()
    new.close()


def commit_after(sink, number, after):
    """Commit as a twin would, who knows nothing of the other."""
    with pytest.raises(CommitRefusedError, match="the transaction was refused"):
        sink.party.commit(Caller("me"), number, number - 2, None)
    sink.close()
    sink.open(None, Caller("me"))
    sink.party.commit(Caller("me"), number, after, None)


def test_a_commit_whose_answer_got_lost_is_asked_for_again(server, topic, monkeypatch):
    create(server, topic)
    sink = joined(server.url(topic, commits=f"{topic}-commits"))
    sink.write(OUT)
    sink.flush()
    monkeypatch.setattr(transactions, "ANSWER", 0.3)
    server.pause()
    try:
        with pytest.raises(UnreachableError):
            sink.party.commit(Caller("me"), 1, 0, None)
    finally:
        server.resume()
    commit_patiently(sink, 1)
    assert sink.party.committed(Caller("me")) == 1
    assert len(outputs(server, topic)) == 3
    sink.close()


def test_a_transaction_that_took_too_long_is_refused(server, topic):
    create(server, topic)
    options = {"commits": f"{topic}-commits", "transaction.timeout.ms": 1000}
    sink = joined(server.url(topic, **options))
    sink.write(OUT)
    sink.flush()
    await_outcome(server, topic)
    with pytest.raises(CommitRefusedError, match="the transaction was refused"):
        commit(sink, 1)
    assert sink.party.committed(Caller("me")) == 0
    sink.close()
    sink.open(None, Caller("me"))
    sink.write(OUT)
    commit(sink, 1)
    assert len(outputs(server, topic)) == 3
    sink.close()


def await_outcome(server, topic):
    """Wait until no transaction is open any more."""
    consumer = Consumer(
        {"bootstrap.servers": server.servers, "group.id": "x", "isolation.level": "read_committed"}
    )
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE)[1] > 3:
            break
        time.sleep(0.05)
    consumer.close()


def test_an_output_that_can_never_come_ends_the_run(server, topic):
    create(server, topic, config={"max.message.bytes": "1000"})
    sink = joined(server.url(topic, commits=f"{topic}-commits"))
    sink.write([Output("a", b"x" * 2000)])
    with pytest.raises(StreamError, match="an output is larger than a message may be") as notes:
        commit(sink, 1)
    assert not isinstance(notes.value, CommitRefusedError)
    sink.close()


def test_a_topic_of_commits_that_is_gone_is_missed(server, topic, folder):
    create(server, topic)
    fill(server, topic, plain.records(50))
    options = {"commits": f"{topic}-commits"}
    given = (folder, server.url(topic), server.url(f"{topic}-out", **options))
    run(*given, transactional=True)
    client = admin(server)
    client.delete_topics([f"{topic}-commits"])[f"{topic}-commits"].result(PATIENCE)
    with pytest.raises(StreamError, match="was reset: it has snapshot 0 of this model"):
        run(*given, transactional=True)


def test_a_copy_of_a_folder_is_refused(server, topic, folder, tmp_path):
    create(server, topic)
    fill(server, topic, plain.records(50))
    options = {"commits": f"{topic}-commits"}
    streams = (server.url(topic), server.url(f"{topic}-out", **options))
    run(folder, *streams, transactional=True)
    shutil.copytree(folder, tmp_path / "copy")
    fill(server, topic, plain.records(50, seed=1))
    run(folder, *streams, transactional=True)
    with pytest.raises(StreamError, match="is older than kafka:"):
        run(tmp_path / "copy", *streams, transactional=True)


def test_transactions_work_with_any_source(broker, topic, folder):
    create(broker, topic)
    rows = plain.records(200)
    source = folder.parent / "news.jsonl"
    source.write_bytes(plain.lines(rows))
    run(folder, str(source), broker.url(topic), transactional=True)
    assert plain.model_in(folder) == plain.learnt(rows)
    written = outputs(broker, topic)
    assert sorted(written, key=str) == sorted(plain.predictions(rows), key=str)


@pytest.mark.parametrize(
    ("source", "sinks", "problem"),
    [("-", ["out.jsonl"], "transactions need a Kafka sink"),
     ("-", ["kafka://a/x", "kafka://b/y"], "name the same brokers"),
     ("kafka://a/z?group=g", ["kafka://b/y"], "name the same brokers"),
     ("-", ["kafka://a/x?linger.ms=1", "kafka://a/y?linger.ms=2"], "linger.ms differs"),
     ("-", ["kafka://a/x?commits=c", "kafka://a/y?commits=d"], "names several topics: c, d")],
)  # fmt: skip
def test_streams_that_cannot_commit_as_one_are_refused(source, sinks, problem):
    with pytest.raises(SettingError, match=problem):
        commit_as_one(source_at(source), [sink_at(url) for url in sinks])


class Fallen:
    """A client that fails for good and forgets to say why, as theirs does at times."""

    def __init__(self, producer):
        self._producer = producer

    def __getattr__(self, name):
        return getattr(self._producer, name)

    def flush(self, seconds):
        raise SystemError("returned NULL without setting an exception")


def test_a_client_that_fails_without_a_word_is_replaced(server, topic):
    create(server, topic)
    sink = joined(server.url(topic, commits=f"{topic}-commits"))
    sink.write(OUT)
    outbox = sink.party.start(Caller("me"))
    outbox.producer = Fallen(outbox.producer)
    with pytest.raises(CommitRefusedError, match="the client has failed for good"):
        commit(sink, 1)
    sink.close()
    sink.open(None, Caller("me"))
    sink.write(OUT)
    commit(sink, 1)
    assert len(outputs(server, topic)) == 3
    sink.close()


def test_a_transaction_outlives_a_restart_of_the_broker(server, topic, tmp_path):
    broker = KafkaServer(tmp_path / "broker")
    try:
        create(broker, topic)
        sink = joined(broker.url(topic))
        sink.write(OUT)
        commit(sink, 1)
        sink.write(OUT)
        sink.flush()
        broker.end(signal.SIGTERM)
        broker.start()
        commit_patiently(sink, 2)
        assert len(outputs(broker, topic)) == 6
        sink.close()
    finally:
        broker.stop()


def commit_patiently(sink, number):
    """Commit as a runner would: what got no answer is asked for again, what is refused redone."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return commit(sink, number)
        except UnreachableError:
            continue
        except CommitRefusedError:
            sink.close()
            sink.open(None, Caller("me"))
            sink.write(OUT)
    raise AssertionError("it never came through")


@pytest.mark.parametrize(("more", "says"), [({}, "after 300 s"), (LITTLE, "after 4 s")])
def test_snapshots_must_be_more_frequent_than_transactions_end(broker, folder, more, says):
    sink = broker.url("out", **more)
    with pytest.raises(SettingError, match=f"--snapshot-every 400: a transaction ends {says}"):
        flow(folder, "news.jsonl", sink, transactional=True, snapshot_seconds=400)
    flow(folder, "news.jsonl", sink, transactional=True)  # shortens what nobody has said
