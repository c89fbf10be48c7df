"""Compare the speed of ``clasher run`` with loops that only read the stream.

python -m benchmarks.flow                all studies, then docs/reference/performance.md
python -m benchmarks.flow redis          one study; keeps the figures of the others

All ways take turns in one process.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.study import Study
from clasher.cli.commands.run import calm_collector
from clasher.evaluate import evaluate
from clasher.flow import Flow, FlowOptions, Outlet
from clasher.io import open_stream
from clasher.io.connectors.kafka.cluster import QUEUE
from clasher.io.registry import commit_as_one, sink_at, source_at
from clasher.model import Clasher
from support import corpora
from support.corpora import Corpus
from support.servers.kafka import KafkaServer
from support.servers.kafka_messages import create
from support.servers.redis import RedisServer

ROUNDS = 3
READ = 4000  # entries per read, for all ways
GROUP, STREAM = "desk", "news"
PARTITIONS = 4
PATIENCE = 60.0  # seconds
LIBRARIES = ("clasher", "numpy", "numba", "msgspec", "redis", "confluent-kafka")
STUDY = Study("flow", __doc__, LIBRARIES)

Server = TypeVar("Server", RedisServer, KafkaServer)


class Plan:
    """Documents to send: short ones through brokers, long ones from files."""

    def __init__(self, short: Corpus, long: Corpus, documents: int) -> None:
        self.short, self.long, self.documents = short, long, documents


def redis(plan: Plan) -> dict[str, Any]:
    """Compare short texts through Redis, with and without a group, with loops that only read."""
    lines = _lines(plan.short, plan.documents)
    with _folder() as here, _running(RedisServer(here / "redis")) as server:
        _fill(server, lines)
        ways: dict[str, Callable[[], float]] = {
            "bare group": lambda: _bare_group(server, len(lines)),
            "group": lambda: _flow(server.url(STREAM, group=_fresh(server)), here, len(lines)),
            "group, to Redis": lambda: _flow(
                server.url(STREAM, group=_fresh(server)), here, len(lines), server.url("out")
            ),
            "bare": lambda: _bare(server, len(lines)),
            "position": lambda: _flow(server.url(STREAM), here, len(lines)),
        }
        rates = _rounds(ways, len(lines))
    return {
        "documents": len(lines),
        "rates": rates,
        "ratios": _ratios(rates, [("group", "bare group"), ("group, to Redis", "bare group"),
                                  ("position", "bare")]),
    }  # fmt: skip


def files(plan: Plan) -> dict[str, Any]:
    """Compare long texts from a file with the test-then-train loop of ``clasher evaluate``."""
    lines = _lines(plan.long, plan.documents)
    with _folder() as here:
        news = here / "news.jsonl"
        news.write_bytes(b"\n".join(lines) + b"\n")
        ways = {
            "evaluate": lambda: _evaluate(news),
            "run": lambda: _flow(str(news), here, len(lines)),
        }
        rates = _rounds(ways, len(lines))
    return {
        "documents": len(lines),
        "rates": rates,
        "ratios": _ratios(rates, [("run", "evaluate")]),
    }


def kafka(plan: Plan) -> dict[str, Any]:
    """Measure short texts through Kafka: from a position, in a group, in transactions."""
    lines = _lines(plan.short, plan.documents)
    with _folder() as here, _running(_kafka_server(here)) as broker:
        _fill_topic(broker, lines)
        numbers = count()

        def flow(group: bool = False, **given: Any) -> float:
            options = {"group": f"{GROUP}-{next(numbers)}"} if group else {}
            return _flow(broker.url(STREAM, **options), here, len(lines), **given)

        ways: dict[str, Callable[[], float]] = {
            "decoding topic": lambda: _bare_topic(broker, len(lines)),
            "topic": flow,
            "decoding members": lambda: _bare_members(broker, len(lines), f"bare-{next(numbers)}"),
            "members": lambda: flow(group=True),
            "transactions": lambda: flow(group=True, sink=broker.url("out"), transactional=True),
        }
        rates = _rounds(ways, len(lines))
    pairs = [("topic", "decoding topic"), ("members", "decoding members"),
             ("transactions", "decoding members")]  # fmt: skip
    return {"documents": len(lines), "rates": rates, "ratios": _ratios(rates, pairs)}


STUDIES: dict[str, Callable[[Plan], dict[str, Any]]] = {
    "redis": redis, "kafka": kafka, "files": files,
}  # fmt: skip


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────


def _flow(
    source: str, here: Path, documents: int, sink: str | None = None, transactional: bool = False
) -> float:
    """Return the seconds of a flow, from its start to the last snapshot."""
    shutil.rmtree(here / "model", ignore_errors=True)
    out = here / "out.jsonl"
    out.unlink(missing_ok=True)
    read, written = source_at(source), sink_at(sink or str(out))
    if transactional:
        commit_as_one(read, [written])
    flow = Flow(here / "model", read, [Outlet(written)], options=FlowOptions(chunk=READ, idle=0.0))
    start = time.perf_counter()
    figures = flow.run()
    seconds = time.perf_counter() - start
    if figures.documents + figures.duplicates != documents:
        raise SystemExit(f"sent {documents:,} documents, but learnt {figures.documents:,}")
    return seconds


def _evaluate(news: Path) -> float:
    start = time.perf_counter()
    evaluate(Clasher(), ((batch.texts, batch.labels) for batch in open_stream(news)))
    return time.perf_counter() - start


# ── loops that only read ──────────────────────────────────────────────────────────────────────────


def _bare_group(server: RedisServer, documents: int) -> float:
    group, client, seen = _fresh(server), server.client, 0
    start = time.perf_counter()
    while seen < documents:
        ((_, entries),) = client.xreadgroup(group, "bare", {STREAM: ">"}, count=READ)
        client.xack(STREAM, group, *(own for own, _ in entries))
        seen += len(entries)
    return time.perf_counter() - start


def _bare(server: RedisServer, documents: int) -> float:
    client, last, seen = server.client, b"0-0", 0
    start = time.perf_counter()
    while seen < documents:
        ((_, entries),) = client.xread({STREAM: last}, count=READ)
        last = entries[-1][0]
        seen += len(entries)
    return time.perf_counter() - start


def _fresh(server: RedisServer) -> str:
    """Make a group that has read nothing."""
    server.client.xgroup_destroy(STREAM, GROUP)
    server.client.delete("out")
    server.client.xgroup_create(STREAM, GROUP, "0")
    return GROUP


def _bare_topic(broker: KafkaServer, documents: int) -> float:
    """Return the seconds of a loop that reads and decodes all messages from the beginning."""
    start = time.perf_counter()
    consumer = _consumer(broker, "bare")
    consumer.assign([TopicPartition(STREAM, own, 0) for own in range(PARTITIONS)])
    _consume(consumer, documents)
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def _bare_members(broker: KafkaServer, documents: int, group: str) -> float:
    """Return the seconds of a loop that joins a group, reads, decodes and commits."""
    start = time.perf_counter()
    consumer = _consumer(broker, group)
    consumer.subscribe([STREAM])
    _consume(consumer, documents)
    consumer.commit(asynchronous=False)
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def _consumer(broker: KafkaServer, group: str) -> Consumer:
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.servers, "group.id": group, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "fetch.queue.backoff.ms": QUEUE,
    }  # fmt: skip
    return Consumer(settings)


def _consume(consumer: Consumer, documents: int) -> None:
    seen, until = 0, time.monotonic() + PATIENCE
    while seen < documents:
        values = [message.value() for message in consumer.consume(READ, 0.1)]
        seen += len(list(map(json.loads, values)))
        if time.monotonic() > until:
            raise SystemExit(f"only {seen:,} of {documents:,} messages arrived")


# ── the rounds ───────────────────────────────────────────────────────────────────────────────────


def _rounds(ways: dict[str, Callable[[], float]], documents: int) -> dict[str, list[float]]:
    """Measure documents per second of each way in rounds, after a warm-up round."""
    for way in ways.values():
        way()
    rates: dict[str, list[float]] = {name: [] for name in ways}
    with calm_collector():  # as ``clasher run`` does, here for all ways
        for _ in range(ROUNDS):
            for name, way in ways.items():
                rates[name].append(documents / way())
    return rates


def _ratios(
    rates: dict[str, list[float]], pairs: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Compute the speed of each way relative to its peer in the same round."""
    found = []
    for name, peer in pairs:
        ratios = [own / other for own, other in zip(rates[name], rates[peer], strict=True)]
        found.append(
            {"way": name, "peer": peer, "ratio": statistics.median(ratios), "ratios": ratios}
        )
    return found


def _lines(corpus: Corpus, documents: int) -> list[bytes]:
    """Encode JSON records; repeat a shorter corpus with new ids."""
    rows = zip(corpus.texts.to_pylist(), corpus.labels.to_pylist(), strict=True)
    return [
        msgspec.json.encode({"id": number, "text": text, "labels": labels})
        for number, (text, labels) in zip(range(documents), cycle(rows), strict=False)
    ]


def _fill(server: RedisServer, lines: list[bytes]) -> None:
    for start in range(0, len(lines), READ):
        pipe = server.client.pipeline(transaction=False)
        for line in lines[start : start + READ]:
            pipe.xadd(STREAM, {"json": line})
        pipe.execute()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@contextmanager
def _running(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


def _kafka_server(here: Path) -> KafkaServer:
    """Start a broker with Java's defaults, which are the fastest."""
    return KafkaServer(here / "kafka", java=["java", "-Xmx2g"])


def _fill_topic(broker: KafkaServer, lines: Sequence[bytes]) -> None:
    """Send messages to all partitions in turn."""
    create(broker, STREAM, PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.servers, "linger.ms": 20})
    for number, line in enumerate(lines):
        while True:
            try:
                producer.produce(STREAM, line, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(PATIENCE):
        raise SystemExit("the broker did not accept the documents in time")


def main(arguments: list[str]) -> int:
    given = STUDY.parser(200_000, STUDIES).parse_args(arguments)
    short = corpora.beginning(given.data, "goemotions", given.limit)
    long = corpora.beginning(given.data, "arxiv", given.limit)
    named = {"redis": short, "kafka": short, "files": long}

    def measure(part: str) -> dict[str, Any]:
        corpus = named[part]
        about = {"corpus": f"{corpus.name} ({len(corpus):,}, {given.limit:,} sent)"}
        return STUDIES[part](Plan(short, long, given.limit)) | about

    STUDY.measure(given, STUDY.header(arguments, ROUNDS), STUDIES, measure, "ratios")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
