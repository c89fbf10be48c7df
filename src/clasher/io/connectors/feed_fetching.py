"""Feeds over HTTP, asked for politely: only if they changed, not too often, not too much at once.

A feed that is unchanged costs its server a line (``ETag``, ``Last-Modified``). What a server says
about when to come again is heeded: ``Retry-After``, ``Cache-Control: max-age``, and ``ttl`` in the
feed. A feed that fails is asked less and less often.

Whatever a server sends, a feed either comes whole or becomes a ``FeedError`` of one printable line.
"""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
import zlib
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from socket import SHUT_RDWR, socket
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from clasher.errors import StreamError
from clasher.io.addresses import hidden
from clasher.version import __version__

SECONDS: Final = 30.0  # that a feed may take in all: names, redirects and its last byte
SILENCE: Final = 10.0  # seconds that a server may say nothing
MOST_BYTES: Final = 10 * 2**20  # of a feed
DAY: Final = 86400.0
AGENT: Final = f"clasher/{__version__} (feed reader)"
FOR_GOOD: Final = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT)
REASON: Final = 200  # characters of what a server says that are told


class FeedError(StreamError):
    """A feed cannot be had now; ``after``: the seconds that its server wants to be left alone."""

    def __init__(self, problem: str, after: float = 0.0, *, is_gone: bool = False) -> None:
        super().__init__(problem)
        self.after = after
        self.is_gone = is_gone


@dataclass(frozen=True)
class Answer:
    """What a server said.

    Attributes
    ----------
    content : bytes | None
        The feed; None where it did not change.
    etag, modified : str | None
        What to ask with the next time.
    fresh : float
        Seconds for which there is no sense in asking again.
    moved : str | None
        Where the feed is from now on.
    """

    content: bytes | None
    etag: str | None = None
    modified: str | None = None
    kind: str = ""
    fresh: float = 0.0
    moved: str | None = None


class Line:
    """The connection of a request, which another thread may cut."""

    def __init__(self) -> None:
        self._socket: socket | None = None
        self._responses: list[http.client.HTTPResponse] = []
        self._is_cut = False

    def hold(self, connected: socket) -> None:
        """Note the socket that is spoken over."""
        self._socket = connected
        if self._is_cut:
            self.cut()

    def cut(self) -> None:
        """End whatever is being said; who reads finds the end of the stream."""
        self._is_cut = True
        if self._socket is not None:
            with suppress(OSError):  # it has ended by itself
                socket.shutdown(self._socket, SHUT_RDWR)  # not that of TLS, which would wait

    def open(self, response: http.client.HTTPResponse) -> http.client.HTTPResponse:
        """Note a response, which is closed in the end whatever happens to it."""
        self._responses.append(response)
        return response

    def close(self) -> None:
        """Close all that was opened."""
        for response in self._responses:
            response.close()


def fetch(url: str, etag: str | None, modified: str | None, line: Line | None = None) -> Answer:
    """Ask for a feed, if it changed; whatever goes wrong is a ``FeedError``."""
    ways, line = _Ways("@" not in url), Line() if line is None else line
    opener = urllib.request.build_opener(ways, *_handlers(line))
    try:
        with opener.open(_request(url, etag, modified), timeout=SILENCE) as answer:
            content = _content(answer, answer.headers.get("Content-Encoding", ""))
            return _answer(content, answer.headers, ways.moved)
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.NOT_MODIFIED:
            return _answer(None, error.headers, ways.moved, etag, modified)
        after = _seconds(error.headers.get("Retry-After"))
        reason = f"{hidden(url)}: {error.code} {printable(error.reason)}"
        raise FeedError(reason, after, is_gone=error.code == HTTPStatus.GONE) from error
    except Exception as error:  # a server may send whatever it likes
        raise FeedError(f"{hidden(url)}: {_why(error)}") from error
    finally:
        line.close()


def _request(url: str, etag: str | None, modified: str | None) -> urllib.request.Request:
    headers = {"User-Agent": AGENT, "Accept-Encoding": "gzip", "Accept": "application/xml, */*"}
    if etag is not None:
        headers["If-None-Match"] = etag
    if modified is not None:
        headers["If-Modified-Since"] = modified
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers=headers)
    if at:
        # Not passed on where the server leads to another one.
        secret = b64encode(unquote(user).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    return request


def _why(error: BaseException) -> str:
    """Tell what went wrong in one line; the name of the error too, where that says more."""
    reason = getattr(error, "reason", None) or error
    name = "" if isinstance(reason, (OSError, ValueError, str)) else f"{type(reason).__name__}: "
    return printable(f"{name}{reason}") or type(error).__name__


def printable(text: object) -> str:
    r"""Return text from outside as one short line that does nothing to a terminal.

    >>> printable("bad \x1b[31m\r\n status")
    'bad ?[31m status'
    """
    line = " ".join(str(text).split())[:REASON]
    return "".join(sign if sign.isprintable() else "?" for sign in line)


def _handlers(line: Line) -> list[urllib.request.BaseHandler]:
    """Have connections held by a line."""

    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            line.hold(self.sock)

        def getresponse(self) -> http.client.HTTPResponse:
            return line.open(super().getresponse())

    class Secure(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            line.hold(self.sock)

        def getresponse(self) -> http.client.HTTPResponse:
            return line.open(super().getresponse())

    class Http(urllib.request.HTTPHandler):
        def http_open(self, req: Any) -> Any:
            return self.do_open(Plain, req)

    class Https(urllib.request.HTTPSHandler):
        def https_open(self, req: Any) -> Any:
            return self.do_open(partial(Secure, context=ssl.create_default_context()), req)

    return [Http(), Https()]


class _Ways(urllib.request.HTTPRedirectHandler):
    """Follows a feed to where it is, and notes where it is for good.

    One with a password stays where it is: the password is not for another address.
    """

    def __init__(self, may_move: bool) -> None:
        self.moved: str | None = None
        self._is_lasting = may_move

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.startswith(("http://", "https://")):
            raise FeedError(f"{req.full_url}: leads to {printable(newurl)}, no web address")
        fp.close()  # its body has no end that anybody promised
        self._is_lasting = self._is_lasting and code in FOR_GOOD
        if self._is_lasting:
            self.moved = newurl
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _answer(
    content: bytes | None,
    headers: Message,
    moved: str | None,
    etag: str | None = None,
    modified: str | None = None,
) -> Answer:
    return Answer(
        content,
        headers.get("ETag", etag),
        headers.get("Last-Modified", modified),
        headers.get("Content-Type", ""),
        _max_age(headers.get("Cache-Control", "")),
        moved,
    )


def _content(answer: Any, encoding: str) -> bytes:
    """The bytes of a feed, no more of them than a feed should have."""
    raw: bytes = answer.read(MOST_BYTES + 1)
    is_whole = not answer.length  # what is still missing of the length that was announced
    if encoding.lower() in ("gzip", "x-gzip"):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        raw = unpacker.decompress(raw, MOST_BYTES + 1)
        is_whole = unpacker.eof
    if len(raw) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    if not is_whole:
        raise ValueError("it was cut on its way")
    return raw


def _max_age(text: str) -> float:
    """What ``Cache-Control`` says, a day at most.

    >>> _max_age("public, max-age=600"), _max_age("no-cache, max-age=600")
    (600.0, 0.0)
    """
    words = [word.strip().lower() for word in text.split(",")]
    if "no-cache" in words or "no-store" in words:
        return 0.0
    return max((_seconds(word[8:]) for word in words if word.startswith("max-age=")), default=0.0)


def _seconds(text: str | None) -> float:
    """A number of seconds, or the time until a date, a day at most.

    >>> _seconds("120"), _seconds("soon"), _seconds(None)
    (120.0, 0.0, 0.0)
    """
    if text is None:
        return 0.0
    try:
        seconds = float(text) if text.strip().isdigit() else None
        if seconds is None:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), DAY)
