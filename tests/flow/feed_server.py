"""A web server on loopback that has feeds, and says what the test wants it to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Reply(NamedTuple):
    """What is said to a request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012


class FeedServer:
    """Answers each path with a reply, or with what a function of the headers makes."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply | Callable[[dict[str, str]], Reply]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = dict(self.headers.items())
                server.asked.append((self.path, headers))
                found = server.replies.get(self.path, Reply(404))
                reply = found if isinstance(found, Reply) else found(headers)
                self.send_response(reply.status)
                for name, value in {
                    "Content-Length": str(len(reply.body)),
                    **reply.headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *given: object) -> None:
                pass

        return Handler


def rss(*items: str, more: str = "") -> bytes:
    """A feed with items, the newest first, as feeds are."""
    return (
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{more}'
        f"{''.join(items)}</channel></rss>"
    ).encode()


def item(number: int, title: str = "Wheat", *labels: str, body: str = "fell") -> str:
    tags = "".join(f"<category>{label}</category>" for label in labels)
    text = f"<title>{title}</title><description>{body}</description>"
    return f"<item><guid>n{number}</guid>{text}{tags}</item>"
