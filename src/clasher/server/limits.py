"""All limits of requests: sizes, counts and times.

Clients that send too slowly, too much, or a little that expands to a lot are cut off. The memory of
all request bodies together is bounded.
"""

import asyncio
import contextlib
import zlib
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clasher.server.problems import HttpError, busy

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


class Bounded:
    """ASGI middleware that applies ``Limits`` to bodies and responses."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.limits = limits
        self.buffered = 0
        self._app = app
        self._waits: set[asyncio.Timeout] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """Wait one more second at most for the rest of each body."""
        self._is_stopping = True
        soon = asyncio.get_running_loop().time() + 1.0
        for wait in self._waits:
            wait.reschedule(soon)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = Body(self, scope, receive)
        start: Message | None = None

        async def send_in_time(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":  # sent with the first piece
                start = message if body.is_complete else await body.give_up(message)
                return
            async with asyncio.timeout(self.limits.send_seconds):
                if start is not None:
                    await send(start)
                    start = None
                await send(message)

        try:
            body.check_head()
            await self._app(scope, body.receive, send_in_time)
        except HttpError as error:
            await error.response(scope, receive, send_in_time)
        finally:
            self.buffered -= body.held

    async def wait(self, receive: Receive, until: float) -> Message:
        now = asyncio.get_running_loop().time()
        most = 1.0 if self._is_stopping else self.limits.idle_seconds
        try:
            async with asyncio.timeout_at(min(until, now + most)) as wait:
                self._waits.add(wait)
                try:
                    return await receive()
                finally:
                    self._waits.discard(wait)
        except TimeoutError as error:
            raise HttpError(
                408, "too-slow", "the body of the request did not arrive in time",
                f"send it within {self.limits.body_seconds:g} seconds, without pauses of more than "
                f"{self.limits.idle_seconds:g}",
            ) from error  # fmt: skip


class Body:
    """The body of one request."""

    def __init__(self, bounds: Bounded, scope: Scope, receive: Receive) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._bounds = bounds
        self._receive = receive
        self._length = int(headers.get(b"content-length", b"0"))
        self._encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        self.is_complete = not self._length and b"transfer-encoding" not in headers
        self.media_type = media_type(headers.get(b"content-type", b"").decode("latin-1"))
        # one path only: pages of other sites can send forms
        self._takes_forms = scope["path"].endswith("/v1/annif/suggest")
        limits, seconds = bounds.limits, bounds.limits.body_seconds
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
        message = self._note(await self._bounds.wait(self._receive, self._until))
        if message["type"] != "http.request":
            return message
        piece: bytes = message.get("body", b"")
        self._received += len(piece)
        self._check(self._received)
        if self._gzip is not None:
            message = {**message, "body": (piece := await self._expand(piece))}
        if self.media_type != BYTES:  # models go to disk
            self.held += len(piece)
            self._bounds.buffered += len(piece)
            if self._bounds.buffered > self._bounds.limits.buffered_bytes:
                raise busy("too many bytes are being received at the same time")
        return message

    async def give_up(self, start: Message) -> Message:
        """Read on for a while before an early response, which a client that sends would miss."""
        until = asyncio.get_running_loop().time() + self._bounds.limits.linger_seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while not self.is_complete:
                    self._note(await self._receive())
        if self.is_complete:
            return start
        return {**start, "headers": [*start["headers"], (b"connection", b"close")]}

    def _note(self, message: Message) -> Message:
        self.is_complete = message["type"] != "http.request" or not message.get("more_body")
        return message

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
            self._head_bytes = 0
            self._timer: asyncio.TimerHandle | None = None
            if len(self.connections) > limits.connections:
                self._cut(TOO_MANY)
            else:
                self._await_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._timer is not None:
                self._head_bytes += len(data)
                if self._head_bytes > limits.head_bytes:
                    self._cut(TOO_LONG)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._await_head()

        def on_headers_complete(self) -> None:
            self._end_head()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_head()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(limits.head_seconds, self._cut, TOO_SLOW)

        def _end_head(self) -> None:
            self._head_bytes = 0
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _cut(self, response: bytes) -> None:
            if not self.transport.is_closing():
                self.transport.write(response)
                self.transport.close()

    return Protocol
