"""A request to an operation: who asks, what was sent, and answers in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from clasher.app.server.limits import FORM, JSON, LINES, LONGEST_LINE, MOST_DOCUMENTS, media_type
from clasher.app.server.problems import HttpError, invalid
from clasher.app.server.serving import Service
from clasher.app.server.shapes import Batch
from clasher.app.server.tokens import Holder
from clasher.service.engine import NOBODY, Engine
from clasher.service.structs import Receipt

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
