"""Kafka topics: read from a position or in a group; written message by message."""

from clasher.io.connectors.kafka.source import kafka_source as kafka_source
from clasher.io.connectors.kafka.transactions import KafkaSink as KafkaSink
from clasher.io.connectors.kafka.transactions import transactional as transactional
