"""Slow and large requests are cut off, and other clients do not notice."""

from __future__ import annotations

import gzip
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from clasher.server.limits import Limits
from tests.server.servers import PATIENCE, Served, exchange, read_all, serve, short_limits

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HEAD = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LINES = {"content-type": "application/x-ndjson"}


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def trickled(port: int, first: bytes, drop: bytes) -> bytes:
    """Send bytes one at a time and return the response."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.settimeout(0.05)
        connection.sendall(first)
        answer = b""
        for _ in range(400):  # twenty seconds: far more than it may take
            try:
                answer += connection.recv(4096)
            except TimeoutError:
                pass
            except ConnectionError:
                return answer
            else:
                return answer
            connection.send(drop)
        raise AssertionError("nobody cut it off")


def test_a_slow_head_is_cut_off(strict: Served) -> None:
    assert status(trickled(strict.port, b"GET /healthz HTTP/1.1\r\nX-A: ", b"a")) == 408


def test_a_slow_second_head_is_cut_off(strict: Served) -> None:
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", strict.port), PATIENCE) as connection:
        connection.sendall(whole)
        assert b"200 OK" in connection.recv(4096)
        connection.sendall(whole[:20])
        assert status(read_all(connection)) == 408


def test_a_silent_connection_is_cut_off(strict: Served) -> None:
    with socket.create_connection(("127.0.0.1", strict.port), PATIENCE) as connection:
        assert status(read_all(connection)) == 408


def test_an_endless_head_is_cut_off(strict: Served) -> None:
    assert status(exchange(strict.port, b"GET / HTTP/1.1\r\n" + b"X-A: aaaa\r\n" * 20_000)) == 431


def test_a_slow_body_is_cut_off(strict: Served) -> None:
    first = HEAD + b"Content-Length: 1000000\r\n\r\n"
    assert status(trickled(strict.port, first, b" ")) == 408


def test_a_missing_body_is_cut_off(strict: Served) -> None:
    answer = exchange(strict.port, HEAD + b"Content-Length: 10\r\n\r\n")
    assert status(answer) == 408
    assert b"application/problem+json" in answer
    assert b"connection: close" in answer


def endless(piece: bytes) -> Iterator[bytes]:
    """Make a body of a gigabyte."""
    return itertools.repeat(piece, 2**30 // len(piece))


@pytest.mark.parametrize("content", ["application/json", "application/x-ndjson"])
def test_an_endless_body_is_cut_off(strict: Served, content: str) -> None:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for piece in endless(b'{"text": "' + b"a" * 65_000 + b'"}\n'):
            sent += len(piece)
            yield piece

    try:
        headers = {"content-type": content}
        answer = strict.client.post("/v1/predict", content=pieces(), headers=headers)
        assert answer.status_code == 413
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        pass  # cut off while it was still sending
    assert sent < 2**30


def test_a_long_body_is_refused_by_its_length(strict: Served) -> None:
    answer = exchange(strict.port, HEAD + b"Content-Length: 999999999999\r\n\r\n")
    assert status(answer) == 413
    assert b"application/x-ndjson" in answer  # the remedy


@pytest.mark.parametrize("layers", [1, 2])
def test_a_compressed_bomb_is_cut_off(strict: Served, layers: int) -> None:
    body = gzip.compress(b" " * 2**28)
    assert len(body) < 2**20
    for _ in range(layers - 1):
        body = gzip.compress(body)
    headers = {"content-type": "application/json", "content-encoding": ", ".join(["gzip"] * layers)}
    answer = strict.client.post("/v1/predict", content=body, headers=headers)
    assert answer.status_code == (413 if layers == 1 else 415)


@pytest.mark.parametrize(
    "body", [b"not gzip", gzip.compress(b'{"text": "a"}')[:-6]], ids=["no gzip", "cut off"]
)
def test_truncated_gzip_is_refused(strict: Served, body: bytes) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = strict.client.post("/v1/predict", content=body, headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "content", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_other_media_types_are_refused(strict: Served, content: str) -> None:
    headers = {"content-type": content}
    answer = strict.client.post("/v1/learn", content=b'{"text": "a"}', headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.headers["accept"]


def test_memory_is_bounded_over_all_requests(folder: Path) -> None:
    limits = short_limits(buffered_bytes=1000, idle_seconds=5.0)
    with serve(folder, limits=limits) as served:
        first = HEAD + b"Content-Length: 1600\r\n\r\n"
        with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
            connection.sendall(first + b'{"text": "' + b"a" * 700)
            while served.server._gate.buffered < 700:
                served.get("/healthz")
            other = served.client.post("/v1/predict", json={"text": "a" * 600})
            assert other.status_code == 503
            assert other.headers["retry-after"] == "1"
        served.get("/healthz")
        for _ in range(100):
            if not served.server._gate.buffered:
                break
            served.get("/healthz")
        assert served.post("/v1/predict", {"text": "a" * 600})["predictions"]


def test_connections_are_bounded(folder: Path) -> None:
    with serve(folder, limits=Limits(connections=5)) as served:
        sockets = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(30)]
        for connection in sockets:
            connection.settimeout(PATIENCE)
            connection.sendall(HEALTH)
        answers = [read_all(connection) for connection in sockets]
        for connection in sockets:
            connection.close()
        assert {answer[:12] for answer in answers if answer} <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
        assert any(b" 200 " in answer for answer in answers)
        assert served.client.get("/healthz").status_code in (200, 503)


@pytest.mark.compiled
def test_a_client_that_does_not_read_is_disconnected(folder: Path) -> None:
    with serve(folder, limits=short_limits(send_seconds=0.3)) as served:
        many = [{"text": "x" * 5000, "labels": ["a"]}] * 4000
        served.engine.learn([_document(one) for one in many]).result()
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with connection:
            connection.settimeout(PATIENCE)
            connection.connect(("127.0.0.1", served.port))
            connection.sendall(b"GET /v1/log HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in connection.recv(1000)
            for _ in range(200):
                if not served.server.server_state.tasks:
                    break
                served.get("/readyz")
                threading.Event().wait(0.05)
            assert not served.server.server_state.tasks
            assert len(read_all(connection, most=2**25)) < 4000 * 5000


def _document(one: dict[str, object]) -> object:
    import msgspec

    from clasher.service.structs import Document

    return msgspec.convert(one, Document)


HOSTILE: dict[str, Callable[[int], object]] = {
    "trickling heads": lambda port: trickled(port, b"GET / HTTP/1.1\r\nX-A: ", b"a"),
    "trickling bodies": lambda port: trickled(port, HEAD + b"Content-Length: 99999\r\n\r\n", b" "),
    "bombs": lambda port: httpx.post(
        f"http://127.0.0.1:{port}/v1/predict",
        content=gzip.compress(b" " * 2**24),
        headers={"content-type": "application/json", "content-encoding": "gzip"},
    ),
    "deep JSON": lambda port: httpx.post(
        f"http://127.0.0.1:{port}/v1/predict",
        content=b"[" * 10**6,
        headers={"content-type": "application/json"},
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_other_clients_are_served_during_attacks(strict: Served, what: str) -> None:
    threads = [threading.Thread(target=HOSTILE[what], args=[strict.port]) for _ in range(8)]
    for thread in threads:
        thread.start()
    answered = 0
    while any(thread.is_alive() for thread in threads) and answered < 10_000:
        answer = strict.post("/v1/predict", {"text": "a late goal in the cup final"})
        assert answer["predictions"][0]["labels"] == ["sport"]
        answered += 1
    for thread in threads:
        thread.join(PATIENCE)
    assert answered
