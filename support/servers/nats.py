"""A real NATS server with JetStream on loopback, which can be killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from support.servers.ports import free_port

PATIENCE = 20.0  # seconds


def needs() -> list[str]:
    """Return the missing packages."""
    return [] if _program() else ["nats-server (package nats-server)"]


def _program() -> str | None:
    return shutil.which("nats-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class NatsServer:
    """A server that keeps its streams in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.start()

    def start(self) -> None:
        """Start it, or restart it with its data."""
        self._process = subprocess.Popen(
            [str(_program()), "-js", "-sd", str(self.folder), "-a", "127.0.0.1", "-p",
             str(self.port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as found:
                    found.recv(1)
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.01)
            else:
                return

    def kill(self) -> None:
        """Kill it."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)

    def pause(self) -> None:
        """Stop answering; return when it has stopped."""
        os.kill(self._process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """Answer again."""
        os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it."""
        self.resume()
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(PATIENCE)

    def url(self, name: str, **options: Any) -> str:
        """Return the address of a stream or subject."""
        query = f"?{urlencode(options)}" if options else ""
        return f"nats://127.0.0.1:{self.port}/{name}{query}"

    def tell(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Run a coroutine with its streams, and leave no thread behind."""

        async def doing() -> Any:
            import nats

            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            try:
                return await work(client.jetstream())
            finally:
                await client.close()

        return asyncio.run(doing())
