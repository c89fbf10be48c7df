"""RSS and Atom feeds: new items as they appear, the oldest first.

An item is a record with the fields ``id``, ``title``, ``text`` (title and body without markup),
``link``, ``published``, ``feed``, and ``labels``: its categories, unlabelled if it has none. Items
are recognized by their ids, of which a bounded number is remembered.

A feed is requested only if it changed (``ETag``, ``Last-Modified``), and no sooner than its server
wants (``Retry-After``, ``Cache-Control: max-age``, ``ttl``); one that fails is asked less and less
often. Each request has a thread and a time limit, so a slow feed delays no other. Whatever a server
sends, a feed arrives whole or becomes a ``FeedError`` of one printable line.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import math
import threading
import time
import urllib.error
import urllib.request
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from html.parser import HTMLParser
from http import HTTPStatus
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

import feedparser

from clasher.errors import SettingError, StreamError
from clasher.io.jsonl import Decoder
from clasher.io.protocol import Caller, Chunk, Position, Source
from clasher.io.records import Fields
from clasher.io.registry import WEB, Address, hidden
from clasher.version import __version__

EVERY: Final = 900.0  # seconds between two requests for a feed
SOONEST: Final = 60.0  # the least of it, unless the feed is on this machine
APART: Final = 1.0  # seconds between two requests to one host
SEEN: Final = 1000  # items of a feed that are remembered at least
SLEEP: Final = 0.1  # seconds between two looks at the clock
AT_ONCE: Final = 8  # requests under way
PATIENT: Final = 2.0  # seconds that a read waits for requests under way: a stop waits no longer
SECONDS: Final = 30.0  # limit of a request: names, redirects and the last byte
SILENCE: Final = 10.0  # seconds that a server may be silent
MOST_BYTES: Final = 10 * 2**20  # of a feed
DAY: Final = 86400.0
BREAKS: Final = frozenset(("p", "br", "div", "li", "tr", "td", "h1", "h2", "h3", "blockquote"))
UNREAD: Final = frozenset(("script", "style"))

Item: TypeAlias = Mapping[str, Any]


class FeedError(StreamError):
    """A feed cannot be read now; ``after``: seconds that the server asked us to wait."""

    def __init__(self, problem: str, after: float = 0.0, *, is_gone: bool = False) -> None:
        super().__init__(printable(problem))
        self.after, self.is_gone = after, is_gone


class FeedSource(Source):
    """A feed, or a list of feeds.

    Options, after the ``#`` of a web address since its query belongs to the server:
    ``every=SECONDS`` between two requests (900; at least 60, unless the feed is on this machine).
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["every"])
        self.name, self.fields = address.shown, fields
        every = address.number("every", EVERY)
        urls = _listed(address.path) if address.scheme == "feeds" else [address.target]
        self._feeds = {url: Feed(url, every) for url in urls}
        self._decoder = Decoder(self.name, fields)
        # To deliver; the last item of an answer comes with its request.
        self._waiting: deque[tuple[Feed, Item, Request | None]] = deque()
        self._free_at: dict[str, float] = {}  # when hosts may be asked again
        self._requests: list[Request] = []
        self._caller = Caller("")

    def open(self, position: Position, caller: Caller) -> None:
        self._caller = caller
        self.close()
        self._waiting.clear()
        known = {} if position is None else position["feeds"]
        for url, feed in self._feeds.items():
            feed.begin(known.get(url, {}))

    @property
    def knows_end(self) -> bool:
        return not self._requests

    def read(self, most: int, seconds: float) -> Chunk | None:
        until = time.monotonic() + seconds
        patient = max(until, time.monotonic() + PATIENT)
        self._send()
        while True:
            self._receive()
            if self._waiting:
                return self._deliver(most)
            now = time.monotonic()
            left = (patient if self._requests else until) - now
            if left <= 0:
                return None
            if now < until:
                self._send()
            never: Future[Any] = Future()  # sleep if there is no request
            results = [never, *(request.result for request in self._requests)]
            wait(results, min(SLEEP, left), FIRST_COMPLETED)

    def _send(self) -> None:
        """Ask for the feeds that have been due longest, of hosts that may be asked."""
        left = [feed for feed in self._feeds.values() if not feed.is_gone]
        if not left:
            raise StreamError(f"{self.name}: every feed is gone (410)")
        for feed in sorted(left, key=lambda feed: feed.due):
            now = time.monotonic()
            if len(self._requests) == AT_ONCE or feed.due > now:
                break
            if self._free_at.get(feed.host, 0.0) <= now:
                self._free_at[feed.host] = 0.0 if feed.is_here else math.inf
                feed.due = math.inf  # until its items are delivered: they would be sent once more
                self._requests.append(Request(feed))

    def _receive(self) -> None:
        for request in list(self._requests):
            if not request.result.done() and time.monotonic() < request.until:
                continue
            self._requests.remove(request)
            feed, failures = request.feed, request.feed.failures
            self._free_at[feed.host] = time.monotonic() + (0.0 if feed.is_here else APART)
            result = request.result.result() if request.result.done() else request.cut()
            if isinstance(result, FeedError):
                feed.fail(result)
                if not failures or feed.is_gone:
                    self._caller.tell(f"{feed.shown}: {result}; asking less often from now on")
                continue
            if failures:
                self._caller.tell(f"{feed.shown} answers again")
            new = feed.take(result)
            if not new:
                feed.accept(request)
            self._waiting.extend((feed, item, request if item is new[-1] else None) for item in new)

    def _deliver(self, most: int) -> Chunk:
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        for feed, item, request in taken:
            feed.remember(_digest(item["id"]))
            if request is not None:
                feed.accept(request)
        position = {"feeds": {url: feed.position() for url, feed in self._feeds.items()}}
        items = [item for _, item, _ in taken]
        return self._decoder.chunk(items, [item["id"] for item in items], position)

    def close(self) -> None:
        for request in self._requests:
            request.cut()
            self._free_at[request.feed.host] = 0.0
        self._requests.clear()


class Feed:
    """A feed: its known items, and when to ask for it again."""

    def __init__(self, url: str, every: float) -> None:
        self.url, self.shown = url, hidden(url)
        self.host = urlsplit(url).hostname or ""
        self.is_here = self.host == "localhost"
        with suppress(ValueError):  # a name
            self.is_here |= ipaddress.ip_address(self.host).is_loopback
        self.every = every if self.is_here else max(every, SOONEST)
        self.begin({})

    def begin(self, known: Mapping[str, Any]) -> None:
        self.etag, self.modified = known.get("etag"), known.get("modified")
        self.at: str = known.get("at", self.url)
        self.seen = dict.fromkeys(known.get("seen", ()))  # digests of ids
        self.failures, self.due, self.is_gone = 0, 0.0, False

    def position(self) -> dict[str, Any]:
        server = {"etag": self.etag, "modified": self.modified, "at": self.at}
        return {**server, "seen": list(self.seen)}

    def fail(self, error: FeedError) -> None:
        self.failures += 1
        self.is_gone = error.is_gone
        wait = min(self.every * 2.0 ** min(self.failures, 10), DAY)
        self.due = time.monotonic() + max(wait, error.after)

    def take(self, items: list[Item]) -> list[Item]:
        """Return the new items, the oldest first."""
        self.failures = 0
        keys = [_digest(item["id"]) for item in items]
        for key in keys:  # forget items last that are still in the feed
            if key in self.seen:
                self.remember(key)
        while len(self.seen) > max(SEEN, 2 * len(items)):
            del self.seen[next(iter(self.seen))]
        return [item for item, key in zip(items, keys, strict=True) if key not in self.seen]

    def remember(self, key: str) -> None:
        self.seen.pop(key, None)
        self.seen[key] = None

    def accept(self, request: Request) -> None:
        """Note that all items of an answer were delivered."""
        self.etag, self.modified = request.etag, request.modified
        self.at = request.moved or self.at
        self.due = time.monotonic() + max(self.every, request.fresh)


def _listed(path: str) -> list[str]:
    """Read a list of feeds: one address per line; ``#`` begins a comment."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StreamError(f"{path} cannot be read: {error}") from error
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for url in urls:
        with suppress(ValueError):  # its port is no number
            parts = urlsplit(url)
            if parts.scheme in WEB and parts.hostname and parts.port != 0:
                continue
        raise SettingError(f"{path}: {hidden(url)!r} is not a web address")
    if not urls:
        raise SettingError(f"{path}: it lists no feed; write one address per line")
    return list(dict.fromkeys(urls))


class Request(
    urllib.request.HTTPSHandler, urllib.request.HTTPHandler, urllib.request.HTTPRedirectHandler
):
    """A request for a feed if it changed, in a thread; another thread may cut its connection."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed, self.until = feed, time.monotonic() + SECONDS
        self.etag, self.modified = feed.etag, feed.modified  # for this request, then for the next
        self.moved: str | None = None  # the new address of the feed
        self.fresh = 0.0  # seconds for which asking again is useless
        self._is_permanent = "@" not in feed.at  # a password is not for another address
        self._held: list[tuple[socket, http.client.HTTPResponse]] = []
        self.result: Future[list[Item] | FeedError] = Future()
        threading.Thread(target=self._run, name="clasher feed", daemon=True).start()

    def cut(self) -> FeedError:
        """Shut the socket down: its reader finds the end of the stream."""
        self.until = 0.0
        for connected, _ in self._held[-1:]:
            with suppress(OSError):  # it has ended by itself
                socket.shutdown(connected, SHUT_RDWR)  # not that of TLS, which would wait
        return FeedError(f"took longer than {SECONDS:g} s")

    def _run(self) -> None:
        result: list[Item] | FeedError
        try:
            result = self._fetch()
        except FeedError as error:
            result = error
        except Exception as error:  # a server may send anything
            reason = getattr(error, "reason", None) or error
            if not isinstance(reason, (OSError, ValueError, str)):
                reason = f"{type(reason).__name__}: {reason}"
            result = FeedError(str(reason).strip() or type(error).__name__)
        for _, response in self._held:
            response.close()
        self.result.set_result(result)

    def _fetch(self) -> list[Item]:
        items: list[Item] = []
        ttl = 0.0
        try:
            with urllib.request.build_opener(self).open(self._headed(), timeout=SILENCE) as answer:
                content, headers = _content(answer), answer.headers
            items, ttl = parsed(self.feed.shown, content, headers.get("Content-Type", ""))
            self.etag = self.modified = None
        except urllib.error.HTTPError as error:
            headers = error.headers
            if error.code != HTTPStatus.NOT_MODIFIED:
                after = _seconds(headers.get("Retry-After", ""))
                is_gone = error.code == HTTPStatus.GONE
                raise FeedError(f"{error.code} {error.reason}", after, is_gone=is_gone) from error
        self.etag = headers.get("ETag", self.etag)
        self.modified = headers.get("Last-Modified", self.modified)
        self.fresh = max(ttl, _max_age(headers.get("Cache-Control", "")))
        return items

    def _headed(self) -> urllib.request.Request:
        headers = {"Accept-Encoding": "gzip", "Accept": "application/xml, */*"}
        headers["User-Agent"] = f"clasher/{__version__} (feed reader)"
        known = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        headers |= {name: value for name, value in known.items() if value is not None}
        parts = urlsplit(self.feed.at)
        user, at, host = parts.netloc.rpartition("@")
        request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers=headers)
        if at:
            # Not sent to another server that this one redirects to.
            secret = b64encode(unquote(user).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {secret}")
        return request

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        def connection(*given: Any, **named: Any) -> Any:
            made = http_class(*given, **named)
            made.response_class = self._respond
            return made

        return super().do_open(connection, req, **options)

    def _respond(self, connected: socket, *given: Any, **named: Any) -> http.client.HTTPResponse:
        """Hold a connection and its response as soon as there is something to read."""
        response = http.client.HTTPResponse(connected, *given, **named)
        self._held.append((connected, response))
        if time.monotonic() >= self.until:
            self.cut()
        return response

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.startswith(("http://", "https://")):
            raise ValueError(f"redirects to {newurl}, which is not a web address")
        fp.close()  # its body may have no end
        self._is_permanent = self._is_permanent and code in (301, 308)
        self.moved = newurl if self._is_permanent else self.moved
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _content(answer: Any) -> bytes:
    raw: bytes = answer.read(MOST_BYTES + 1)
    is_whole = not answer.length  # bytes missing of the announced length
    if answer.headers.get("Content-Encoding", "").lower() in ("gzip", "x-gzip"):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        raw = unpacker.decompress(raw, MOST_BYTES + 1)
        is_whole = unpacker.eof
    if len(raw) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    if not is_whole:
        raise ValueError("the response was truncated")
    return raw


def _max_age(text: str) -> float:
    """Return the seconds of ``Cache-Control``, a day at most.

    >>> _max_age("public, max-age=600"), _max_age("no-cache, max-age=600")
    (600.0, 0.0)
    """
    words = [word.strip().lower() for word in text.split(",")]
    if "no-cache" in words or "no-store" in words:
        return 0.0
    return max((_seconds(word[8:]) for word in words if word.startswith("max-age=")), default=0.0)


def _seconds(text: str) -> float:
    """Parse seconds or a date into seconds from now, a day at most.

    >>> _seconds("120"), _seconds("soon"), _seconds("")
    (120.0, 0.0, 0.0)
    """
    try:
        if text.strip().isdigit():
            seconds = float(text)
        else:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), DAY)


def printable(text: object) -> str:
    r"""Return foreign text as one short line that cannot control a terminal.

    >>> printable("bad \x1b[31m\r\n status")
    'bad ?[31m status'
    """
    line = " ".join(str(text).split())[:200]
    return "".join(sign if sign.isprintable() else "?" for sign in line)


def parsed(url: str, content: bytes, kind: str) -> tuple[list[Item], float]:
    """Return the items of a feed, the oldest first, and its ``ttl`` in seconds."""
    try:
        # As a stream: feedparser takes text for an address or the name of a file.
        found = feedparser.parse(
            io.BytesIO(content),
            response_headers={"content-type": kind},
            resolve_relative_uris=False,  # ids may look like addresses
        )
        items = [_item(entry, url) for entry in reversed(found.entries)]
    except Exception as error:  # feedparser may raise anything
        what = f"{type(error).__name__}: {error}"
        raise FeedError(f"cannot be read as a feed: {what}") from error
    if not found.get("version") and not items:
        raise FeedError("is neither RSS nor Atom")
    ttl = found.feed.get("ttl")
    minutes = float(ttl) if isinstance(ttl, str) and ttl.strip().isdecimal() else 0.0
    return items, min(60.0 * minutes, DAY)


def _item(entry: Any, url: str) -> Item:
    title = plain(_valid(entry.get("title", "")))
    content = entry.get("content")
    body = plain(_valid(content[0].get("value", "") if content else entry.get("summary", "")))
    link = _valid(entry.get("link") or "") or None
    own = _valid(entry.get("id") or "") or link or _digest(f"{title}\n{body}")
    labels = [_valid(tag["term"]).strip() for tag in entry.get("tags", ()) if tag.get("term")]
    return {
        "id": own, "title": title, "text": f"{title}\n\n{body}".strip(), "link": link,
        "published": _valid(entry.get("published") or "") or None, "feed": url,
        "labels": list(dict.fromkeys(filter(None, labels))) or None,
    }  # fmt: skip


def _valid(text: str) -> str:
    """Replace halves of surrogate pairs, as of ``&#xD800;``."""
    return text.encode("utf-8", "replace").decode()


def _digest(name: str) -> str:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def plain(markup: str) -> str:
    """Remove markup from text.

    >>> plain("<p>Wheat &amp; corn</p><script>no()</script><b>fell</b>")
    'Wheat & corn fell'
    """
    if "<" not in markup and "&" not in markup:
        return markup.strip()
    reader = _Text()
    reader.feed(markup)
    reader.close()
    return " ".join("".join(reader.pieces).split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._is_read = True

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._is_read = tag not in UNREAD  # which hold no tags
        self.pieces.append(" " * (tag in BREAKS))

    def handle_endtag(self, tag: str) -> None:
        self._is_read = True
        self.pieces.append(" " * (tag in BREAKS))

    def handle_data(self, data: str) -> None:
        if self._is_read:
            self.pieces.append(data)
