"""What every answer says to browsers, and the last resort where something went wrong.

Is a request from where it may come from? Against other sites in the same browser.

A page of another site can make a browser send requests here. It cannot read the answers (there is
no CORS), cannot send JSON without being asked for permission first (strict types, no CORS), and is
told apart by what browsers say of where a request comes from. A name that was made to point here
(DNS rebinding) is not among those we go by.

Reading is refused to other sites too: it costs work (``GET /v1/model`` writes a snapshot). Only the
pages, the OpenAPI document and the health checks answer everybody, so that others can link to them.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clasher.server.problems import HttpError, respond

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
DATA = ("/v1/", "/metrics")  # paths whose answers carry data or cost work
OTHER_SITES = frozenset({b"cross-site", b"same-site"})


class Guard:
    """ASGI middleware that refuses what comes from elsewhere.

    Parameters
    ----------
    hosts
        Names that this service goes by, beside its own and ``localhost``. Addresses are always
        right: nobody can make one of them point elsewhere.
    root_path
        The path below which a proxy serves this service.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), root_path: str = "") -> None:
        self.app = app
        self._root_path = root_path
        self._given = frozenset(name.lower().rstrip(".") for name in hosts)
        self._hosts = self._given | {"localhost", socket.gethostname().lower()}
        self._known: set[bytes] = set()  # headers that passed: the same ones come again and again

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except HttpError as error:
                await respond(error)(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"")
        if host not in self._known:
            self._check_host(host)
        if scope["method"] == "OPTIONS" or (scope["method"] in SAFE and not self._has_data(scope)):
            return
        origin = headers.get(b"origin")
        if origin is not None:
            foreign = not self._is_own(_text(origin), _text(host))
        else:
            foreign = headers.get(b"sec-fetch-site") in OTHER_SITES
        if foreign:
            raise HttpError(
                403, "other-site", "the request comes from a page of another site",
                "send it from a page of this service, or from a program",
            )  # fmt: skip

    def _has_data(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return path.removeprefix(self._root_path).startswith(DATA)

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether a page is ours: of the same host and port, or of a name that we were given."""
        _, separator, place = origin.partition("://")
        return bool(separator) and (place == host or _name(place) in self._given)

    def _check_host(self, host: bytes) -> None:
        name = _name(_text(host))
        if not (name in self._hosts or _is_address(name)):
            raise HttpError(
                421, "unknown-host", f"this service is not known as {name!r}",
                "ask it by its address, or start it with --allow-host",
            )  # fmt: skip
        if len(self._known) < 64:
            self._known.add(host)


def _text(header: bytes) -> str:
    return header.decode("latin-1").lower()


def _name(host: str) -> str:
    """A host without its port.

    >>> _name("localhost:8000"), _name("[::1]:8000")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


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
