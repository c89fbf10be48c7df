"""What is measured of ``clasher run``: each beside a peer, turn by turn, in one process."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.flowing import topics
from clasher.cli.commands.run import calm_collector
from clasher.evaluate import evaluate
from clasher.flow import Flow, Options, Outlet
from clasher.io import open_stream
from clasher.io.registry import commit_as_one, sink_at, source_at
from clasher.model import Clasher
from support.corpora import Corpus
from support.servers.redis import RedisServer

ROUNDS = 3
READ = 4000  # entries at a time, here and there
GROUP, STREAM = "desk", "news"


class Plan:
    """The documents: short ones for a broker, long ones for a file."""

    def __init__(self, short: Corpus, long: Corpus, documents: int) -> None:
        self.short, self.long, self.documents = short, long, documents


def redis(plan: Plan) -> dict[str, Any]:
    """Short texts through Redis, with and without a group, against a loop that reads them only."""
    lines = _lines(plan.short, plan.documents)
    with _folder() as here, _server(here) as server:
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
    """Long texts out of a file, against the test-then-train loop of ``clasher evaluate``."""
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
    """Short texts through Kafka: from a position, in a group, in transactions."""
    lines = _lines(plan.short, plan.documents)
    with _folder() as here, topics.started(here) as broker:
        topics.fill(broker, STREAM, lines)
        numbers = count()

        def flow(group: bool = False, **given: Any) -> float:
            options = {"group": f"{GROUP}-{next(numbers)}"} if group else {}
            return _flow(broker.url(STREAM, **options), here, len(lines), **given)

        ways: dict[str, Callable[[], float]] = {
            "decoding topic": lambda: topics.read(broker, STREAM, len(lines), json.loads),
            "topic": flow,
            "decoding members": lambda: topics.read_as_group(
                broker, STREAM, len(lines), f"bare-{next(numbers)}", json.loads
            ),
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
    """Seconds that a flow takes, from its start to the last snapshot."""
    shutil.rmtree(here / "model", ignore_errors=True)
    out = here / "out.jsonl"
    out.unlink(missing_ok=True)
    read, written = source_at(source), sink_at(sink or str(out))
    if transactional:
        commit_as_one(read, [written])
    flow = Flow(here / "model", read, [Outlet(written)], options=Options(chunk=READ, idle=0.0))
    start = time.perf_counter()
    figures = flow.run()
    seconds = time.perf_counter() - start
    if figures.documents + figures.duplicates != documents:
        raise SystemExit(f"{documents:,} documents were sent, {figures.documents:,} learnt")
    return seconds


def _evaluate(news: Path) -> float:
    start = time.perf_counter()
    evaluate(Clasher(), ((batch.texts, batch.labels) for batch in open_stream(news)))
    return time.perf_counter() - start


# ── those who only read ──────────────────────────────────────────────────────────────────────────


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
    """A group that has read nothing."""
    server.client.xgroup_destroy(STREAM, GROUP)
    server.client.delete("out")
    server.client.xgroup_create(STREAM, GROUP, "0")
    return GROUP


# ── the rounds ───────────────────────────────────────────────────────────────────────────────────


def _rounds(ways: dict[str, Callable[[], float]], documents: int) -> dict[str, list[float]]:
    """Documents a second of each way, in rounds; one before them warms everything up."""
    for way in ways.values():
        way()
    rates: dict[str, list[float]] = {name: [] for name in ways}
    with calm_collector():  # as ``clasher run`` does, for all of them
        for _ in range(ROUNDS):
            for name, way in ways.items():
                rates[name].append(documents / way())
    return rates


def _ratios(
    rates: dict[str, list[float]], pairs: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """The median ratio of ways to their peers in the same round."""
    found = []
    for name, peer in pairs:
        ratios = [own / other for own, other in zip(rates[name], rates[peer], strict=True)]
        found.append(
            {"way": name, "peer": peer, "ratio": statistics.median(ratios), "ratios": ratios}
        )
    return found


def _lines(corpus: Corpus, documents: int) -> list[bytes]:
    """So many records; a corpus that has fewer is gone through again, under other ids."""
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
def _server(here: Path) -> Iterator[RedisServer]:
    server = RedisServer(here / "redis")
    try:
        yield server
    finally:
        server.stop()
