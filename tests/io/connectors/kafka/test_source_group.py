"""Runners that share a topic: each message is learnt by one of them, whoever comes and goes."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
from confluent_kafka import KafkaException, TopicPartition

from clasher.errors import CommitRefusedError, StoppedError, UnreachableError
from clasher.io.connectors.kafka import transactions
from clasher.io.connectors.kafka.source import KafkaGroupSource
from clasher.io.protocol import Caller
from clasher.io.registry import source_at
from support.servers.kafka_messages import admin, create, fill
from tests.flow import plain
from tests.flow.runs import run
from tests.io.connectors.kafka.torture.bugs import BUGS

PATIENCE = 40.0  # seconds
SOON = {"session.timeout.ms": 1500, "heartbeat.interval.ms": 200}
AWAY = {**SOON, "max.poll.interval.ms": 1500}  # who does not read for so long is shut out


class Member:
    """A runner of a group, step by step: what it has learnt, and what of that is committed."""

    def __init__(self, url, name):
        self.source, self.name = source_at(url), name
        self.learnt, self.position, self.number = [], None, 0
        self.refused = 0
        self.open()

    def open(self):
        self.source.open(self.position, Caller(self.name, settle=self._settle))
        self.pending, self._at = [], self.position

    def _settle(self):
        """Commit, from within ``read``; where that is refused, the runner ends the reading."""
        try:
            self.commit()
        except CommitRefusedError as error:
            raise StoppedError("it goes back") from error

    def read(self, most=1000):
        """Read what comes in a moment, as the runner does: a refusal takes it back."""
        try:
            chunk = self.source.read(most, 0.1)
        except (CommitRefusedError, StoppedError):
            self.refused += 1
            self.source.close()
            self.open()
            return
        except UnreachableError:
            return
        if chunk is not None:
            self.pending += chunk.records.ids
            self._at = chunk.position

    def commit(self):
        self.source.party.commit(Caller(self.name), self.number + 1, self.number, self._at)
        self.number += 1
        self.learnt += self.pending
        self.position, self.pending = self._at, []

    def close(self):
        self.source.close()


def until(condition, *members):
    """Have members read until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        for member in members:
            member.read()
    assert condition()


@pytest.fixture
def members(server, topic):
    """Makes members of a group."""
    made = []

    def make(name, **options):
        options = SOON | options | {"group": topic, "commits": f"{topic}-commits"}
        made.append(Member(server.url(topic, **options), f"{topic}-{name}"))
        return made[-1]

    yield make
    for member in made:
        member.close()


def test_a_group_of_one_learns_everything(broker, topic, folder):
    create(broker, topic)
    rows = plain.records(100)
    fill(broker, topic, rows)
    run(folder, broker.url(topic, group=topic), idle=8.0 if not broker.is_real else 2.0)
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_runner_that_comes_back_is_the_member_it_was(server, topic, members):
    create(server, topic, 2)
    fill(server, topic, plain.records(20))
    first = members("a")
    until(lambda: len(first.pending) == 20, first)
    first.commit()
    generation = first.source._generation
    first.close()
    first.open()
    until(lambda: first.source.knows_end, first)
    assert first.source._generation != generation  # another process, in the generation of before
    assert (first.learnt, first.pending) == ([f"d{n}" for n in range(20)], [])


def test_partitions_that_are_given_while_leaving_are_not_taken(server, topic, members):
    create(server, topic)
    first = members("a")
    first.close()
    first.source._on_assign(None, [TopicPartition(topic, 0)])  # as a consumer that closes may do
    assert first.source._given is None


def test_delivered_messages_are_committed_before_partitions_are_given_up(server, topic, members):
    create(server, topic, 2)
    rows = plain.records(40)
    fill(server, topic, rows[:20], 0)
    fill(server, topic, rows[20:], 1)
    first = members("a")
    until(lambda: len(first.pending) == 40, first)
    second = members("b")
    until(lambda: len(second.source._fetched) == 1 and second.source.knows_end, first, second)
    assert sorted(first.learnt) == sorted(row["id"] for row in rows)
    assert (second.learnt, second.pending, first.refused) == ([], [], 0)
    fill(server, topic, [{"id": "new 0", "text": "oil"}], 0)
    fill(server, topic, [{"id": "new 1", "text": "oil"}], 1)
    until(lambda: first.pending and second.pending, first, second)
    assert sorted(first.pending + second.pending) == ["new 0", "new 1"]


def keeps_out_who_was_away(server, topic, members):
    """Whether what somebody else was given meanwhile is committed by that one alone."""
    create(server, topic)
    fill(server, topic, plain.records(30))
    away = members("a", **AWAY)
    until(lambda: len(away.pending) == 30, away)
    other = members("b")
    until(lambda: len(other.pending) == 30, other)  # while nobody reads for the first
    other.commit()
    with pytest.raises(CommitRefusedError):
        away.commit()
    return other.learnt == [f"d{n}" for n in range(30)] and away.learnt == []


def test_a_runner_that_was_away_for_long_commits_nothing(server, topic, members):
    assert keeps_out_who_was_away(server, topic, members)


def test_a_group_that_is_not_asked_is_caught(server, topic, members, monkeypatch):
    monkeypatch.setattr(KafkaGroupSource, "claim", KafkaGroupSource.claim)
    BUGS["no-fence"]()
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        keeps_out_who_was_away(server, topic, members)


def forgets_what_it_lost(server, topic, members):
    """Whether a runner that gets partitions again keeps nothing that others have learnt."""
    create(server, topic)
    rows = plain.records(30)
    fill(server, topic, rows[:20])
    away = members("a", **AWAY)
    until(lambda: len(away.pending) == 20, away)
    other = members("b", **{"session.timeout.ms": 1000})
    until(lambda: len(other.pending) == 20, other)
    other.commit()
    other.close()  # and never comes back
    fill(server, topic, rows[20:])
    until(lambda: "d29" in away.pending, away)
    away.commit()
    return away.learnt == [f"d{n}" for n in range(20, 30)]


def test_a_runner_that_gets_partitions_again_learns_the_rest(server, topic, members):
    assert forgets_what_it_lost(server, topic, members)


def test_a_runner_that_keeps_what_it_lost_is_caught(server, topic, members, monkeypatch):
    monkeypatch.setattr(KafkaGroupSource, "_on_lost", KafkaGroupSource._on_lost)
    monkeypatch.setattr(KafkaGroupSource, "_on_revoke", KafkaGroupSource._on_revoke)
    BUGS["keep-what-is-lost"]()
    assert not forgets_what_it_lost(server, topic, members)


def goes_on_without_offsets(server, topic, folder):
    """Whether a runner goes on where it was when the offsets of its group were deleted."""
    create(server, topic)
    rows = plain.records(200)
    fill(server, topic, rows[:100])
    source = server.url(topic, group=topic, **SOON)
    run(folder, source, idle=2.0)
    delete_group(server, topic)
    fill(server, topic, rows[100:])
    run(folder, source, idle=2.0)
    return plain.model_in(folder) == plain.learnt(rows)


def delete_group(server, group):
    client, end = admin(server), time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            client.delete_consumer_groups([group])[group].result(PATIENCE)
        except KafkaException:  # it still has a member, for a moment
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the group is never empty")


def test_the_offsets_of_the_group_do_not_decide_where_to_go_on(server, topic, folder):
    assert goes_on_without_offsets(server, topic, folder)


def test_trust_in_the_offsets_of_the_group_is_caught(server, topic, folder, monkeypatch):
    monkeypatch.setattr(KafkaGroupSource, "_find_places", KafkaGroupSource._find_places)
    BUGS["trust-the-group"]()
    assert not goes_on_without_offsets(server, topic, folder)


def test_a_model_may_join_a_group_later(server, topic, folder):
    create(server, topic)
    rows = plain.records(90)
    fill(server, topic, rows[:30])
    run(folder, server.url(topic))
    fill(server, topic, rows[30:60])
    run(folder, server.url(topic, group=topic), idle=2.0)
    fill(server, topic, rows[60:])
    run(folder, server.url(topic))
    assert plain.model_in(folder) == plain.learnt(rows)


class Falling:
    """A producer whose broker falls silent when a commit is asked for the first time."""

    def __init__(self, producer, server):
        self._producer, self._server, self.asked = producer, server, 0

    def __getattr__(self, name):
        return getattr(self._producer, name)

    def __len__(self):
        return len(self._producer)

    def commit_transaction(self, seconds):
        self.asked += 1
        if self.asked == 1:
            self._server.pause()
        self._producer.commit_transaction(seconds)


def test_a_commit_without_an_answer_is_completed(server, topic, members, monkeypatch):
    create(server, topic, 2)
    fill(server, topic, plain.records(20))
    first = members("a", **{"session.timeout.ms": 20_000})
    until(lambda: len(first.pending) == 20, first)
    outbox = first.source.transactions.start(Caller(first.name))
    outbox.producer = Falling(outbox.producer, server)
    monkeypatch.setattr(transactions, "ANSWER", 0.3)
    try:
        with pytest.raises(UnreachableError):
            first.commit()
    finally:
        server.resume()
    end = time.monotonic() + PATIENCE
    while not first.number and time.monotonic() < end:
        with suppress(UnreachableError):
            first.commit()
    assert (first.number, outbox.producer.asked > 1) == (1, True)
    assert first.source.transactions.commits.read()[f"runner/{first.name}"] == {"snapshot": 1}


class Deaf(Falling):
    """A producer that never comes back."""

    def send_offsets_to_transaction(self, *arguments):
        threading.Event().wait()


def test_a_client_that_never_comes_back_is_replaced(server, topic, members, monkeypatch):
    create(server, topic, 2)
    fill(server, topic, plain.records(20))
    first = members("a")
    until(lambda: len(first.pending) == 20, first)
    outbox = first.source.transactions.start(Caller(first.name))
    outbox.producer = Deaf(outbox.producer, server)
    monkeypatch.setattr(transactions, "STUCK", 0.2)
    with pytest.raises(CommitRefusedError, match="the client does not answer"):
        first.commit()
    monkeypatch.undo()
    first.source.close()
    first.open()
    until(lambda: len(first.pending) == 20, first)
    first.commit()
    assert first.source.transactions.commits.read()[f"runner/{first.name}"] == {"snapshot": 1}


def test_a_member_that_stops_leaves_its_partitions_to_others_at_once(server, topic, members):
    """Others do not wait for the end of its session, which would be long here."""
    create(server, topic, partitions=2)
    rows, long = plain.records(20), {"session.timeout.ms": 300_000}
    fill(server, topic, rows[:10])
    one = members("one", **long)
    until(lambda: len(one.pending) == 10, one)
    one.commit()
    one.close()
    fill(server, topic, rows[10:], partition=1)
    other = members("other", **long)
    until(lambda: len(other.pending) == 10, other)
    assert other.pending == [row["id"] for row in rows[10:]]
