"""A server process: listens, recovers, answers, and stops in an orderly way."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec

import uvicorn

from clasher.app.server.application import Application
from clasher.app.server.protocol import bounded_protocol
from clasher.app.server.serving import Service
from clasher.errors import SettingError, StoppedError
from clasher.service.engine import Engine

STOP_SECONDS = 10  # for requests that are being answered when the service is told to stop
SWITCH_SECONDS = 0.001  # a thread gives way to the event loop after this long (Python's own: 0.005)
BACKLOG = 1024


class Server(uvicorn.Server):
    """Serves until it is told to stop, and listens already while it recovers.

    Parameters
    ----------
    on_ready
        Run when the service has recovered.
    """

    def __init__(
        self, service: Service, on_ready: Callable[[Engine], Awaitable[None]] | None = None
    ) -> None:
        self._service = service
        self._on_ready = on_ready
        self._application = Application(service, self._start)
        self._recovering: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None
        """What kept the service from recovering."""
        super().__init__(
            uvicorn.Config(
                self._application.asgi,
                http=bounded_protocol(service.setup.limits),
                loop="uvloop" if find_spec("uvloop") else "asyncio",
                lifespan="on", ws="none", log_config=None, log_level="error",
                access_log=False, server_header=False,
                timeout_graceful_shutdown=STOP_SECONDS, proxy_headers=False, backlog=BACKLOG,
            )
        )  # fmt: skip

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: those who watch first, since uvicorn waits for all answers to end."""
        self._application.stop()
        await super().shutdown(sockets)

    async def _start(self) -> None:
        self._recovering = asyncio.create_task(self._recover())

    async def _recover(self) -> None:
        try:
            engine = await self._service.open()
            gc.collect()
            gc.freeze()  # what is there now stays: to look through it again would stop everybody
            if self._on_ready is not None:
                await self._on_ready(engine)
        except Exception as error:  # a process that cannot recover must not linger
            if not (isinstance(error, StoppedError) and self._service.is_stopping()):
                self.failure = error
            self.should_exit = True


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; ``port`` 0 takes one that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingError(
            f"{host}, port {port}: cannot be listened at: {error.strerror}; name another with "
            f"--port"
        ) from error


def run(server: Server, listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; raises what kept the service from recovering."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    numbers = (signal.SIGINT, signal.SIGTERM)  # uvicorn raises them anew when it has stopped
    handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        server.run([listening])
    finally:
        sys.setswitchinterval(interval)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if server.failure is not None:
        raise server.failure
