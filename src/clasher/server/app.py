"""The application, and the server process that runs it: start, recover, serve, stop."""

import asyncio
import gc
import hashlib
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from importlib.util import find_spec

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router

from clasher.errors import SettingError, StoppedError
from clasher.server.limits import JSON, Gate, bounded_protocol
from clasher.server.openapi import document
from clasher.server.problems import unrouted
from clasher.server.routes import OPERATIONS
from clasher.server.security import Security
from clasher.server.service import Service
from clasher.service.engine import Engine

STOP_SECONDS = 10  # for open requests when the service stops
SWITCH_SECONDS = 0.001  # a thread yields to the event loop after this long (default: 0.005)
BACKLOG = 1024
PAGES = {"index.html": "/", "docs.html": "/docs"}  # all other files are at ``/pages/NAME``
TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "json": JSON}


class Server(uvicorn.Server):
    """Serves until stopped; it listens while the service recovers, then calls ``on_ready``."""

    def __init__(
        self, service: Service, on_ready: Callable[[Engine], Awaitable[None]] | None = None
    ) -> None:
        self._service = service
        self._on_ready = on_ready
        self.failure: BaseException | None = None  # prevented recovery
        setup = service.setup
        routes: list[BaseRoute] = [one.route() for one in OPERATIONS]
        pages = files("clasher.server").joinpath("pages").iterdir()  # no request reads files
        contents = {PAGES.get(one.name, f"/pages/{one.name}"): one.read_bytes() for one in pages}
        contents["/openapi.json"] = msgspec.json.encode(document(OPERATIONS, setup.root_path))
        routes += [static_file(path, content) for path, content in contents.items()]
        if setup.root_path:  # the proxy may keep or remove it
            inner = Router(routes, redirect_slashes=False)
            routes = [Mount(setup.root_path, inner), *routes]
        app = Starlette(
            routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: unrouted}
        )
        app.router.redirect_slashes = False
        app.state.service = service
        security = Security(setup.hosts, setup.root_path)
        self._gate = Gate(app, setup.limits, security)
        super().__init__(
            uvicorn.Config(
                self._gate,
                http=bounded_protocol(setup.limits),
                loop="uvloop" if find_spec("uvloop") else "asyncio",
                lifespan="on", ws="none", log_config=None, log_level="error",
                access_log=False, server_header=False,
                timeout_graceful_shutdown=STOP_SECONDS, proxy_headers=False, backlog=BACKLOG,
            )
        )  # fmt: skip

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; end event streams and slow requests first: uvicorn waits for all responses."""
        self._service.stop()
        self._gate.stop()
        await super().shutdown(sockets)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._recovering = asyncio.create_task(self._recover())
        yield
        await self._service.close()

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


def static_file(path: str, content: bytes) -> Route:
    """Make the route of a file in memory; a browser that has it gets 304."""
    tag = f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    media_type = TYPES.get(path.rpartition(".")[2], "text/html")

    async def send(request: Request) -> Response:
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=media_type)

    return Route(path, send)


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
