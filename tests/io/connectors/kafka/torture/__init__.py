"""Ends that a flow from Kafka to Kafka must survive: its own, the broker's, and those of others.

``python -m tests.io.connectors.kafka.torture`` runs them by the thousand; the tests run some, and
show that each kind catches a bug that was put there on purpose.
"""
