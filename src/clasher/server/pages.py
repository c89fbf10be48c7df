"""The files of the dashboard and of the documentation, read once: no request names a path."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import fastapi_offline
from starlette.requests import Request
from starlette.responses import Response

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}
DOCS = {  # the page of the documentation, from a package that carries Swagger UI
    "docs/swagger-ui-bundle.js": "swagger-ui-bundle.js",
    "docs/swagger-ui.css": "swagger-ui.css",
}
DOCS_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>clasher: the API</title>
<link rel="icon" href="pages/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs/swagger-ui.css">
<script defer src="docs/swagger-ui-bundle.js"></script>
<script defer src="docs/start.js"></script>
</head>
<body><div id="api"></div><noscript><p>The document is at <a href="openapi.json">openapi.json</a>.
</p></noscript></body>
</html>
"""
DOCS_SCRIPT = """SwaggerUIBundle({
  url: new URL("../openapi.json", document.currentScript.src).href,
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
});
"""


class File(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str


def all_files() -> dict[str, File]:
    """Every file, by its address."""
    own = files("clasher.server").joinpath("pages")
    found = {f"pages/{item.name}": _file(item) for item in _items(own)}
    if (index := found.pop("pages/index.html", None)) is not None:
        found[""] = index
    carried = files(fastapi_offline).joinpath("static")
    found |= {address: _file(carried.joinpath(name)) for address, name in DOCS.items()}
    found["docs"] = made_file(DOCS_PAGE.encode(), TYPES["html"])
    found["docs/start.js"] = made_file(DOCS_SCRIPT.encode(), TYPES["js"])
    return found


def _items(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        return []
    return [item for item in folder.iterdir() if item.name.rpartition(".")[2] in TYPES]


def _file(item: Traversable) -> File:
    return made_file(item.read_bytes(), TYPES[item.name.rpartition(".")[2]])


def made_file(content: bytes, media_type: str) -> File:
    """A file of this content."""
    tag = hashlib.blake2b(content, digest_size=8).hexdigest()
    return File(content, media_type, f'"{tag}"')


def send(file: File, request: Request) -> Response:
    """A file, or that the browser has it already."""
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
