"""Servers for tests, on real sockets: in a thread or in a process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import httpx

from clasher.server.app import Server, bind
from clasher.server.limits import Limits
from clasher.server.service import Service, Setup
from clasher.service.engine import Engine
from clasher.settings import Settings

SETTINGS = Settings(dimensions=1024, words=True, detector="window", max_labels=512)
PATIENCE = 60.0  # seconds after which a test has failed
LESSONS: list[dict[str, Any]] = [
    {"text": "wheat and corn prices fell after the harvest", "labels": ["grain", "economy"]},
    {"text": "the bank raised interest rates", "labels": ["economy"]},
    {"text": "a late goal in the cup final", "labels": ["sport"]},
]


class Served:
    """A server in a thread of this process."""

    def __init__(self, engine: Engine, server: Server, port: int, root_path: str = "") -> None:
        self.engine = engine
        self.server = server
        self.port = port
        self.url = f"http://127.0.0.1:{port}{root_path}"
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False)

    def get(self, path: str, **more: Any) -> Any:
        """GET JSON."""
        return self.client.get(path, **more).raise_for_status().json()

    def post(self, path: str, body: Any, **more: Any) -> Any:
        """POST JSON."""
        return self.client.post(path, json=body, **more).raise_for_status().json()

    def teach(self, rounds: int = 5) -> None:
        """Teach a few documents."""
        self.post("/v1/learn", {"documents": LESSONS * rounds})


@contextlib.contextmanager
def serve(folder: Path, **setup: Any) -> Iterator[Served]:
    """Run a server in a thread."""
    settings = setup.pop("settings", SETTINGS)
    service = Service(lambda: Engine(folder, settings), Setup(**setup))
    ready, engines = threading.Event(), []

    async def on_ready(engine: Engine) -> None:
        engines.append(engine)
        ready.set()

    server = Server(service, on_ready)
    listening = bind("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=[[listening]])
    thread.start()
    try:
        assert ready.wait(PATIENCE), server.failure
        port = listening.getsockname()[1]
        served = Served(engines[0], server, port, setup.get("root_path", ""))
        with served.client:
            yield served
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
        assert not thread.is_alive()


def short_limits(**bounds: Any) -> Limits:
    """Make limits that tests reach quickly."""
    return Limits(
        **{
            "head_seconds": 0.3, "idle_seconds": 0.3, "body_seconds": 2.0, "linger_seconds": 0.3,
            "send_seconds": 1.0, "json_bytes": 2**20, "lines_bytes": 2**21, **bounds,
        }
    )  # fmt: skip


def exchange(port: int, request: bytes, *, most: int = 2**20) -> bytes:
    """Send bytes and return everything until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(request)
        return read_all(connection, most)


def read_all(connection: socket.socket, most: int = 2**20) -> bytes:
    """Read until the other side closes the connection."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while len(answer) < most and (piece := connection.recv(65536)):
            answer += piece
    return answer


class Process:
    """``clasher serve`` as a process."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "clasher", "serve", "--data", str(folder), "--port", "0"]
        command += ["--dimensions", "1024", *options]
        self._process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert self._process.stderr is not None
        self._errors: IO[str] = self._process.stderr
        self.lines: list[str] = []
        self.port = 0

    def wait_until_ready(self) -> None:
        """Read its output until it has recovered."""
        for line in self._errors:
            self.lines.append(line)
            if found := re.search(r"dashboard: http://\S+?:(\d+)", line):
                self.port = int(found[1])
                return
        raise AssertionError("".join(self.lines))

    @property
    def client(self) -> httpx.Client:
        """A new client."""
        url = f"http://127.0.0.1:{self.port}"
        return httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self._process.pid, number)

    def wait(self) -> int:
        """Return the exit code."""
        code = self._process.wait(PATIENCE)
        self.lines += self._errors.readlines()
        return code

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._errors.close()


@contextlib.contextmanager
def process(folder: Path, *options: str) -> Iterator[Process]:
    """Run a process and wait until it is ready."""
    started = Process(folder, *options)
    try:
        started.wait_until_ready()
        yield started
    finally:
        started.end()
