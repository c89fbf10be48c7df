"""HTTP as uvicorn speaks it, with bounds on what comes before a request: its head, connections."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clasher.app.server.limits import Limits

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
