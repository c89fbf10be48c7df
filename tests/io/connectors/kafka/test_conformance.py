"""Kafka topics, groups and transactions pass the checks that we ship for connectors."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TopicPartition

from clasher.io.registry import commit_as_one, sink_at, source_at
from clasher.testing import SinkCase, SinkChecks, SourceCase, SourceChecks
from support.servers.kafka_messages import admin, create, fill, found

PATIENCE = 30.0  # seconds


class TopicCase(SourceCase):
    patience = PATIENCE

    def __init__(self, broker, topic, **options):
        self._broker, self._topic, self._options = broker, topic, options
        self._time = 0
        create(broker, topic, 2)

    def source(self):
        return source_at(self._broker.url(self._topic, **self._options))

    def put(self, values):
        for partition in (0, 1):  # in turn: the times say which is next
            times = range(self._time + partition, self._time + len(values), 2)
            fill(self._broker, self._topic, values[partition::2], partition, times)
        self._time += len(values)

    def lose(self):
        if not self._broker.is_real:
            raise NotImplementedError
        client, wanted = admin(self._broker), TopicPartition(self._topic, 0, 3)
        client.delete_records([wanted])[wanted].result(PATIENCE)

    def replace(self):
        if not self._broker.is_real:
            raise NotImplementedError
        client = admin(self._broker)
        client.delete_topics([self._topic])[self._topic].result(PATIENCE)
        create(self._broker, self._topic)
        until = time.monotonic() + PATIENCE
        while client.list_topics(self._topic).topics[self._topic].error is not None:
            assert time.monotonic() < until, "the broker does not show the new topic"


class TestTopic(SourceChecks):
    @pytest.fixture
    def case(self, broker, topic):
        return TopicCase(broker, topic)


class TestGroup(SourceChecks):
    @pytest.fixture
    def case(self, server, topic):
        soon = {"session.timeout.ms": 1500, "heartbeat.interval.ms": 200}
        return TopicCase(server, topic, group=topic, commits=f"{topic}-commits", **soon)


class TopicOutputs(SinkCase):
    is_exact = False

    def __init__(self, broker, topic, **options):
        self._broker, self._topic, self._options = broker, topic, options
        create(broker, topic)

    def sink(self):
        return sink_at(self._broker.url(self._topic, **self._options))

    def outputs(self):
        return [message.value() for message in found(self._broker, self._topic)]


class TestSink(SinkChecks):
    @pytest.fixture
    def case(self, server, topic):
        return TopicOutputs(server, topic)


class TransactionalOutputs(TopicOutputs):
    is_exact = True

    def sink(self):
        sink = super().sink()
        commit_as_one(source_at("-"), [sink])
        return sink


class TestTransactionalSink(SinkChecks):
    @pytest.fixture
    def case(self, server, topic):
        return TransactionalOutputs(server, topic, commits=f"{topic}-commits")
