"""What every answer says to browsers, and the last resort where something went wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clasher.app.server.problems import HttpError, respond

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing from other hosts, nothing inline."""

ALWAYS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NOT_KEPT = (b"cache-control", b"no-store")
log = logging.getLogger("clasher.server")


class Headers:
    """ASGI middleware that adds the headers, and answers where nobody else could."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def headed(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                message["headers"] = with_headers(message["headers"])
            await send(message)

        try:
            await self.app(scope, receive, headed)
        except TimeoutError:
            log.info("gave up on a client that does not read: %s", scope["path"])
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not has_begun:
                error = HttpError(500, "internal", "something went wrong here; it was noted down")
                await respond(error)(scope, receive, headed)


def with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer and those that all have; nothing is kept unless it says so."""
    own = list(headers)
    if not any(name == b"cache-control" for name, _ in own):
        own.append(NOT_KEPT)
    return [*own, *ALWAYS]
