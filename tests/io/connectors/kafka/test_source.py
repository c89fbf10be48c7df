"""Topics: order, retention, recreation and errors."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions

from clasher.errors import SettingError, StreamError, UnreachableError
from clasher.io.connectors.kafka import cluster
from clasher.io.connectors.kafka import source as kafka_topic
from clasher.io.protocol import Caller
from clasher.io.registry import source_at
from support.servers.kafka import free_ports
from support.servers.kafka_messages import admin, create, fill, outputs
from tests.flow import plain
from tests.flow.runs import run
from tests.io.connectors.kafka.torture.bugs import BUGS

PATIENCE = 20.0  # seconds


def opened(url, position=None, name="me"):
    source = source_at(url)
    source.open(position, Caller(name))
    return source


def read(source, count, most=1000):
    """Chunks until there were so many arrivals, or the source has waited for long."""
    chunks, until = [], time.monotonic() + PATIENCE
    while sum(map(len, chunks)) < count and time.monotonic() < until:
        chunk = source.read(most, 0.1)
        chunks += [] if chunk is None else [chunk]
    return chunks


def ids(chunks):
    return [own for chunk in chunks for own in chunk.records.ids]


# ── positions ────────────────────────────────────────────────────────────────────────────────────


def test_a_new_reader_may_begin_with_what_comes_from_now_on(broker, topic):
    create(broker, topic)
    fill(broker, topic, plain.records(5))
    source = opened(broker.url(topic, start="end"))
    assert source.read(10, 0.0) is None
    fill(broker, topic, [{"id": "new", "text": "oil"}])
    assert ids(read(source, 1)) == ["new"]
    source.close()


def test_lag_counts_undelivered_messages(broker, topic):
    create(broker, topic)
    fill(broker, topic, plain.records(50))
    source = opened(broker.url(topic))
    delivered = len(ids(read(source, 10, most=10)))
    assert 10 <= delivered < 50
    assert source.lag() == 50 - delivered
    source.close()


def test_a_topic_is_learnt_in_the_order_of_its_partitions_times(broker, topic, folder):
    create(broker, topic, 4)
    rows = plain.records(200)
    for own in range(4):
        fill(broker, topic, [*rows[own::4], b"{"], own)
    figures = run(folder, broker.url(topic), letters=broker.url(f"{topic}-dead"))
    assert plain.model_in(folder) == plain.learnt(rows)
    assert (figures.documents, figures.poison, figures.lag) == (200, 4, 0)
    letters = outputs(broker, f"{topic}-dead")
    assert {(letter["source"], letter["record"], letter["raw"]) for letter in letters} == {
        (f"kafka:{topic}", f"{own}:50", "{") for own in range(4)
    }


def test_a_partition_of_which_much_waits_for_others_is_paused(broker, topic, monkeypatch):
    monkeypatch.setattr(kafka_topic, "HELD", 500)
    create(broker, topic, 2)
    rows = plain.records(400)
    fill(broker, topic, rows[:200], 0, range(200))
    fill(broker, topic, rows[200:], 1, range(200, 400))
    source = opened(broker.url(topic))
    paused = 0
    found = []
    while len(found) < 400:
        chunks = read(source, 1, most=10)
        assert chunks
        found += ids(chunks)
        paused += bool(source._paused)
    assert found == [row["id"] for row in rows]
    assert paused
    source.close()


def test_partitions_that_are_added_are_read_from_their_beginning(server, topic, monkeypatch):
    monkeypatch.setattr(kafka_topic, "REFRESH", 0.0)
    create(server, topic)
    source = opened(server.url(topic, start="end"))
    client = admin(server)
    client.create_partitions([NewPartitions(topic, 2)])[topic].result(PATIENCE)
    fill(server, topic, [{"id": "other", "text": "oil"}], 1)
    (chunk,) = read(source, 1)
    assert chunk.records.ids == ["other"]
    assert chunk.position["next"] == {"0": 0, "1": 1}
    source.close()


# ── what is not there any more ───────────────────────────────────────────────────────────────────


def delete_before(broker, topic, offset):
    client, wanted = admin(broker), TopicPartition(topic, 0, offset)
    client.delete_records([wanted])[wanted].result(PATIENCE)


def refuses_what_is_gone(server, topic):
    """Whether the deletion of unread messages is reported."""
    create(server, topic)
    fill(server, topic, plain.records(20))
    source = opened(server.url(topic))
    (chunk,) = read(source, 5, most=5)
    source.close()
    delete_before(server, topic, 9)
    try:
        opened(server.url(topic), chunk.position).close()
    except StreamError as error:
        return "messages 5 to 8 of partition 0 were deleted unread" in str(error)
    return False


def test_retention_that_has_passed_a_position_is_an_error(server, topic):
    assert refuses_what_is_gone(server, topic)


def test_an_error_that_is_swallowed_is_caught(server, topic, monkeypatch):
    monkeypatch.setattr(kafka_topic.TopicSource, "_note_loss", kafka_topic.TopicSource._note_loss)
    BUGS["skip-what-is-gone"]()
    assert not refuses_what_is_gone(server, topic)


def test_deleted_messages_can_be_skipped(server, topic):
    create(server, topic)
    fill(server, topic, plain.records(20))
    source = opened(server.url(topic))
    (chunk,) = read(source, 5, most=5)
    source.close()
    delete_before(server, topic, 9)
    source = opened(server.url(topic, on_loss="skip"), chunk.position)
    chunks = read(source, 12)
    assert ids(chunks) == [f"d{number}" for number in range(9, 20)]
    assert [poison.place for chunk in chunks for poison in chunk.poison] == ["0:5"]
    source.close()


@pytest.mark.parametrize("on_loss", ["stop", "skip"])
def test_retention_may_overtake_a_reader(server, topic, on_loss):
    create(server, topic)
    source = opened(server.url(topic, on_loss=on_loss, **{"fetch.message.max.bytes": 1000}))
    source.consumer.pause([TopicPartition(topic, 0)])  # a reader that is slow
    fill(server, topic, plain.records(20))
    delete_before(server, topic, 9)
    source.consumer.resume([TopicPartition(topic, 0)])
    if on_loss == "stop":
        with pytest.raises(StreamError, match="messages 0 to 8 of partition 0 were deleted unread"):
            read(source, 1)
    else:
        chunks = read(source, 12)
        assert ids(chunks) == [f"d{number}" for number in range(9, 20)]
        assert [poison.place for chunk in chunks for poison in chunk.poison] == ["0:0"]
    source.close()


def test_a_recreated_topic_is_another_one(server, topic):
    create(server, topic)
    fill(server, topic, plain.records(5))
    source = opened(server.url(topic))
    position = read(source, 5)[-1].position
    source.close()
    with pytest.raises(StreamError, match="is not the cluster read before"):
        opened(server.url(topic), position | {"cluster": "another"})
    delete(server, topic)
    create(server, topic)
    with pytest.raises(StreamError, match="is not the topic read before"):
        opened(server.url(topic), position)
    with pytest.raises(StreamError, match="partition 0: was reset: it was read up to 5"):
        opened(server.url(topic), position | {"topic": None})


def test_a_recreated_topic_must_be_allowed(server, topic, folder):
    create(server, topic)
    fill(server, topic, plain.records(5))
    run(folder, server.url(topic))
    delete(server, topic)
    create(server, topic)
    fill(server, topic, plain.records(9)[5:])
    with pytest.raises(StreamError, match=r"is not the stream read before.*--new-stream"):
        run(folder, server.url(topic))
    assert run(folder, server.url(topic), new_stream=True).documents == 9
    other = server.url(topic).replace("127.0.0.1", "localhost")
    assert run(folder, other).documents == 9


def delete(server, topic):
    client = admin(server)
    client.delete_topics([topic])[topic].result(PATIENCE)
    until = time.monotonic() + PATIENCE
    while topic in client.list_topics().topics and time.monotonic() < until:
        time.sleep(0.05)


def test_a_topic_must_be_there(broker, topic):
    with pytest.raises(StreamError, match=f"/{topic}: there is no such topic; create it first"):
        opened(broker.url(topic))


# ── brokers that do not answer ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "nowhere.invalid:{}"])
def test_a_broker_that_is_not_there_may_come_later(address):
    (port,) = free_ports(1)
    source = source_at(f"kafka://{address.format(port)}/news")
    with pytest.raises(UnreachableError, match="/news: does not answer"):
        source.open(None, Caller("me"))
    source.close()


def test_a_broker_that_pauses_is_waited_for(broker, topic, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    create(broker, topic)
    source = opened(broker.url(topic, **{"socket.timeout.ms": 1000}))
    assert source.read(10, 0.0) is None
    broker.pause()
    try:
        with pytest.raises(UnreachableError, match="does not answer"):
            read(source, 1)
    finally:
        broker.resume()
    fill(broker, topic, plain.records(5))
    assert ids(read_through(source, 5)) == [f"d{number}" for number in range(5)]
    source.close()


def read_through(source, count):
    """As ``read``, as often as it takes."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return read(source, count)
        except UnreachableError:
            continue
    raise AssertionError("it has not come back")


# ── addresses ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "problem"),
    [("kafka://broker/", "write kafka://broker/topic"),
     ("kafka:///news", "write kafka://broker/topic"),
     ("kafka://broker/a/b", "write kafka://broker/topic"),
     ("kafka://broker/news?grp=x", "there is no option 'grp'; known are"),
     ("kafka://broker/news?group=", "group= must name a group"),
     ("kafka://broker/news?start=middle", "say beginning or end"),
     ("kafka://broker/news?auto.offset.reset=latest", "clasher sets "),
     ("kafka://broker/news?config=nowhere", "config=nowhere: cannot be read")],
)  # fmt: skip
def test_an_address_that_means_nothing_is_refused(url, problem):
    with pytest.raises(SettingError, match=problem):
        source_at(url)


def test_a_setting_that_the_client_does_not_know_is_refused():
    with pytest.raises(SettingError, match="No such configuration property"):
        opened("kafka://127.0.0.1/news?fine.tuning=yes")


def test_settings_may_be_in_a_file(broker, topic, tmp_path):
    create(broker, topic)
    fill(broker, topic, plain.records(1))
    config = tmp_path / "client.properties"
    config.write_text("# ours\n\nclient.rack = b\n")
    source = opened(broker.url(topic, config=config))
    assert source._cluster.settings == {"client.rack": "b"}
    assert ids(read(source, 1)) == ["d0"]
    source.close()
    config.write_text("client.rack\n")
    with pytest.raises(SettingError, match="a line is not name=value"):
        source_at(broker.url(topic, config=config))


def test_passwords_and_certificates_are_passed_on(server, topic):
    create(server, topic)
    fill(server, topic, plain.records(3))
    safe = f"{server.safe}/{topic}?ssl.ca.location={server.certificate}"
    source = opened(f"kafka://ann:secret@{safe}")
    assert len(ids(read(source, 3))) == 3
    assert "secret" not in source.name + source._cluster.shown
    source.close()
    with pytest.raises(StreamError, match="denies access") as notes:
        opened(f"kafka://ann:wrong@{safe}")
    assert not isinstance(notes.value, UnreachableError)
    assert "wrong" not in str(notes.value)
