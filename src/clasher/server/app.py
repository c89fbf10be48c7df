"""The application, and the server process that runs it: start, recover, serve, stop."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount, Route, Router

from clasher.errors import SettingError, StoppedError
from clasher.server.files import StaticFile, static_files
from clasher.server.limits import Bounded, bounded_protocol
from clasher.server.openapi import document
from clasher.server.problems import unrouted
from clasher.server.routes import OPERATIONS
from clasher.server.security import Security
from clasher.server.service import Service
from clasher.service.engine import Engine

STOP_SECONDS = 10  # for open requests when the service stops
SWITCH_SECONDS = 0.001  # a thread yields to the event loop after this long (default: 0.005)
BACKLOG = 1024


class Application:
    """A service as an ASGI application.

    Parameters
    ----------
    on_start
        Called when the server starts; by default it opens the service.
    """

    def __init__(
        self, service: Service, on_start: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        self.service = service
        setup = service.setup

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            await (on_start or service.open)()
            yield
            await service.close()

        routes: list[BaseRoute] = [one.route(service) for one in OPERATIONS]
        described = msgspec.json.encode(document(OPERATIONS, setup.root_path))
        files = static_files() | {"/openapi.json": StaticFile(described, "json")}
        routes += [Route(path, file.send) for path, file in files.items()]
        if setup.root_path:  # the proxy may keep or remove it
            inner = Router(routes, redirect_slashes=False)
            routes = [Mount(setup.root_path, inner), *routes]
        app = Starlette(
            routes=routes, lifespan=lifespan, exception_handlers={HTTPException: unrouted}
        )
        app.router.redirect_slashes = False
        self.bounded = Bounded(app, setup.limits)
        self.asgi = Security(self.bounded, setup.hosts, setup.root_path)

    def stop(self) -> None:
        """End event streams and stop waiting for slow clients."""
        self.service.stop()
        self.bounded.stop()


class Server(uvicorn.Server):
    """Serves until stopped; it listens while the service recovers.

    Parameters
    ----------
    on_ready
        Called when the service has recovered.
    """

    def __init__(
        self, service: Service, on_ready: Callable[[Engine], Awaitable[None]] | None = None
    ) -> None:
        self._service = service
        self._on_ready = on_ready
        self._application = Application(service, self._start)
        self._recovering: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None
        """The error that prevented recovery."""
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
        """Stop; end event streams first, because uvicorn waits for all responses."""
        self._application.stop()
        await super().shutdown(sockets)

    async def _start(self) -> None:
        self._recovering = asyncio.create_task(self._recover())

    async def _recover(self) -> None:
        try:
            engine = await self._service.open()
            gc.collect()
            gc.freeze()  # long-lived objects: collecting them again would stall requests
            if self._on_ready is not None:
                await self._on_ready(engine)
        except Exception as error:  # end the process instead of serving 503 forever
            if not (isinstance(error, StoppedError) and self._service.is_stopping()):
                self.failure = error
            self.should_exit = True


def bind(host: str, port: int) -> socket.socket:
    """Listen at an address; ``port`` 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingError(
            f"cannot listen at {host}, port {port}: {error.strerror}; choose another with --port"
        ) from error


def run(server: Server, listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; raise the error that prevented recovery."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    numbers = (signal.SIGINT, signal.SIGTERM)  # uvicorn raises them again after it has stopped
    handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        server.run([listening])
    finally:
        sys.setswitchinterval(interval)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if server.failure is not None:
        raise server.failure
