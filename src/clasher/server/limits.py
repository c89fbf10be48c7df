"""How much a request may send and how long it may take to: all bounds of the edge, in one place.

Whoever trickles, sends without end or a little that expands to a lot is cut off; memory is bounded
over all requests together.
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clasher.server.problems import HttpError, respond

MOST_DOCUMENTS = 10_000
MOST_ANSWERS = 1_000  # of people, in one request
LONGEST_TEXT = 1_000_000  # characters
LONGEST_EXPLAINED = 100_000  # characters of a text whose labels are explained
MOST_EXPLAINED = 500_000  # characters of such a text times the labels: a second or two of work
LONGEST_LABEL = 256
MOST_LABELS = 1_000  # of one document
LONGEST_ID = 256
LONGEST_LINE = 16 * 2**20  # bytes: the longest text with every character escaped
EXPANDED_AT_ONCE = 2**18  # bytes: so little that others do not wait for it

JSON, LINES, BYTES = "application/json", "application/x-ndjson", "application/octet-stream"
FORM = "application/x-www-form-urlencoded"
TAKES_FORMS = "/v1/annif/suggest"  # nothing else: pages of others can send forms, and never JSON


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of the edge.

    Parameters
    ----------
    json_bytes, lines_bytes, model_bytes
        The longest bodies, expanded: JSON, which is read at once, JSON lines, which are read one by
        one, and a model.
    buffered_bytes
        Of all bodies together that are being read or worked on.
    head_seconds, idle_seconds, body_seconds, model_seconds, send_seconds
        How long a client may take for the head of a request, between two pieces of a body, for a
        body, for that of a model, and to take a piece of the answer.
    head_bytes
        The longest head.
    linger_seconds
        How long what is too much is read and thrown away, so that a client gets to read the answer.
    connections
        The most at a time.
    """

    json_bytes: int = 16 * 2**20
    lines_bytes: int = 64 * 2**20
    model_bytes: int = 4 * 2**30
    buffered_bytes: int = 256 * 2**20
    head_bytes: int = 64 * 2**10
    head_seconds: float = 10.0
    idle_seconds: float = 10.0
    body_seconds: float = 60.0
    model_seconds: float = 3600.0
    send_seconds: float = 30.0
    linger_seconds: float = 2.0
    connections: int = 1000

    def of(self, media_type: str) -> tuple[int, float]:
        """The bytes and seconds of a body of this type."""
        if media_type == BYTES:
            return self.model_bytes, self.model_seconds
        return (self.lines_bytes if media_type == LINES else self.json_bytes), self.body_seconds


class Bounded:
    """ASGI middleware that holds requests to ``Limits``."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits
        self.buffered = 0
        self._waits: set[asyncio.Timeout] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """Wait no longer for bodies that have not come yet."""
        self._is_stopping = True
        soon = asyncio.get_running_loop().time() + 1.0
        for wait in self._waits:
            wait.reschedule(soon)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, its body and its answer watched over."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = Body(self, scope, receive)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.is_complete:
                message = await body.give_up(message)
            async with asyncio.timeout(self.limits.send_seconds):  # whoever does not take it
                await send(message)

        try:
            body.check_head()
            await self.app(scope, body.receive, watched)
        except HttpError as error:
            await respond(error)(scope, receive, watched)
        finally:
            self.buffered -= body.held

    def hold(self, size: int) -> None:
        """Take note of bytes in memory; raises where they are too many."""
        self.buffered += size
        if self.buffered > self.limits.buffered_bytes:
            raise HttpError(
                503, "busy", "too much is being sent at the same time", "try again later",
                retry_after=1.0,
            )  # fmt: skip

    async def wait(self, receive: Receive, until: float) -> Message:
        """Wait for a client, not for long; shorter when the service stops."""
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
                408, "too-slow", "the body of the request did not come in time",
                f"send it within {self.limits.body_seconds:g} seconds, without pauses of more than "
                f"{self.limits.idle_seconds:g}",
            ) from error  # fmt: skip


class Body:
    """The body of one request."""

    def __init__(self, bounds: Bounded, scope: Scope, receive: Receive) -> None:
        self._bounds = bounds
        self._receive = receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self.is_complete = not (
            self._headers.get(b"content-length", b"0") != b"0"
            or b"transfer-encoding" in self._headers
        )
        self.media_type = media_type(self._headers.get(b"content-type", b""))
        self._takes_forms = scope["path"].endswith(TAKES_FORMS)
        self._most, seconds = bounds.limits.of(self.media_type)
        self._until = asyncio.get_running_loop().time() + seconds
        self._expander: _Expander | None = None
        self._sent = self._expanded = self.held = 0

    def check_head(self) -> None:
        """Refuse what the head says already."""
        if self.is_complete:
            return
        is_form = self.media_type == FORM and self._takes_forms
        if self.media_type not in (JSON, LINES, BYTES) and not is_form:
            raise HttpError(
                415, "unsupported-type", f"a body of type {self.media_type!r} is not understood",
                f"send {JSON} or {LINES}", headers={"accept": f"{JSON}, {LINES}"},
            )  # fmt: skip
        encoding = self._headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding == b"gzip":
            self._expander = _Expander()
        elif encoding != b"identity":
            raise HttpError(
                415, "unsupported-encoding", "the content encoding is not understood",
                "send gzip, or leave it as it is", headers={"accept-encoding": "gzip"},
            )  # fmt: skip
        self._check(int(self._headers.get(b"content-length", b"0")))

    async def receive(self) -> Message:
        """The next piece, as long as it may come."""
        if self.is_complete:  # somebody waits for the client to leave
            return await self._receive()
        message = self._note(await self._bounds.wait(self._receive, self._until))
        if message["type"] != "http.request":
            return message
        piece: bytes = message.get("body", b"")
        self._sent += len(piece)
        self._check(self._sent)
        if self._expander is not None:
            message = {**message, "body": (piece := await self._expand(self._expander, piece))}
        self._hold(len(piece))
        return message

    async def give_up(self, start: Message) -> Message:
        """Before an early answer, read on for a while: a client that still sends would miss it."""
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

    def _hold(self, size: int) -> None:
        if self.media_type != BYTES:  # those go to disk
            self.held += size
            self._bounds.hold(size)

    def _check(self, size: int) -> None:
        if size > self._most:
            raise HttpError(
                413, "too-large", f"the body has more than {self._most:,} bytes",
                "send fewer documents at a time"
                + ("" if self.media_type == LINES else f", or JSON lines ({LINES})"),
            )  # fmt: skip

    async def _expand(self, expander: _Expander, piece: bytes) -> bytes:
        parts = []
        for part in expander.expand(piece):
            self._expanded += len(part)
            self._check(self._expanded)
            parts.append(part)
            await asyncio.sleep(0)  # let others go on
        if self.is_complete and not expander.is_whole:
            raise HttpError(400, "malformed", "the gzip data ends in the middle")
        return b"".join(parts)


class _Expander:
    """Gzip data as it comes, expanded little by little."""

    def __init__(self) -> None:
        self._gzip = zlib.decompressobj(wbits=31)
        self.is_whole = False

    def expand(self, piece: bytes) -> Iterator[bytes]:
        """The expanded pieces of a piece, each a bounded number of bytes."""
        while piece:
            if self._gzip.eof:  # another member follows
                self._gzip = zlib.decompressobj(wbits=31)
            try:
                part = self._gzip.decompress(piece, EXPANDED_AT_ONCE)
            except zlib.error as error:
                raise HttpError(
                    400, "malformed", f"the gzip data cannot be read: {error}"
                ) from error
            piece = self._gzip.unconsumed_tail or self._gzip.unused_data
            yield part
        self.is_whole = self._gzip.eof


def media_type(header: bytes) -> str:
    """The type that a header names, without its parameters.

    >>> media_type(b"Application/JSON; charset=utf-8")
    'application/json'
    """
    return header.decode("latin-1").partition(";")[0].strip().lower()
