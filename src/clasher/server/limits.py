"""All limits of requests: sizes, counts and times; and the gate that every request passes.

Clients that send too slowly, too much, or a little that expands to a lot are cut off. The memory of
all request bodies together is bounded.
"""

import asyncio
import contextlib
import logging
import zlib
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clasher.server.problems import HttpError, busy
from clasher.server.security import HEADERS, Security

MOST_DOCUMENTS = 10_000  # of one request
MOST_ANSWERS = 1_000  # corrections in one request
LONGEST_TEXT = 1_000_000  # characters
LONGEST_EXPLAINED = 100_000  # characters of a text to explain
MOST_EXPLAINED = 500_000  # its characters times its labels: a second or two of work
LONGEST_LABEL = 256
MOST_LABELS = 1_000  # of one document
LONGEST_ID = 256
LONGEST_LINE = 16 * 2**20  # bytes: the longest text with every character escaped
EXPANDED_AT_ONCE = 2**18  # bytes, before other requests get their turn

JSON, LINES, BYTES = "application/json", "application/x-ndjson", "application/octet-stream"
FORM = "application/x-www-form-urlencoded"
log = logging.getLogger("clasher.server")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits that depend on the deployment; those of bodies are after decompression."""

    json_bytes: int = 16 * 2**20
    lines_bytes: int = 64 * 2**20
    model_bytes: int = 4 * 2**30
    buffered_bytes: int = 256 * 2**20  # all bodies that are being read or processed
    head_bytes: int = 64 * 2**10
    head_seconds: float = 10.0
    idle_seconds: float = 10.0  # between two pieces of a body
    body_seconds: float = 60.0
    model_seconds: float = 3600.0  # for the body of a model
    send_seconds: float = 30.0  # until the client takes a piece of the response
    linger_seconds: float = 2.0  # read the rest of a refused body before the response
    connections: int = 1000


class Gate:
    """ASGI middleware: check requests, bound bodies, add headers, answer errors."""

    def __init__(self, app: ASGIApp, limits: Limits, security: Security) -> None:
        self.limits = limits
        self.buffered = 0
        self.waits: set[asyncio.Timeout] = set()  # for the next pieces of bodies
        self.is_stopping = False
        self._app = app
        self._security = security

    def stop(self) -> None:
        """Wait one more second at most for the rest of each body."""
        self.is_stopping = True
        soon = asyncio.get_running_loop().time() + 1.0
        for wait in self.waits:
            wait.reschedule(soon)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return
        body = Body(self, scope, receive)
        start: Message | None = None
        has_started = False

        async def send_in_time(message: Message) -> None:
            nonlocal start, has_started
            if message["type"] == "http.response.start":  # sent with the first piece
                headers, start = message["headers"], message
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
                headers.extend(HEADERS)
                if not await body.is_over():
                    headers.append((b"connection", b"close"))
                return
            async with asyncio.timeout(self.limits.send_seconds):
                if start is not None:
                    first, start, has_started = start, None, True
                    await send(first)
                await send(message)

        try:
            self._security.check(scope)
            body.check_head()
            await self._app(scope, body.receive, send_in_time)
        except HttpError as error:
            await error.response(scope, receive, send_in_time)
        except TimeoutError:
            log.info("closed a connection whose client does not read: %s", scope["path"])
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not has_started:
                failure = HttpError(500, "internal", "unexpected error; the server logged it")
                await failure.response(scope, receive, send_in_time)
        finally:
            self.buffered -= body.held


class Body:
    """The body of one request."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._gate = gate
        self._receive = receive
        self._length = int(headers.get(b"content-length", b"0"))
        self._encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        self.is_complete = not self._length and b"transfer-encoding" not in headers
        self.media_type = media_type(headers.get(b"content-type", b"").decode("latin-1"))
        # one path only: pages of other sites can send forms
        self._takes_forms = scope["path"].endswith("/v1/annif/suggest")
        limits, seconds = gate.limits, gate.limits.body_seconds
        self._most = limits.lines_bytes if self.media_type == LINES else limits.json_bytes
        if self.media_type == BYTES:
            self._most, seconds = limits.model_bytes, limits.model_seconds
        self._until = asyncio.get_running_loop().time() + seconds
        self._gzip: Any = None  # decompresses the body
        self._received = self._expanded = self.held = 0

    def check_head(self) -> None:
        """Refuse a body whose headers break a limit."""
        if self.is_complete:
            return
        is_form = self.media_type == FORM and self._takes_forms
        if self.media_type not in (JSON, LINES, BYTES) and not is_form:
            raise HttpError(
                415, "unsupported-type", f"bodies of type {self.media_type!r} are not supported",
                f"send {JSON} or {LINES}", headers={"accept": f"{JSON}, {LINES}"},
            )  # fmt: skip
        if self._encoding == b"gzip":
            self._gzip = zlib.decompressobj(wbits=31)
        elif self._encoding != b"identity":
            raise HttpError(
                415, "unsupported-encoding", "this content encoding is not supported",
                "send gzip, or no content encoding", headers={"accept-encoding": "gzip"},
            )  # fmt: skip
        self._check(self._length)

    async def receive(self) -> Message:
        if self.is_complete:  # the application waits for the client to disconnect
            return await self._receive()
        message = await self._wait()
        if message["type"] != "http.request":
            return message
        piece: bytes = message.get("body", b"")
        self._received += len(piece)
        self._check(self._received)
        if self._gzip is not None:
            message = {**message, "body": (piece := await self._expand(piece))}
        if self.media_type != BYTES:  # models go to disk
            self.held += len(piece)
            self._gate.buffered += len(piece)
            if self._gate.buffered > self._gate.limits.buffered_bytes:
                raise busy("too many bytes are being received at the same time")
        return message

    async def _wait(self) -> Message:
        gate, limits = self._gate, self._gate.limits
        idle = 1.0 if gate.is_stopping else limits.idle_seconds
        wait = asyncio.timeout_at(min(self._until, asyncio.get_running_loop().time() + idle))
        gate.waits.add(wait)
        try:
            async with wait:
                return await self._next()
        except TimeoutError as error:
            raise HttpError(
                408, "too-slow", "the body of the request did not arrive in time",
                f"send it within {limits.body_seconds:g} seconds, without pauses of more than "
                f"{limits.idle_seconds:g}",
            ) from error  # fmt: skip
        finally:
            gate.waits.discard(wait)

    async def _next(self) -> Message:
        message = await self._receive()
        self.is_complete = message["type"] != "http.request" or not message.get("more_body")
        return message

    async def is_over(self) -> bool:
        """Drain the body before an early response, which a client still sending would miss."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._gate.limits.linger_seconds):
                while not self.is_complete:
                    await self._next()
        return self.is_complete

    def _check(self, size: int) -> None:
        if size > self._most:
            raise HttpError(
                413, "too-large", f"the body has more than {self._most:,} bytes",
                "send fewer documents at a time"
                + ("" if self.media_type == LINES else f", or JSON lines ({LINES})"),
            )  # fmt: skip

    async def _expand(self, piece: bytes) -> bytes:
        parts = []
        while piece:
            if self._gzip.eof:  # another member follows
                self._gzip = zlib.decompressobj(wbits=31)
            try:
                parts.append(self._gzip.decompress(piece, EXPANDED_AT_ONCE))
            except zlib.error as error:
                raise HttpError(400, "malformed", f"invalid gzip data: {error}") from error
            piece = self._gzip.unconsumed_tail or self._gzip.unused_data
            self._expanded += len(parts[-1])
            self._check(self._expanded)
            await asyncio.sleep(0)  # give other requests their turn
        if self.is_complete and not self._gzip.eof:
            raise HttpError(400, "malformed", "the gzip data is truncated")
        return b"".join(parts)


def media_type(header: str) -> str:
    """Return the media type of a Content-Type header, without parameters."""
    return header.partition(";")[0].strip().lower()


END = b"content-length: 0\r\nconnection: close\r\n\r\n"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + END
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + END
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + END


def bounded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """Make a protocol for uvicorn that limits connections, and heads until they are complete."""

    class Protocol(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_head()
            if len(self.connections) > limits.connections:
                self._cut(TOO_MANY)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._head_bytes += len(data)
            if self._head_bytes > limits.head_bytes and not self._timer.cancelled():
                self._cut(TOO_LONG)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._timer.cancelled():  # the connection had a request before
                self._await_head()

        def on_headers_complete(self) -> None:
            self._timer.cancel()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            self._head_bytes = 0
            self._timer = self.loop.call_later(limits.head_seconds, self._cut, TOO_SLOW)

        def _cut(self, response: bytes) -> None:
            if not self.transport.is_closing():
                self.transport.write(response)
                self.transport.close()

    return Protocol
