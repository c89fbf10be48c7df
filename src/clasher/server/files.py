"""Static files: the dashboard and the page of the API, read once at the start.

No request reaches the file system.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}
PAGES = {"/": "index.html", "/docs": "docs.html"}  # all other files are at ``/pages/NAME``


class StaticFile:
    """A file in memory, with its media type and entity tag."""

    def __init__(self, content: bytes, extension: str) -> None:
        self._content = content
        self._media_type = TYPES[extension]
        tag = hashlib.blake2b(content, digest_size=8).hexdigest()
        self._headers = {"etag": f'"{tag}"', "cache-control": "no-cache"}

    async def send(self, request: Request) -> Response:
        if self._headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=self._headers)
        return Response(self._content, headers=self._headers, media_type=self._media_type)


def static_files() -> dict[str, StaticFile]:
    """Read all files, by their path in the address."""
    found = {
        f"/pages/{item.name}": StaticFile(item.read_bytes(), item.name.rpartition(".")[2])
        for item in files("clasher.server").joinpath("pages").iterdir()
    }
    return found | {path: found.pop(f"/pages/{name}") for path, name in PAGES.items()}
