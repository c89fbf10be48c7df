"""Static files: the dashboard and the page of the API, read once at the start.

No request reaches the file system.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}
PAGES = {"index.html": "/", "docs.html": "/docs"}  # all other files are at ``/pages/NAME``


def static_file(path: str, extension: str, content: bytes) -> Route:
    """Make the route of a file in memory; a browser that has it gets 304."""
    tag = f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache"}

    async def send(request: Request) -> Response:
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=TYPES[extension])

    return Route(path, send)


def static_files() -> Iterator[Route]:
    """Read all files."""
    for item in files("clasher.server").joinpath("pages").iterdir():
        path = PAGES.get(item.name, f"/pages/{item.name}")
        yield static_file(path, item.name.rpartition(".")[2], item.read_bytes())
