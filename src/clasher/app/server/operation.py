"""An operation: a method and a path, who may ask, what it takes and gives.

Routes, the check of tokens and the OpenAPI document are all made of these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import cleandoc
from time import perf_counter
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from clasher.app.server.access import holder_of
from clasher.app.server.calls import Call
from clasher.app.server.limits import JSON
from clasher.app.server.problems import as_http, respond
from clasher.app.server.serving import Service
from clasher.app.server.tokens import Scope
from clasher.errors import ClasherError

Handler: TypeAlias = Callable[[Call], Awaitable[Response]]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What can be asked for.

    Parameters
    ----------
    scope
        Who may; None: everybody.
    takes, query, path_shape
        The types of the body, of what stands after ``?``, and of what the path names.
    gives
        The type of the answer; of its lines, where ``gives_type`` is JSON lines.
    takes_lines
        The type of a line, where JSON lines are taken too.
    example
        A body.
    problems
        What may go wrong beside what may always: statuses.
    is_needy
        Whether it needs the engine to have recovered.
    """

    method: str
    path: str
    handler: Handler
    scope: Scope | None
    takes: Any = None
    takes_type: str = JSON
    takes_lines: Any = None
    query: Any = None
    path_shape: Any = None
    gives: Any = None
    gives_type: str = JSON
    gives_lines: Any = None
    status: int = 200
    example: Any = None
    answers: Any = None
    problems: tuple[int, ...] = ()
    is_needy: bool = True

    @property
    def name(self) -> str:
        """What it is called: its handler's name."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """Its first line."""
        return self.description.partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        """What its handler says."""
        return cleandoc(self.handler.__doc__ or "")

    def endpoint(self, service: Service) -> Endpoint:
        """What is run for a request."""
        meters, name = service.meters, self.name

        async def endpoint(request: Request) -> Response:
            start = perf_counter()
            response = await self._answered(service, request)
            meters.done(name, response.status_code, perf_counter() - start)
            return response

        return endpoint

    async def _answered(self, service: Service, request: Request) -> Response:
        try:
            holder = holder_of(request, service.setup.tokens, self.scope)
            if self.is_needy:
                _ = service.engine
            return await self.handler(Call(request, service, holder))
        except ClasherError as error:
            return respond(as_http(error))


OPERATIONS: list[Operation] = []
"""All of them, in the order in which the modules of ``routes`` name them."""


def operation(
    method: str, path: str, *, scope: Scope | None, **more: Any
) -> Callable[[Handler], Handler]:
    """Make an operation of a handler, whose docstring describes it."""

    def register(handler: Handler) -> Handler:
        known = Operation(method=method, path=path, handler=handler, scope=scope, **more)
        OPERATIONS.append(known)
        return handler

    return register
