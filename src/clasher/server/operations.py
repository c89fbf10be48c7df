"""Operations: a method and a path with their scope, request and answer.

A handler's annotations declare its body, the parameters of its path and query, and its answer. The
operation checks the token, decodes the request, calls the handler and encodes the answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import Future
from dataclasses import dataclass
from inspect import signature
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Send

from clasher.errors import ClasherError
from clasher.server.limits import FORM, JSON, LINES, LONGEST_LINE, MOST_DOCUMENTS, media_type
from clasher.server.problems import HttpError, as_http, invalid
from clasher.server.security import authorize
from clasher.server.service import Service
from clasher.server.tokens import Holder, Scope
from clasher.service.engine import NOBODY, Engine

T = TypeVar("T")
LINES_AT_ONCE = 500  # lines to decode before other requests get their turn
WHO, KEY = "x-clasher-who", "idempotency-key"  # headers
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_encoder = msgspec.json.Encoder()


@dataclass(slots=True)
class Call:
    """A request to an operation: what handlers need besides the decoded values."""

    request: Request
    service: Service
    holder: Holder
    media_type: str  # of the body

    @property
    def engine(self) -> Engine:
        return self.service.engine

    @property
    def who(self) -> str:
        """The name of the caller's token; without tokens, the name that the caller gives."""
        return self.holder.name or unquote(self.request.headers.get(WHO, ""))[:64] or NOBODY

    @property
    def key(self) -> str | None:
        return self.request.headers.get(KEY)

    @property
    def wants_lines(self) -> bool:
        """Whether to answer with JSON lines: requested, or sent without requesting JSON."""
        accepted = self.request.headers.get("accept", "*/*")
        return LINES in accepted or (JSON not in accepted and self.media_type == LINES)

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        return await self.service.workers.run(work, *args)

    def wait(self, future: Future[T]) -> asyncio.Future[T]:
        """Wait for the engine: a receipt arrives when the lesson is on disk and learnt."""
        return self.service.bridge.wait(future)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A method and a path, everything that a client can know about it, and its ASGI application."""

    method: str
    path: str
    handler: Callable[..., Awaitable[Any]]
    scope: Scope | None  # of the token; None: no token needed
    parameters: dict[str, Any]  # structs of the path and of the query
    body: Any = None
    body_type: str = JSON
    line: Any = None  # the type of a line, if the body may be JSON lines
    answer: Any = None
    answer_type: str = JSON
    answer_line: Any = None
    status: int = 200
    example: Any = None
    example_answer: Any = None
    problems: tuple[int, ...] = ()  # statuses besides those that follow from the rest
    needs_engine: bool = True  # answer 503 until the engine has recovered

    @property
    def name(self) -> str:
        return self.handler.__name__

    def route(self) -> Route:
        path = self.path.replace("{id}", "{id:path}")  # ids may contain slashes
        return Route(path, self, methods=[self.method], name=self.name)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Authorize, decode, handle, encode, count."""
        service: Service = scope["app"].state.service
        start = perf_counter()
        try:
            request = Request(scope, receive, send)
            holder = authorize(request, service.setup.tokens, self.scope)
            kind = media_type(request.headers.get("content-type", ""))
            call = Call(request, service, holder, kind)
            if self.needs_engine:
                _ = service.engine
            answer = await self.handler(call, **await self._decode(call))
            response = answer if isinstance(answer, Response) else json_response(answer)
        except ClasherError as error:
            response = as_http(error).response
        service.meters.add_request(self.name, response.status_code, perf_counter() - start)
        await response(scope, receive, send)

    async def _decode(self, call: Call) -> dict[str, Any]:
        request = call.request
        values: dict[str, Any] = {}
        for place, shape in self.parameters.items():
            given = request.path_params
            if place == "query":
                given = dict(request.query_params) if request.scope["query_string"] else {}
            values |= asdict(_convert(given, shape, place))
        if self.body_type == FORM:
            values["body"] = await _read_form(call, self.body)
        elif self.line is not None:
            values["body"] = await _read_documents(call, self.body, self.line)
        elif self.body is not None and self.body_type == JSON:
            if call.media_type == LINES:
                detail = f"{LINES} is not supported here"
                raise HttpError(415, "unsupported-type", detail, f"send {JSON}")
            values["body"] = _decode(await request.body() or b"{}", self.body)
        return values


def operation(
    method: str, path: str, *, scope: Scope | None, **more: Any
) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
    """Make an operation from a handler, whose annotations and docstring describe it."""

    def make(handler: Callable[..., Awaitable[Any]]) -> Operation:
        declared: dict[str, Any] = {}
        places: dict[str, list[Any]] = {}
        own = signature(handler, eval_str=True)
        if not issubclass(own.return_annotation, Response):
            declared["answer"] = own.return_annotation
        for name, one in own.parameters.items():
            if name == "body":
                declared["body"] = one.annotation
            elif name != "call":
                default = () if one.default is one.empty else (one.default,)
                fields = places.setdefault("path" if f"{{{name}}}" in path else "query", [])
                fields.append((name, one.annotation, *default))
        declared["parameters"] = {
            place: msgspec.defstruct(place, fields, forbid_unknown_fields=True)
            for place, fields in places.items()
        }
        declared |= more
        return Operation(method=method, path=path, handler=handler, scope=scope, **declared)

    return make


def _decode(body: bytes | bytearray, shape: Any, where: str = "$") -> Any:
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE as error:
        raise invalid(error, where) from error


def _convert(values: dict[str, Any], shape: Any, where: str) -> Any:
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(error, where) from error


async def _read_form(call: Call, shape: Any) -> Any:
    """Read a form; of repeated fields the last counts."""
    if call.media_type != FORM:
        raise HttpError(415, "unsupported-type", "this path takes a form", f"send {FORM}")
    try:
        fields = parse_qsl(
            (await call.request.body()).decode(), keep_blank_values=True, errors="strict",
            max_num_fields=100,
        )  # fmt: skip
    except ValueError as error:
        detail = f"the form cannot be read: {error}"
        raise HttpError(400, "malformed", detail, "send a form in UTF-8") from error
    return _convert(dict(fields), shape, "$")


async def _read_documents(call: Call, shape: Any, line: Any) -> Any:
    """Read documents: a batch, a single document, or JSON lines."""
    if call.media_type == LINES:
        return shape(documents=await _read_lines(call.request, line))
    body = await call.request.body()
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError) and b'"documents"' not in body:
            return shape(documents=[_decode(body, line)])
        raise invalid(error) from error


async def _read_lines(request: Request, shape: Any) -> list[Any]:
    documents: list[Any] = []
    number = 0
    async for line in _split(request.stream()):
        number += 1
        if not line.strip():
            continue
        if len(documents) == MOST_DOCUMENTS:
            detail = f"the body has more than {MOST_DOCUMENTS:,} documents"
            raise HttpError(422, "too-many", detail, "send them in several requests")
        documents.append(_decode(line, shape, f"line {number}: $"))
        if not number % LINES_AT_ONCE:
            await asyncio.sleep(0)
    if not documents:
        raise HttpError(422, "invalid", "the body has no document", "send at least one line")
    return documents


async def _split(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytearray]:
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        if b"\n" in piece:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                yield line
        if len(rest) > LONGEST_LINE:
            detail = f"a line has more than {LONGEST_LINE:,} bytes"
            raise HttpError(413, "too-large", detail, "send a shorter text")
    yield rest


def json_response(value: object, status: int = 200) -> Response:
    """Encode a struct as JSON."""
    return Response(_encoder.encode(value), status, media_type=JSON)


def lines_response(pieces: AsyncIterator[Iterable[object]]) -> Response:
    """Stream structs as JSON lines."""
    lines = (_encoder.encode_lines(piece) async for piece in pieces)
    return StreamingResponse(lines, media_type=LINES)
