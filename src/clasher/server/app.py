"""A server process: listens, recovers, answers, and stops in an orderly way.

HTTP as uvicorn speaks it, with bounds on what comes before a request: its head, connections.

The application: operations and pages behind the three layers of the edge.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clasher.errors import SettingError, StoppedError
from clasher.server import operations, pages, routes  # noqa: F401 (routes fills OPERATIONS)
from clasher.server.limits import JSON, Bounded, Limits
from clasher.server.operations import OPERATIONS, Endpoint
from clasher.server.problems import HttpError, respond
from clasher.server.security import Guard, Headers
from clasher.server.service import Service
from clasher.service.engine import Engine

END = b"content-length: 0\r\nconnection: close\r\n\r\n"
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n" + END
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + END
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + END


def bounded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """A protocol that ends connections whose heads are too slow or too long, or that are too many.

    The body of a request is watched over by ``Bounded``; before its head is whole there is no
    request yet, and uvicorn would wait for the rest of it for ever.
    """

    class Protocol(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._head_bytes = 0
            self._late: asyncio.TimerHandle | None = None
            if len(self.connections) > limits.connections:
                self._cut(TOO_MANY)
            else:
                self._await_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._late is not None:
                self._head_bytes += len(data)
                if self._head_bytes > limits.head_bytes:
                    self._cut(TOO_LONG)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._await_head()

        def on_headers_complete(self) -> None:
            self._has_head()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._has_head()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            if self._late is None:
                self._late = self.loop.call_later(limits.head_seconds, self._cut, TOO_LATE)

        def _has_head(self) -> None:
            self._head_bytes = 0
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _cut(self, answer: bytes) -> None:
            if not self.transport.is_closing():
                self.transport.write(answer)
                self.transport.close()

    return Protocol


class Application:
    """A service as an ASGI application.

    ``asgi`` is what a server runs; ``api`` is the FastAPI application inside.

    Parameters
    ----------
    service
        What is served.
    on_start
        Run when the server has started: opens the service, by default.
    """

    def __init__(
        self, service: Service, on_start: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        self.service = service
        self._on_start = service.open if on_start is None else on_start
        setup = service.setup
        self.api = FastAPI(
            title="clasher", docs_url=None, redoc_url=None, openapi_url=None,
            lifespan=self._lifespan, redirect_slashes=False,
        )  # fmt: skip
        self.api.add_exception_handler(HTTPException, _refused)
        endpoints = self._add_operations()
        self._add_pages()
        inner = _below(setup.root_path, _direct(endpoints, self.api))
        self.bounded = Bounded(inner, setup.limits)
        self.asgi: ASGIApp = Headers(Guard(self.bounded, setup.hosts, setup.root_path))

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        await self._on_start()
        yield
        await self.service.close()

    def stop(self) -> None:
        """Take nothing new, and wait no longer for those who are slow."""
        self.service.stop()
        self.bounded.stop()

    def _add_operations(self) -> dict[tuple[str, str], Endpoint]:
        endpoints = {(one.method, one.path): one.endpoint(self.service) for one in OPERATIONS}
        for one in OPERATIONS:
            path = one.path.replace("{id}", "{id:path}")  # an id may have slashes
            endpoint = endpoints[one.method, one.path]
            self.api.router.add_route(path, endpoint, [one.method], one.name)
        return endpoints

    def _add_pages(self) -> None:
        described = operations.document(OPERATIONS, self.service.setup.root_path)
        self.api.openapi = lambda: described  # type: ignore[method-assign]
        file = pages.made_file(msgspec.json.encode(described), JSON)
        for address, one in {**pages.all_files(), "openapi.json": file}.items():
            self.api.router.add_route(f"/{address}", _sending(one), ["GET"], f"page {address}")


def _below(root_path: str, app: ASGIApp) -> ASGIApp:
    """An application below a path, whether a proxy takes that away or passes it on."""
    if not root_path:
        return app

    async def below(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "root_path": root_path}, receive, send)

    return below


def _direct(endpoints: Mapping[tuple[str, str], Endpoint], app: ASGIApp) -> ASGIApp:
    """Operations whose path is as it stands, past the layers of the framework; all else to it.

    It halves what a request costs beside its work.
    """

    async def direct(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoints.get((scope.get("method", ""), scope.get("path", "")))
        if endpoint is None:
            await app(scope, receive, send)
        else:
            response = await endpoint(Request(scope, receive, send))
            await response(scope, receive, send)

    return direct


def _sending(file: pages.File) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return pages.send(file, request)

    return endpoint


async def _refused(request: Request, error: Exception) -> Response:
    """What the router refuses: paths and methods that there are none of."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        detail = f"{request.method} cannot be asked of {request.url.path}"
        return respond(
            HttpError(405, "no-method", detail, f"allowed: {allowed}", headers={"allow": allowed})
        )
    detail = f"there is nothing at {request.url.path}"
    return respond(HttpError(error.status_code, "not-found", detail, "see /docs"))


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
