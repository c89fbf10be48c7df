"""A web server on loopback with feeds, whose answers a test decides."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Reply(NamedTuple):
    """The answer to a request."""

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


class RawServer:
    """Answers each path with bytes that need not be HTTP, then closes the connection.

    A path that begins with ``/slow`` gets its bytes one at a time, for ever.
    """

    def __init__(self) -> None:
        self.replies: dict[str, bytes] = {}
        self._is_over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}{path}"

    def close(self) -> None:
        self._is_over.set()
        with suppress(OSError):
            socket.create_connection(self._socket.getsockname(), 1).close()
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._is_over.is_set():
            talk = self._socket.accept()[0]
            self._threads.append(threading.Thread(target=self._answer, args=[talk]))
            self._threads[-1].start()

    def _answer(self, talk: socket.socket) -> None:
        with talk, suppress(OSError):
            talk.settimeout(10)
            asked = b""
            while b"\r\n\r\n" not in asked and (more := talk.recv(65536)):
                asked += more
            path = asked.split(b" ")[1].decode() if b" " in asked else ""
            reply = self.replies.get(path, b"")
            if path.startswith("/slow"):
                self._dribble(talk, reply)
            else:
                talk.sendall(reply)

    def _dribble(self, talk: socket.socket, reply: bytes) -> None:
        for byte in reply + b"x" * 10_000:
            talk.sendall(bytes([byte]))
            if self._is_over.wait(0.02):
                return


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
