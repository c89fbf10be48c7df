"""Run the processes to measure: the service, and bare endpoints of two frameworks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchmarks.measure import psutil
from support.corpora import PROJECT

BARE = {
    "starlette": """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def nothing(request):
    return Response(b"null", media_type="application/json")

app = Starlette(routes=[Route("/", nothing, methods=["POST"])])
""",
    "fastapi": """
import sys, uvicorn
from fastapi import FastAPI

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

@app.post("/")
async def nothing() -> None:
    return None
""",
}
"""Endpoints that return nothing: in the service's framework, and in that of earlier figures."""
RUN = 'uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="error")\n'


class Server:
    """A running process that listens on a port."""

    def __init__(self, process: subprocess.Popen[str], port: int, seconds: float = 0.0) -> None:
        self._process = process
        self.port = port
        self.ready_seconds = seconds
        """Seconds until it was ready."""

    @property
    def memory(self) -> int:
        """Its resident memory in bytes."""
        return int(psutil.Process(self._process.pid).memory_info().rss)

    def documents_learned(self) -> int:
        """Return the number of documents learnt."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/metrics") as answer:
            return int(json.load(answer)["documents_learned"])

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@contextmanager
def service(folder: Path, *options: str) -> Iterator[Server]:
    """Run ``clasher serve`` on a data folder and wait until it is ready."""
    command = [sys.executable, "-m", "clasher", "serve", "--data", str(folder), "--port", "0"]
    start = time.perf_counter()
    with _process([*command, *options]) as process:
        assert process.stderr is not None
        port = _port(process.stderr)
        yield Server(process, port, time.perf_counter() - start)


def _port(lines: IO[str]) -> int:
    output = []
    for line in lines:
        output.append(line)
        if found := re.search(r"dashboard: http://\S+?:(\d+)", line):
            return int(found[1])
    raise SystemExit("".join(output))


@contextmanager
def bare(framework: str, port: int) -> Iterator[Server]:
    """Run an endpoint that returns nothing."""
    with _process([sys.executable, "-c", BARE[framework] + RUN, str(port)]) as process:
        for _ in range(100):
            time.sleep(0.1)
            if any(one.laddr.port == port for one in _listening(process.pid)):
                break
        yield Server(process, port)


def _listening(pid: int) -> list[object]:
    known = psutil.Process(pid).net_connections(kind="tcp")
    return [one for one in known if one.status == psutil.CONN_LISTEN]


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, cwd=PROJECT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        env=os.environ,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stderr is not None:
            process.stderr.close()
