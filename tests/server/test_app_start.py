"""The start of a service, and the demo."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from clasher.cli import demo_corpus
from clasher.cli.commands import cli
from clasher.cli.commands.serve import FIRST, ROUNDS, feed
from clasher.cli.demo_corpus import Collection, Docstring
from clasher.errors import FolderError
from clasher.server.app import Server, bind
from clasher.server.service import Service, Setup
from clasher.service.engine import Engine
from clasher.service.structs import Document
from tests.server.servers import LESSONS, PATIENCE, SETTINGS, serve


def test_requests_get_503_until_recovery(folder: Path) -> None:
    may_open, is_ready = threading.Event(), threading.Event()

    def slowly() -> Engine:
        assert may_open.wait(PATIENCE)
        return Engine(folder, SETTINGS)

    async def ready(_: Engine) -> None:
        is_ready.set()

    server = Server(Service(slowly, Setup()), ready)
    listening = bind("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=[[listening]])
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "recovering"})
        for early in (client.get("/v1/metrics"), client.post("/v1/predict", json={"text": "a"})):
            assert early.status_code == 503
            assert early.headers["retry-after"] == "1"
            assert early.json()["type"] == "urn:clasher:problem:recovering"
        may_open.set()
        assert is_ready.wait(PATIENCE)
        assert client.get("/readyz").status_code == 200
    server.should_exit = True
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_stop_during_recovery_closes_the_folder(folder: Path) -> None:
    may_open = threading.Event()

    def slowly() -> Engine:
        assert may_open.wait(PATIENCE)
        return Engine(folder, SETTINGS)

    server = Server(Service(slowly, Setup()))
    listening = bind("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=[[listening]])
    thread.start()
    httpx.get(f"http://127.0.0.1:{listening.getsockname()[1]}/healthz", trust_env=False)
    server.should_exit = True
    may_open.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    Engine(folder).close()


def test_a_stop_ends_a_long_recovery(folder: Path) -> None:
    with Engine(folder, SETTINGS) as engine:
        engine.learn([Document(text="wheat", labels=["grain"])]).result()
        engine._pipeline._snapshot = lambda: None  # type: ignore[method-assign]  # the log remains
    asked = threading.Event()

    def is_stopping() -> bool:
        asked.set()
        return stopped.wait(PATIENCE) and service.is_stopping()

    stopped = threading.Event()
    service = Service(lambda: Engine(folder, is_stopping=is_stopping), Setup())
    server = Server(service)
    thread = threading.Thread(target=server.run, args=[[bind("127.0.0.1", 0)]])
    thread.start()
    assert asked.wait(PATIENCE)
    server.should_exit = True
    while not service.is_stopping() and thread.is_alive():
        thread.join(0.01)
    stopped.set()
    thread.join(PATIENCE)
    assert (thread.is_alive(), server.failure) == (False, None)
    with Engine(folder) as engine:
        assert engine.replayed == 1


def test_a_folder_in_use_is_the_failure(folder: Path) -> None:
    with serve(folder):
        server = Server(Service(lambda: Engine(folder), Setup()))
        server.run([bind("127.0.0.1", 0)])
        assert isinstance(server.failure, FolderError)


def test_an_unexpected_error_ends_with_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Engine:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    monkeypatch.setattr("clasher.service.engine.Engine", fail)
    ended = CliRunner().invoke(cli, ["serve", "--data", str(folder), "--port", "0", "--quiet"])
    assert ended.exit_code == 2
    assert ended.output.count("\n") == 1
    assert f"{folder}: the service cannot start: UnicodeDecodeError" in ended.output


def test_the_demo_predicts_before_it_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = [
        Docstring(f"package.object{n}", LESSONS[n % 3]["text"], LESSONS[n % 3]["labels"])
        for n in range(FIRST + 20)
    ]
    monkeypatch.setattr(demo_corpus, "collect", lambda limit: Collection(some[:limit]))

    async def fed() -> tuple[int, int, int]:
        service = Service(lambda: Engine(folder, SETTINGS), Setup())
        await service.open()
        await feed(service, pause=0.0)
        figures = await service.metrics()
        await service.close()
        return figures.documents_predicted, figures.documents_learned, figures.documents_taught

    predicted, learned, taught = asyncio.run(fed())
    assert predicted == 20 * ROUNDS
    assert learned == FIRST + taught
    assert 20 < taught < 20 * ROUNDS
    _, again, _ = asyncio.run(fed())
    assert again == learned + taught  # another run goes on learning
