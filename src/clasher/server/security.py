"""Security of requests and responses: allowed origins and hosts, tokens, response headers.

A page of another site can make a browser send requests here. It cannot read the responses and
cannot send JSON, because there is no CORS. Requests that browsers mark as coming from another site
are refused as well, including reads of data, because they cost work (``GET /v1/model`` writes a
snapshot). Pages, the OpenAPI document and the health checks stay open to links from other sites.
Unknown host names are refused, because anybody can make a name point here (DNS rebinding).
"""

import ipaddress
import socket
from collections.abc import Iterable
from functools import lru_cache, partial

from starlette.requests import Request
from starlette.types import Scope

from clasher.errors import StreamError
from clasher.server import tokens
from clasher.server.problems import HttpError
from clasher.server.tokens import Holder, TokenFile

DATA = ("/v1/", "/metrics")  # paths whose responses carry data or cost work
KNOWN_HOSTS = 64  # Host headers whose check is remembered
POLICY = (  # nothing from other hosts, nothing inline
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    b"font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
ANYBODY = Holder("", "admin")  # the holder of every request when the service has no tokens
STRANGER = Holder("", "predict")


class Security:
    """Checks the host and the origin of requests.

    ``hosts`` are names of this service besides its own and ``localhost``. IP addresses are always
    accepted: nobody can make one point elsewhere.
    """

    def __init__(self, hosts: Iterable[str] = (), root_path: str = "") -> None:
        self._root_path = root_path
        self._given = frozenset(name.lower().rstrip(".") for name in hosts)
        names = self._given | {"localhost", socket.gethostname().lower()}
        self._is_own = lru_cache(KNOWN_HOSTS)(partial(_is_own, names))

    def check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"")
        if not self._is_own(host):
            raise HttpError(
                421, "unknown-host", f"{_host_name(_decode(host))!r} is not a name of this service",
                "use its IP address, or start it with --allow-host",
            )  # fmt: skip
        method, path = scope["method"], scope["path"].removeprefix(self._root_path)
        if method == "OPTIONS" or (method in ("GET", "HEAD") and not path.startswith(DATA)):
            return
        origin = headers.get(b"origin")
        if origin is None:
            is_foreign = headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
        else:
            _, separator, place = _decode(origin).partition("://")
            is_own = place == _decode(host) or _host_name(place) in self._given
            is_foreign = not (separator and is_own)
        if is_foreign:
            raise HttpError(
                403, "other-site", "the request comes from a page of another site",
                "send it from a page of this service, or from a program",
            )  # fmt: skip


def _is_own(names: frozenset[str], host: bytes) -> bool:
    name = _host_name(_decode(host))
    try:
        return name in names or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _decode(header: bytes) -> str:
    return header.decode("latin-1").lower()


def _host_name(host: str) -> str:
    """Strip the port: ``localhost:8000``, ``[::1]:8000``."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def authorize(request: Request, file: TokenFile | None, scope: tokens.Scope | None) -> Holder:
    """Return the holder of the request's token; refuse missing tokens and narrow scopes."""
    if file is None:
        return ANYBODY
    if scope is None:
        return STRANGER
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    try:
        holder = file.find(token.strip()) if kind.lower() == "bearer" else None
    except (StreamError, OSError, UnicodeDecodeError) as error:
        raise HttpError(
            503, "no-tokens", "the token file cannot be read", "check it on the server"
        ) from error
    if holder is None:
        raise HttpError(
            401, "no-token", "this needs a valid token",
            "send 'Authorization: Bearer TOKEN'; clasher token makes tokens",
            headers={"www-authenticate": 'Bearer realm="clasher"'},
        )  # fmt: skip
    if not holder.may(scope):
        raise HttpError(
            403, "scope", f"this needs a token of scope {scope}; yours has {holder.scope}",
            f"ask for one: clasher token NAME --scope {scope}",
        )  # fmt: skip
    return holder
