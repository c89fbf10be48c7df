"""A server process: listens, recovers, answers, and stops in an orderly way."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from clasher.app.server.application import Application
from clasher.app.server.protocol import bounded_protocol
from clasher.app.server.serving import Service
from clasher.errors import ClasherError, SettingError
from clasher.service.engine import Engine

STOP_SECONDS = 10  # for requests that are being answered when the service is told to stop
SWITCH_SECONDS = 0.001  # a thread gives way to the event loop after this long (Python's own: 0.005)
BACKLOG = 1024


class _Server(uvicorn.Server):
    """Tells the application that it is to stop before it waits for its requests to end."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stop()
        await super().shutdown(sockets)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; ``port`` 0 takes one that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        raise SettingError(
            f"{host}, port {port}: cannot be listened at: {error.strerror}; name another with "
            f"--port"
        ) from error
    return listening


def run(
    service: Service,
    listening: socket.socket,
    on_ready: Callable[[Engine], Awaitable[None]],
) -> None:
    """Serve until told to stop: SIGTERM or SIGINT.

    It listens while it recovers; ``on_ready`` is run when it has. Raises what kept it from that.
    """
    failures: list[BaseException] = []
    tasks: list[asyncio.Task[None]] = []

    async def recover() -> None:
        try:
            await on_ready(await service.open())
        except (ClasherError, OSError, MemoryError) as error:
            failures.append(error)
            server.should_exit = True

    async def start() -> None:
        tasks.append(asyncio.create_task(recover()))

    application = Application(service, start)
    limits = service.setup.limits
    config = uvicorn.Config(
        application.asgi, http=bounded_protocol(limits), loop=_loop(), lifespan="on",
        ws="none", log_config=None, access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=STOP_SECONDS, proxy_headers=False, backlog=BACKLOG,
    )  # fmt: skip
    server = _Server(config, application.stop)
    sys.setswitchinterval(SWITCH_SECONDS)
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them anew when it has stopped
        signal.signal(number, lambda *_: None)
    server.run([listening])
    if failures:
        raise failures[0]


def _loop() -> Any:
    try:
        import uvloop  # noqa: F401
    except ImportError:  # on Windows there is none
        return "asyncio"
    return "uvloop"
