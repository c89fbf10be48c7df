"""Server-sent events."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from clasher.server import event_stream
from clasher.server.event_stream import Hub
from clasher.server.problems import HttpError
from tests.server.servers import LESSONS, PATIENCE, Served, read_all, serve


@contextmanager
def watching(served: Served, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
    """Stream the events of a server."""
    with served.client.stream("GET", "/v1/events", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in answer.headers
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            if "data" in fields:
                yield {"id": fields["id"], "event": fields["event"], **json.loads(fields["data"])}
            fields = {}


def of_kind(events: Iterator[dict[str, Any]], *kinds: str) -> Iterator[dict[str, Any]]:
    return (event for event in islice(events, 1000) if event["kind"] in kinds)


def test_lessons_become_events(folder: Path) -> None:
    with serve(folder) as served, watching(served) as events:
        served.teach()
        served.post("/v1/predict", {"text": "a goal", "id": "doc"})
        served.post("/v1/feedback", {"id": "doc", "labels": ["sport"]})
        served.post("/v1/labels/1", {"action": "rename", "into": "cereals"})
        told = list(islice(of_kind(events, "learned", "feedback", "label"), 3))
        assert {event["kind"] for event in told} == {"learned", "feedback", "label"}
        assert all(event["event"] == event["kind"] for event in told)
        by_kind = {event["kind"]: event["data"] for event in told}
        assert by_kind["learned"]["documents"] == 15
        assert by_kind["feedback"]["id"] == "doc"


def test_metrics_come_as_events(served: Served) -> None:
    with watching(served) as events:
        figures = next(of_kind(events, "metrics"))["data"]
    assert figures["documents_learned"] == served.get("/v1/metrics")["documents_learned"]
    assert figures["subscribers"] >= 1


def test_a_client_that_reconnects_misses_nothing(folder: Path) -> None:
    with serve(folder) as served:
        with watching(served) as events:
            served.post("/v1/learn", {"documents": LESSONS})
            last = next(of_kind(events, "learned"))
        served.post("/v1/predict", {"text": "a goal", "id": "doc"})
        served.post("/v1/feedback", {"id": "doc", "labels": ["sport"]})
        with watching(served) as events:  # by now the feedback has become an event
            next(of_kind(events, "metrics"))
        with watching(served, **{"last-event-id": last["id"]}) as events:
            missed = next(of_kind(events, "feedback"))
        assert missed["number"] > last["number"]


@pytest.mark.parametrize("last", ["", "nonsense", "1-2-3", "00000000-1", "-" * 500])
def test_unknown_event_ids_start_a_new_stream(served: Served, last: str) -> None:
    with watching(served, **{"last-event-id": last}) as events:
        assert next(events)["kind"] == "metrics"


def test_streams_end_when_the_service_stops(folder: Path) -> None:
    with serve(folder) as served:
        streams = []
        for _ in range(5):
            stream = socket.create_connection(("127.0.0.1", served.port), PATIENCE)
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in stream.recv(1000)
            streams.append(stream)
        served.server.should_exit = True
        for stream in streams:
            assert read_all(stream).endswith(b"0\r\n\r\n")  # a complete response
            stream.close()


async def first_lines(own: Hub, count: int) -> list[bytes]:
    return [line async for line, _ in _zip(own.watch(None), count)]


async def _zip(lines: Any, count: int) -> Any:
    number = 0
    async for line in lines:
        yield line, number
        number += 1
        if number == count:
            return


def test_heartbeats_without_events() -> None:
    async def two() -> list[bytes]:
        return await first_lines(Hub(heartbeat=0.01), 3)

    assert asyncio.run(two())[1:] == [b": still here\n\n"] * 2


def test_a_slow_watcher_is_disconnected() -> None:
    async def overrun() -> int:
        own = Hub()
        lines = own.watch(None)
        await anext(lines)
        for number in range(event_stream.BUFFER + 1):
            own.publish("learned", 0.0, {"documents": number})
        rest = [line async for line in lines]
        assert not own.watchers
        return b"".join(rest).count(b"event: learned")

    assert asyncio.run(overrun()) <= event_stream.BUFFER


def test_watchers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "WATCHERS", 1)

    async def crowd() -> None:
        own = Hub()
        first = own.watch(None)
        await anext(first)
        with pytest.raises(HttpError, match="watching already"):
            own.watch(None)

    asyncio.run(crowd())
