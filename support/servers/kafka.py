"""Brokers on loopback: the mock of the client, and a real server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from support.servers.kafka_maven import BUILD, jars

VERSION = "4.3.1"
CACHE = BUILD / f"kafka-{VERSION}"
PATIENCE = 120.0  # seconds
QUICK = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"]
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SAFE:SASL_SSL",
    "listener.name.safe.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.safe.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
    'PlainLoginModule required user_ann="secret";',
    "ssl.keystore.type": "PKCS12",
    "ssl.keystore.password": "clasher",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    # a killed broker may return soon, and transactions of the dead end soon
    "broker.session.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "200",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "log.retention.ms": "-1",  # tests use early timestamps
}


class Broker:
    """A broker to connect to.

    Attributes
    ----------
    servers : str
        Its address.
    is_real : bool
        Whether it has transactions, and topics that are created and deleted.
    """

    servers: str
    is_real: bool
    _process: subprocess.Popen[Any]

    def url(self, topic: str, **options: Any) -> str:
        """Return the address of a topic."""
        query = f"?{urlencode(options)}" if options else ""
        return f"kafka://{self.servers}/{topic}{query}"

    def pause(self) -> None:
        """Stop answering."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Answer again."""
        os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it."""


class RunningBroker(Broker):
    """A server that is running already."""

    is_real = True

    def __init__(self, servers: str) -> None:
        self.servers = servers


class MockBroker(Broker):
    """The mock broker of librdkafka, in a process of its own."""

    is_real = False

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.servers = self._process.stdout.readline().strip()

    def stop(self) -> None:
        """End it."""
        self._process.communicate(timeout=PATIENCE)


MOCK = """
import logging, sys
from confluent_kafka import Producer
broker = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none"},
                  logger=logging.getLogger("mock"))
brokers = broker.list_topics(timeout=10).brokers.values()
print(",".join(f"{one.host}:{one.port}" for one in brokers), flush=True)
sys.stdin.read()
"""


class KafkaServer(Broker):
    """A durable server in a folder of its own, which can be killed."""

    is_real = True

    def __init__(self, folder: Path, java: Sequence[str] = QUICK) -> None:
        download()
        folder.mkdir(parents=True)
        self._java = [*java, "-cp", f"{CACHE / 'jars'}/*"]
        self.servers, self.safe, controller = [f"127.0.0.1:{port}" for port in free_ports(3)]
        advertised = f"PLAINTEXT://{self.servers},SAFE://{self.safe}"
        settings = PROPERTIES | {
            "listeners": f"{advertised},CONTROLLER://{controller}",
            "advertised.listeners": advertised,
            "ssl.keystore.location": str(CACHE / "broker.p12"),
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(folder / "logs"),
        }
        self.certificate = CACHE / "broker.pem"
        self._properties, self._told = folder / "server.properties", folder / "told"
        # Java reads properties as Latin-1, other letters with the escapes of JSON
        lines = [f"{name}={json.dumps(str(value))[1:-1]}\n" for name, value in settings.items()]
        self._properties.write_text("".join(lines))
        subprocess.run(
            [*self._java, "kafka.tools.StorageTool", "format", "--standalone",
             "-t", "Y2xhc2hlcnRlc3RrYWZrYQ", "-c", str(self._properties)],
            check=True, capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, or restart it with its data."""
        with self._told.open("ab") as told:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._properties)],
                stdout=told, stderr=told, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(f"no Kafka server: {self._told.read_text()[-2000:]}")

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", int(self.servers.partition(":")[2]))):
                time.sleep(0.02)
                return False
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        try:
            return bool(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def end(self, how: int = signal.SIGKILL) -> None:
        """Kill it; its data stays."""
        os.kill(self._process.pid, how)
        self._process.wait(PATIENCE)

    def stop(self) -> None:
        """Kill it if it runs."""
        if self._process.poll() is None:
            self.end()


def is_real() -> bool:
    """Whether tests use a real server."""
    return os.environ.get("CLASHER_KAFKA") == "server"


def download() -> None:
    """Download the server once."""
    if not (CACHE / "broker.pem").exists():
        jars(CACHE, f"org.apache.kafka:kafka_2.13:{VERSION}")
        make_certificate()


def make_certificate() -> None:
    """Make a self-signed certificate for loopback."""
    store = CACHE / "broker.p12"
    store.unlink(missing_ok=True)
    tool = ["keytool", "-alias", "broker", "-keystore", str(store), "-storepass", "clasher"]
    made = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1",
            "-validity", "3650", "-storetype", "PKCS12"]  # fmt: skip
    subprocess.run([*tool, *made], check=True, capture_output=True, timeout=PATIENCE)
    shown = subprocess.run(
        [*tool, "-exportcert", "-rfc"], check=True, capture_output=True, timeout=PATIENCE
    )
    (CACHE / "broker.pem").write_bytes(shown.stdout)


def free_ports(how_many: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(how_many)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in found]
