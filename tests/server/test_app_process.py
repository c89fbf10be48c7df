"""``clasher serve`` as a process: start, stop, kill."""

from __future__ import annotations

import json
import signal
import socket
import threading
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from clasher import Clasher
from clasher.cli.commands import cli
from clasher.server.tokens import TokenFile
from clasher.service.log import Log
from tests.server.servers import LESSONS, PATIENCE, Process, process, read_all

pytestmark = pytest.mark.compiled
LEARN = b'{"documents": [{"text": "a late goal", "labels": ["sport"]}]}'


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_accepted_requests_and_open_streams(
    folder: Path, number: signal.Signals
) -> None:
    with process(folder) as running:
        stream = socket.create_connection(("127.0.0.1", running.port), PATIENCE)
        stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in stream.recv(1000)
        slow = socket.create_connection(("127.0.0.1", running.port), PATIENCE)
        slow.sendall(b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n"
                     b"Content-Type: application/json\r\n\r\n{")  # fmt: skip
        learned = Teaching(running)
        running.send(number)
        assert read_all(stream).endswith(b"0\r\n\r\n")
        assert running.wait() == 0
        assert "everything acknowledged is on disk" in running.lines[-1]
        assert b" 408 " in read_all(slow)
        stream.close()
        slow.close()
    with process(folder) as again:
        assert "0 log entries replayed" in "".join(again.lines)
        with again.client as client:
            known = client.get("/v1/metrics").json()["documents_learned"]
    assert known >= len(learned.result())


class Teaching:
    """Threads that teach documents until the server stops, and record the acknowledged versions."""

    def __init__(self, running: Process) -> None:
        self._acknowledged: list[int] = []
        self._running = running
        self._first = threading.Event()
        self._threads = [threading.Thread(target=self._teach) for _ in range(8)]
        for thread in self._threads:
            thread.start()
        assert self._first.wait(PATIENCE)

    def _teach(self) -> None:
        headers = {"content-type": "application/json"}
        with self._running.client as client:
            for _ in range(100_000):
                try:
                    answer = client.post("/v1/learn", content=LEARN, headers=headers)
                except httpx.TransportError:
                    return
                if answer.status_code != 200:
                    return
                self._acknowledged.append(answer.json()["version"])
                self._first.set()

    def result(self) -> list[int]:
        """Return the acknowledged versions."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        return self._acknowledged


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.trial)])
def test_what_was_acknowledged_survives_a_kill(folder: Path, kills: int) -> None:
    acknowledged: set[int] = set()
    for _ in range(kills):
        with process(folder) as running:
            teaching = Teaching(running)
            running.send(signal.SIGKILL)
            acknowledged |= set(teaching.result())
    with process(folder) as again, again.client as client:
        log = [json.loads(line)["version"] for line in client.get("/v1/log").text.splitlines()]
        assert acknowledged <= set(log)
        assert client.get("/v1/metrics").json()["documents_learned"] == len(log)


def killed(folder: Path) -> None:
    """Teach a service, predict a document, and kill it."""
    with process(folder) as running, running.client as client:
        client.post("/v1/learn", json={"documents": LESSONS}).raise_for_status()
        client.post("/v1/predict", json={"text": "a late goal", "id": "waits"}).raise_for_status()
        client.post("/v1/learn", json={"documents": LESSONS}).raise_for_status()  # writes both
        running.send(signal.SIGKILL)
        running.wait()


def refusal(folder: Path) -> str:
    """Return the error line of a service that cannot start."""
    refused = Process(folder)
    try:
        assert refused.wait() == 2
        assert not any("Traceback" in line for line in refused.lines)
        assert len(refused.lines) == 2  # where it listens, and why it ends
        return refused.lines[-1]
    finally:
        refused.end()


def test_a_damaged_queue_stops_the_start_with_one_line(folder: Path) -> None:
    killed(folder)
    log = Log(folder / "log.sqlite")
    log._db.execute("UPDATE documents SET body = replace(body, 'a late', 'a \xff\xfe')")
    log.close()
    assert "document 1 of the queue is damaged; restore" in refusal(folder)
    with process(folder, "--accept-loss") as running, running.client as client:
        assert "dropped 1 damaged documents of the queue" in "".join(running.lines)
        assert client.get("/v1/metrics").json()["documents_learned"] == 6
        assert client.get("/v1/documents/waits").status_code == 404


def test_a_deleted_journal_stops_the_start_with_one_line(folder: Path) -> None:
    killed(folder)
    assert not any((folder / "snapshots").iterdir())
    (folder / "log.sqlite-wal").unlink()
    line = refusal(folder)
    assert "log.sqlite-wal: missing, although the service was not closed" in line
    assert "--accept-loss" in line
    assert refusal(folder) == line


def test_a_second_process_is_refused(folder: Path) -> None:
    with process(folder) as running:
        second = Process(folder)
        try:
            assert second.wait() == 2
            assert f"in use by process {running._process.pid}" in second.lines[-1]
            assert len([line for line in second.lines if "Traceback" in line]) == 0
        finally:
            second.end()
        with running.client as client:
            assert client.get("/readyz").status_code == 200


def test_other_addresses_need_tokens_or_insecure(folder: Path, tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens")
    token = tokens.add("ann", "read")
    options = ["--host", "0.0.0.0", "--token-file", str(tokens.path)]
    with process(folder, *options) as running, running.client as client:
        assert client.get("/v1/metrics").status_code == 401
        known = {"authorization": f"Bearer {token}"}
        assert client.get("/v1/metrics", headers=known).status_code == 200
    with process(folder, "--host", "0.0.0.0", "--insecure") as running, running.client as client:
        assert client.get("/v1/metrics").status_code == 200


def test_a_model_initialises_only_a_new_folder(folder: Path, tmp_path: Path) -> None:
    model = Clasher(1024)
    for lesson in LESSONS * 5:
        model.learn(lesson["text"], lesson["labels"])
    model.save(tmp_path / "news.clasher")
    options = ["--data", str(folder), "--model", str(tmp_path / "news.clasher")]
    with process(folder, "--model", str(tmp_path / "news.clasher")) as running:
        with running.client as client:
            answer = client.post("/v1/predict", json={"text": LESSONS[2]["text"]}).json()
            assert answer["predictions"][0]["labels"] == ["sport"]
        running.send(signal.SIGTERM)
        assert running.wait() == 0
    again = CliRunner().invoke(cli, ["serve", "--port", "0", *options])
    assert again.exit_code == 2
    assert "already has a model" in again.stderr
    other = CliRunner().invoke(
        cli, ["serve", "--port", "0", "--data", str(folder), "--dimensions", "2048"]
    )
    assert other.exit_code == 2
    assert "dimensions" in other.stderr


def test_the_demo_feeds_itself(folder: Path) -> None:
    with process(folder, "--demo") as running, running.client as client:
        seen: set[str] = set()
        with client.stream("GET", "/v1/events") as stream:
            for line in stream.iter_lines():
                seen |= {line.removeprefix("event: ")} if line.startswith("event: ") else set()
                if {"learned", "feedback"} <= seen:
                    break
        figures = client.get("/v1/metrics").json()
        assert figures["documents_learned"] >= 500
        assert figures["labels"] > 10
        running.send(signal.SIGTERM)
        assert running.wait() == 0
