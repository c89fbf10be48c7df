"""The OpenAPI document, made of the operations and of the types they are held to.

Who asks, by the token that a request carries.

A request to an operation: who asks, what was sent, and answers in JSON.

An operation: a method and a path, who may ask, what it takes and gives.

Routes, the check of tokens and the OpenAPI document are all made of these.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from inspect import cleandoc
from time import perf_counter
from typing import Any, TypeAlias, TypeVar, cast
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clasher import __version__
from clasher.errors import ClasherError, StreamError
from clasher.server.limits import FORM, JSON, LINES, LONGEST_LINE, MOST_DOCUMENTS, media_type
from clasher.server.problems import MEDIA_TYPE, HttpError, Problem, as_http, invalid, respond, title
from clasher.server.schemas import Batch
from clasher.server.service import Service
from clasher.server.tokens import Holder, Scope, TokenFile
from clasher.service.engine import NOBODY, Engine
from clasher.service.structs import Receipt

EVERYBODY = Holder("", "admin")
"""Who asks where there are no tokens: the machine's own users, who may do everything."""
STRANGER = Holder("", "predict")
CHALLENGE = {"www-authenticate": 'Bearer realm="clasher"'}


def holder_of(request: Request, tokens: TokenFile | None, scope: Scope | None) -> Holder:
    """Who asks; raises where they may not."""
    if tokens is None:
        return EVERYBODY
    if scope is None:
        return STRANGER
    holder = _known(request, tokens)
    if holder is None:
        raise HttpError(
            401, "no-token", "this needs a token that is known here",
            "send it as 'Authorization: Bearer TOKEN'; clasher token makes them",
            headers=CHALLENGE,
        )  # fmt: skip
    if not holder.may(scope):
        raise HttpError(
            403, "scope", f"this needs a token of scope {scope}, and yours is {holder.scope}",
            f"ask for one: clasher token NAME --scope {scope}",
        )  # fmt: skip
    return holder


def _known(request: Request, tokens: TokenFile) -> Holder | None:
    """Whose token a request carries, None where it is nobody's."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return None
    try:
        return tokens.find(token.strip())
    except (StreamError, OSError, UnicodeDecodeError) as error:
        raise HttpError(
            503, "no-tokens", "the file of the tokens cannot be read",
            "look at it where the service runs",
        ) from error  # fmt: skip


T = TypeVar("T")
B = TypeVar("B", bound="Batch")
LINES_AT_ONCE = 500  # decoded or encoded before others get their turn
MOST_FIELDS = 100  # of a form
WHO = "x-clasher-who"
KEY = "idempotency-key"
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_encoder = msgspec.json.Encoder()


@lru_cache(maxsize=64)
def _decoder(shape: Any) -> msgspec.json.Decoder[Any]:
    """The decoder of a type."""
    return msgspec.json.Decoder(shape)


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the service it is made to."""

    request: Request
    service: Service
    holder: Holder

    @property
    def engine(self) -> Engine:
        """The engine, once it has recovered."""
        return self.service.engine

    @property
    def who(self) -> str:
        """Who asks: by the name of their token, or where none is needed, as they say."""
        return self.holder.name or unquote(self.request.headers.get(WHO, ""))[:64] or NOBODY

    @property
    def key(self) -> str | None:
        """The idempotency key, None where there is none."""
        return self.request.headers.get(KEY)

    def query(self, shape: type[T]) -> T:
        """What the address asks for."""
        return _converted(dict(self.request.query_params), shape, "query")

    def path(self, shape: type[T]) -> T:
        """What the path names."""
        return _converted(self.request.path_params, shape, "path")

    async def body(self, shape: type[T]) -> T:
        """The body, JSON."""
        if self.sends(LINES):
            raise HttpError(415, "unsupported-type", f"{LINES} is not taken here", f"send {JSON}")
        return _decoded(await self.request.body() or b"{}", shape)

    async def form(self, shape: type[T]) -> T:
        """The body, a form, of which every field is taken once."""
        if not self.sends(FORM):
            raise HttpError(415, "unsupported-type", "a form is taken here", f"send {FORM}")
        try:
            fields = parse_qsl(
                (await self.request.body()).decode(), keep_blank_values=True, errors="strict",
                max_num_fields=MOST_FIELDS,
            )  # fmt: skip
        except ValueError as error:
            detail = f"the form cannot be read: {error}"
            raise HttpError(400, "malformed", detail, "send a form in UTF-8") from error
        return _converted(dict(fields), shape, "$")

    async def batch(self, shape: type[B], one: type[T]) -> B:
        """Documents: as a batch, as one alone, or as JSON lines."""
        if self.sends(LINES):
            return shape(documents=[line async for line in self._lines(one)])
        body = await self.request.body()
        known: Any = shape
        try:
            return cast(B, _decoder(known).decode(body))
        except msgspec.ValidationError as error:
            if b'"documents"' in body:
                raise invalid(error) from error
            return shape(documents=[_decoded(body, one)])
        except UNREADABLE as error:
            raise invalid(error) from error

    def sends(self, kind: str) -> bool:
        """Whether the body is of this type."""
        header = self.request.headers.get("content-type", "")
        return media_type(header.encode("latin-1")) == kind

    async def _lines(self, shape: type[T]) -> AsyncIterator[T]:
        number = documents = 0
        async for line in _split(self.request.stream()):
            number += 1
            if not line.strip():
                continue
            documents += 1
            if documents > MOST_DOCUMENTS:
                detail = f"there are more than {MOST_DOCUMENTS:,} documents"
                raise HttpError(422, "too-many", detail, "send them in several requests")
            yield _decoded(line, shape, f"line {number}: $")
            if not number % LINES_AT_ONCE:
                await asyncio.sleep(0)
        if not documents:
            raise HttpError(422, "invalid", "there is no document", "send at least one line")

    @property
    def wants_lines(self) -> bool:
        """Whether JSON lines are to be answered: asked for, or sent and nothing else asked for."""
        accepted = self.request.headers.get("accept", "*/*")
        return LINES in accepted or (self.sends(LINES) and JSON not in accepted)


async def _split(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a body as they come."""
    rest = bytearray()
    async for piece in pieces:
        *lines, last = piece.split(b"\n")
        for line in lines:
            rest += line
            yield bytes(rest)
            rest.clear()
        rest += last
        if len(rest) > LONGEST_LINE:
            detail = f"a line has more than {LONGEST_LINE:,} bytes"
            raise HttpError(413, "too-large", detail, "send a shorter text")
    yield bytes(rest)


def _decoded(body: bytes, shape: type[T], where: str = "$") -> T:
    known: Any = shape
    try:
        return cast(T, _decoder(known).decode(body))
    except UNREADABLE as error:
        raise invalid(error, where) from error


def _converted(values: dict[str, Any], shape: type[T], where: str) -> T:
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(error, where) from error


def answer(value: object, status: int = 200) -> Response:
    """A struct as JSON."""
    return Response(_encoder.encode(value), status, media_type=JSON)


async def receipt(call: Call, future: Future[Receipt]) -> Response:
    """The receipt of what was said, when it is on disk and learnt."""
    said: Receipt = await call.service.bridge.wait(future)
    return answer(said)


def encode_lines(values: Iterable[object]) -> bytes:
    """Structs as JSON lines."""
    return _encoder.encode_lines(values)


def lines(pieces: AsyncIterator[bytes]) -> Response:
    """JSON lines, as they are made."""
    return StreamingResponse(pieces, media_type=LINES)


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


ABOUT = """
Labels for documents, several at once, from a model that learns from every answer.

Errors are problem+json: what is wrong, where (`field`), and what to do about it (`remedy`).
Send `Authorization: Bearer TOKEN` where the service asks for tokens. Large bodies may be gzipped.
"""
REF = "#/components/schemas/{name}"
NEEDY, WITH_BODY = (503,), (400, 408, 413, 415, 422)


def document(operations: Sequence[Operation], root_path: str = "") -> dict[str, Any]:
    """The whole document."""
    schemas = _Schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "clasher", "version": __version__, "description": ABOUT.strip()},
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The JSON schemas of all types."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        types: list[Any] = [Problem]
        for one in operations:
            types += [one.takes, one.takes_lines, one.gives, one.gives_lines]
        self._types = [shape for shape in types if shape not in (None, Any)]
        known, components = msgspec.json.schema_components(self._types, ref_template=REF)
        self._known = list(known)
        self.components = {name: _tidied(schema) for name, schema in components.items()}

    def of(self, shape: Any) -> dict[str, Any]:
        """The schema of a type."""
        if shape is Any:
            return {"type": "string", "format": "binary"}
        return self._known[self._types.index(shape)]


def _tidied(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose description has no margin."""
    if "description" in schema:
        schema = {**schema, "description": cleandoc(schema["description"])}
    return schema


def _operation(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "description": one.description,
        "parameters": list(_parameters(one)),
        "responses": _responses(one, schemas),
        "security": [{}] if one.scope is None else [{"token": []}, {}],
    }
    if one.scope is not None:
        described["x-scope"] = one.scope
    if one.takes is not None:
        described["requestBody"] = {"required": True, "content": _body(one, schemas)}
    return described


def _body(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    whole: dict[str, Any] = {"schema": schemas.of(one.takes)}
    if one.takes_lines is not None:  # one document alone will do
        whole["schema"] = {"anyOf": [schemas.of(one.takes), schemas.of(one.takes_lines)]}
    if one.example is not None:
        whole["examples"] = {"example": {"value": one.example}}
    content = {one.takes_type: whole}
    if one.takes_lines is not None:
        content[LINES] = {"schema": schemas.of(one.takes_lines)}
        if one.example is not None:
            line = msgspec.json.encode(one.example["documents"][0]).decode()
            content[LINES]["examples"] = {"example": {"value": line + "\n"}}
    return content


def _parameters(one: Operation) -> Iterator[dict[str, Any]]:
    for place, shape in (("path", one.path_shape), ("query", one.query)):
        if shape is None:
            continue
        _, components = msgspec.json.schema_components([shape], ref_template=REF)
        described = components[shape.__name__]
        for name, schema in described["properties"].items():
            yield {
                "name": name,
                "in": place,
                "required": name in described.get("required", ()),
                "schema": schema,
            }
    if one.scope in ("teach", "admin"):
        for name in (KEY, WHO):
            yield {
                "name": name.title(), "in": "header", "required": False,
                "schema": {"type": "string", "pattern": "^[!-~]{1,64}$"},
            }  # fmt: skip


def _responses(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    good: dict[str, Any] = {"description": title(one.status)}
    if one.gives is not None:
        good["content"] = {one.gives_type: {"schema": schemas.of(one.gives)}}
        if one.answers is not None:
            value = msgspec.to_builtins(one.answers)
            good["content"][one.gives_type]["examples"] = {"example": {"value": value}}
        if one.gives_lines is not None:
            good["content"][LINES] = {"schema": schemas.of(one.gives_lines)}
    answers = {str(one.status): good}
    for status in sorted(set(_problems(one))):
        answers[str(status)] = {
            "description": title(status),
            "content": {MEDIA_TYPE: {"schema": schemas.of(Problem)}},
        }
    return answers


def _problems(one: Operation) -> Iterator[int]:
    yield from one.problems
    yield from (403, 421)  # another site, another name
    if one.scope is not None:
        yield 401
    if one.is_needy:
        yield from NEEDY
    if one.takes is not None:
        yield from WITH_BODY
    if one.query is not None or one.path_shape is not None:
        yield 422
