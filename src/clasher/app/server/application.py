"""The application: operations and pages behind the three layers of the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clasher.app.server import openapi, pages, routes  # noqa: F401 (routes fills OPERATIONS)
from clasher.app.server.guard import Guard
from clasher.app.server.headers import Headers
from clasher.app.server.limits import JSON, Bounded
from clasher.app.server.operation import OPERATIONS, Endpoint
from clasher.app.server.problems import HttpError, respond
from clasher.app.server.serving import Service


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
        described = openapi.document(OPERATIONS, self.service.setup.root_path)
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
