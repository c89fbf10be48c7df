"""A durable Redis server on loopback, which can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from support.servers.ports import free_port

PATIENCE = 20.0  # seconds


def needs() -> list[str]:
    """Return the missing packages."""
    return [] if shutil.which("redis-server") else ["redis-server (package redis-server)"]


class RedisServer:
    """A server in a folder of its own, with an append-only file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, or restart it with its data."""
        import redis

        self._process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
             str(self.folder), "--appendonly", "yes", "--appendfsync", "no", "--save", "",
             "--daemonize", "no", "--loglevel", "warning"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.client = redis.Redis(port=self.port, protocol=2)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.client.ping()
            except redis.ConnectionError:  # or it is loading
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.005)
            else:
                return

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Kill it; its data stays."""
        os.kill(self.pid, signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
        self._reap()

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait(PATIENCE)
        self.client.close()

    def url(self, stream: str, **options: Any) -> str:
        """Return the address of a stream."""
        query = f"?{urlencode(options)}" if options else ""
        return f"redis://127.0.0.1:{self.port}/{stream}{query}"

    def keep_copy(self, folder: Path) -> None:
        """Copy its data."""
        shutil.copytree(self.folder, folder)

    def set_back(self, folder: Path) -> None:
        """Restart it with an earlier copy."""
        self.stop()
        shutil.rmtree(self.folder)
        shutil.copytree(folder, self.folder)
        self.start()
