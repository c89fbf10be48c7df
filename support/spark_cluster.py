"""A standalone Spark cluster on loopback: a master and some workers.

The package of pip has no start-master.sh, but it has the class that this script runs.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pyspark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE = 60.0  # seconds until the master answers
STOPPING = 10.0  # seconds until a process that does not stop is killed
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for processes that run for seconds


class Cluster:
    """A master and workers of one core each, for as long as it is open.

    Parameters
    ----------
    workers
        Their number.
    memory
        The memory of each for its executor, in Spark's notation.
    java
        Java options of the master and the workers.
    """

    def __init__(self, workers: int = 2, memory: str = "1g", java: str = QUICK) -> None:
        self.url = ""
        self.workers = workers
        self._memory = memory
        self._java = java
        self._open = ExitStack()

    def __enter__(self) -> Cluster:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clasher-")))
            port = _free_port()
            self.url = f"spark://127.0.0.1:{port}"
            self._start(stack, folder, "master.Master", "--port", str(port))
            _await(port)
            for number in range(self.workers):
                place = ("--work-dir", str(folder / f"worker-{number}"))
                size = ("--cores", "1", "--memory", self._memory)
                self._start(stack, folder, "worker.Worker", *place, *size, self.url)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _start(self, stack: ExitStack, folder: Path, what: str, *arguments: str) -> None:
        log = stack.enter_context((folder / f"{what}-{time.monotonic_ns()}.log").open("wb"))
        given = ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": self._java,
        }
        process = subprocess.Popen(
            [SPARK_CLASS, f"org.apache.spark.deploy.{what}", *given],
            stdout=log, stderr=log, env=environment, start_new_session=True,
        )  # fmt: skip
        stack.callback(_stop, process)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _await(port: int) -> None:
    """Wait until a process listens."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"the master of Spark did not answer within {PATIENCE:.0f} seconds")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, such as executors."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOPPING)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
