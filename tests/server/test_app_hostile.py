"""Hostile requests leave the server healthy and the model unchanged."""

from __future__ import annotations

import pickle
import random
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import FrameType

import pytest

from clasher.server.service import Predictor, Workers
from clasher.service.engine import Engine
from clasher.service.log import Log
from clasher.service.structs import Document
from tests.server.servers import LESSONS, PATIENCE, SETTINGS, Served, read_all, serve

FRAGMENTS = [
    b"NaN", b"Infinity", b"-1e999", b"1e400", b"null", b"{}", b"[]", b'"', b"\\ud800", b"\xff",
    b"\x00", b"[" * 2000, b'{"documents":', b'{"text":', b'"labels":', b'{"a":true}', b"true",
    b'"' + b"a" * 3000 + b'"', b",", b":", b"}", b"]", b"\n", b"\xef\xbb\xbf", b"0" * 5000,
]  # fmt: skip
HEADERS = [
    b"Content-Encoding: gzip", b"Content-Encoding: br", b"Transfer-Encoding: chunked",
    b"Content-Length: -1", b"Content-Length: 1e9", b"Content-Length: 5\r\nContent-Length: 6",
    b"Expect: 100-continue", b"Upgrade: websocket\r\nConnection: upgrade", b"X: \xff\xfe",
    b"Authorization: Bearer \xff", b"Idempotency-Key: " + b"k" * 3000, b"Origin: http://[",
    b"X-Clasher-Who: %FF%FE", b"Last-Event-ID: 99999999999999999999", b"Host: b", b"Accept: \x00",
]  # fmt: skip
PATHS = [
    b"/v1/predict", b"/v1/learn", b"/v1/feedback", b"/v1/explain", b"/v1/undo", b"/v1/teach",
    b"/v1/labels/1", b"/v1/labels/-1", b"/v1/labels?start=1e9", b"/v1/log?after=nan", b"/%00",
    b"/v1/predict?top=-1", b"/\xff", b"*", b"http://evil.example/", b"/v1/model",
    b"/" + b"a" * 9000,
]  # fmt: skip
METHODS = [b"POST", b"POST", b"POST", b"POST", b"PUT", b"GET", b"DELETE", b"PATCH", b"TRACE"]
TYPES = [b"application/json", b"application/json", b"application/x-ndjson", b"text/html"]


def requests(number: int) -> Iterator[bytes]:
    """Make requests that are nearly right; none of them teaches anything."""
    chance = random.Random(0)
    for _ in range(number):
        body = b"".join(chance.choices(FRAGMENTS, k=chance.randint(0, 6)))
        head = [
            b"%s %s HTTP/1.1" % (chance.choice(METHODS), chance.choice(PATHS)),
            b"Host: localhost",
            b"Content-Type: %s" % chance.choice(TYPES),
        ]
        head += chance.sample(HEADERS, chance.choice([0, 0, 1, 2]))
        if chance.random() < 0.9:
            head.append(b"Content-Length: %d" % len(body))
        yield b"\r\n".join(head) + b"\r\nConnection: close\r\n\r\n" + body


_watching: list[str] = []
_seen: list[str] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event.startswith("pickle.") and not _is_compiler(sys._getframe()):
        _seen.append(f"{event} {arguments}")


def _is_compiler(frame: FrameType | None) -> bool:
    """Tell whether Numba reads its own cache of compiled code."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "numba.core.caching":
            return True
        frame = frame.f_back
    return False


@pytest.fixture
def no_pickle() -> Iterator[None]:
    """Fail if anything is unpickled. An audit hook cannot be removed, only ignored."""
    sys.addaudithook(_audit)
    _seen.clear()
    _watching.append("now")
    yield
    _watching.clear()
    assert not _seen


def state_of(served: Served) -> tuple[bytes, int]:
    """Return the bytes of the model and its version."""
    with served.engine.model_file().result() as file:
        return file.read(), served.engine.version


def test_the_audit_hook_sees_pickles(no_pickle: None) -> None:
    pickle.loads(pickle.dumps(Path("x")))
    assert _seen
    _seen.clear()


@pytest.mark.parametrize("number", [300, pytest.param(3000, marks=pytest.mark.trial)])
def test_hostile_requests_change_nothing(strict: Served, no_pickle: None, number: int) -> None:
    before = state_of(strict)
    for request in requests(number):
        with socket.create_connection(("127.0.0.1", strict.port), PATIENCE) as connection:
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                answer = read_all(connection)
            except ConnectionError:
                continue
            assert b" 500 " not in answer[:20], request
            assert b"Traceback" not in answer
    assert strict.get("/readyz") == {"status": "ok"}
    assert strict.post("/v1/predict", {"text": LESSONS[2]["text"]})["predictions"]
    assert state_of(strict) == before


def test_floods_of_labels_change_nothing(strict: Served) -> None:
    before = state_of(strict)
    for number in range(20):
        flood = [f"{number} {n}" for n in range(600)]
        answer = strict.client.post("/v1/learn", json={"text": "x", "labels": flood})
        assert answer.status_code == 409
    assert state_of(strict) == before


def test_no_operation_uses_pickle(folder: Path, no_pickle: None) -> None:
    with serve(folder) as served:
        served.teach()
        model = served.client.get("/v1/model").content
        content = {"content-type": "application/octet-stream"}
        assert served.client.put("/v1/model", content=model, headers=content).status_code == 200
        bomb = b"\x80\x04cos\nsystem\n(S'true'\ntR."
        assert served.client.put("/v1/model", content=bomb, headers=content).status_code == 422
    with serve(folder) as served:
        assert served.get("/v1/names")["names"]


def test_a_full_queue_refuses_requests(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(folder) as served:
        served.teach()
        begun, held = Event(), Future[None]()

        def slow_disk(log: Log) -> None:
            begun.set()
            held.result(PATIENCE)

        served.engine._pipeline.call(slow_disk)
        assert begun.wait(PATIENCE)  # otherwise the next ones may be written before
        few = replace(served.engine.options, waiting_requests=3)
        monkeypatch.setattr(served.engine._pipeline, "_options", few)
        waiting = [served.engine.learn([Document(text="a", labels=["x"])]) for _ in range(3)]
        answer = served.client.post("/v1/learn", json={"text": "a", "labels": ["x"]})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["type"] == "urn:clasher:problem:busy"
        assert served.post("/v1/predict", {"text": LESSONS[2]["text"]})["predictions"]
        held.set_result(None)
        assert [future.result(PATIENCE).documents for future in waiting] == [1, 1, 1]
        assert served.post("/v1/learn", {"text": "a", "labels": ["x"]})["documents"] == 1


async def _gathered(engine: Engine, batches: list[list[Document]]) -> list[object]:
    import asyncio

    workers = Workers(threads=1, waiting=1)
    predictor = Predictor(engine, workers)

    async def one(documents: list[Document]) -> object:
        return [p.id async for piece in predictor.predict(documents, 1, False) for p in piece]

    answers = await asyncio.gather(*map(one, batches), return_exceptions=True)
    workers.close()
    return answers


def test_a_bad_document_fails_alone(folder: Path) -> None:
    import asyncio

    from clasher.errors import TextError

    with Engine(folder, SETTINGS) as engine:
        good = [[Document(text="a", id=str(n))] for n in range(100)]
        bad = [Document(text="\ud800", id="bad")]
        answers = asyncio.run(_gathered(engine, [*good[:50], bad, *good[50:]]))
        assert isinstance(answers.pop(50), TextError)
        assert answers == [[str(n)] for n in range(100)]


def test_waiting_work_is_bounded(folder: Path) -> None:
    import asyncio

    from clasher.server.problems import HttpError

    with Engine(folder, SETTINGS) as engine:
        large = [[Document(text="a", id=str(n)) for n in range(600)] for _ in range(3)]
        answers = asyncio.run(_gathered(engine, large))
        assert [isinstance(answer, HttpError) for answer in answers] == [False, True, True]
