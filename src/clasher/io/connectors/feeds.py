"""RSS and Atom feeds: their new items, the oldest first, as they appear.

An item is a record with the fields ``id``, ``title``, ``text`` (the title and what follows it,
without markup), ``link``, ``published``, ``feed``, and ``labels``: its categories, unlabelled where
it has none. Items are known again by their ids, of which a bounded number is remembered.

Each request has a thread of its own, and a time in which it must be done: a feed that fails, or is
slow to come, keeps no other waiting.

The items of a feed as records.

Feeds over HTTP, asked for politely: only if they changed, not too often, not too much at once.

A feed that is unchanged costs its server a line (``ETag``, ``Last-Modified``). What a server says
about when to come again is heeded: ``Retry-After``, ``Cache-Control: max-age``, and ``ttl`` in the
feed. A feed that fails is asked less and less often.

Whatever a server sends, a feed either comes whole or becomes a ``FeedError`` of one printable line.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import ssl
import threading
import time
import urllib.error
import urllib.request
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import blake2b
from html.parser import HTMLParser
from http import HTTPStatus
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

import feedparser

from clasher.errors import SettingError, StreamError
from clasher.io.jsonl import Decoder
from clasher.io.protocol import Caller, Chunk, Position, Source
from clasher.io.records import Fields
from clasher.io.registry import WEB, Address, hidden
from clasher.version import __version__

KEY: Final = 12  # bytes by which an item is known again
BREAKS: Final = frozenset(("p", "br", "div", "li", "tr", "td", "h1", "h2", "h3", "blockquote"))
UNREAD: Final = frozenset(("script", "style"))


class Item(NamedTuple):
    """An item: its id, what it is known again by, and what it says."""

    name: str
    key: str
    record: Mapping[str, Any]


def parsed(url: str, answer: Answer) -> tuple[list[Item], float]:
    """The items of a feed, the oldest first, and the seconds after which it wants to be asked."""
    try:
        return _parsed(hidden(url), answer)
    except FeedError:
        raise
    except Exception as error:  # feedparser may stumble over what nobody has thought of
        what = f"{type(error).__name__}: {error}"
        raise FeedError(f"{hidden(url)}: cannot be read as a feed: {printable(what)}") from error


def _parsed(url: str, answer: Answer) -> tuple[list[Item], float]:
    assert answer.content is not None
    # As a stream: text would be taken for an address, or for the name of a file.
    found = feedparser.parse(
        io.BytesIO(answer.content),
        response_headers={"content-type": answer.kind},
        resolve_relative_uris=False,  # ids look like addresses, and are none
    )
    if not found.get("version") and not found.entries:
        raise FeedError(f"{url}: is neither RSS nor Atom")
    items = [_item(entry, url) for entry in reversed(found.entries)]
    return items, _minutes(found.feed.get("ttl"))


def _item(entry: Any, url: str) -> Item:
    title = plain(_valid(entry.get("title", "")))
    content = entry.get("content")
    body = plain(_valid(content[0].get("value", "") if content else entry.get("summary", "")))
    link = _valid(entry.get("link") or "") or None
    name = _valid(entry.get("id") or "") or link or _digest(f"{title}\n{body}")
    labels = [_valid(tag["term"]).strip() for tag in entry.get("tags", ()) if tag.get("term")]
    published = _valid(entry.get("published") or "") or None
    record = {
        "id": name, "title": title, "text": f"{title}\n\n{body}".strip(),
        "link": link, "published": published, "feed": url,
        "labels": list(dict.fromkeys(filter(None, labels))) or None,
    }  # fmt: skip
    return Item(name, _digest(name), record)


def _valid(text: str) -> str:
    """Replace halves of surrogate pairs, which references such as ``&#xD800;`` may bring."""
    return text.encode("utf-8", "replace").decode()


def plain(markup: str) -> str:
    """Text without markup.

    >>> plain("<p>Wheat &amp; corn</p><script>no()</script><b>fell</b>")
    'Wheat & corn fell'
    """
    if "<" not in markup and "&" not in markup:
        return markup.strip()
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return " ".join("".join(reader.pieces).split())


class _Reader(HTMLParser):
    """Collects what can be read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._unread += tag in UNREAD
        if tag in BREAKS:
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD and self._unread > 0
        if tag in BREAKS:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.pieces.append(data)


def _digest(name: str) -> str:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=KEY).hexdigest()


def _minutes(text: str | None) -> float:
    """The ``ttl`` of a feed in seconds, a day at most."""
    if text is None or not text.strip().isdecimal():
        return 0.0
    return min(60.0 * float(text), DAY)


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


EVERY: Final = 900.0  # seconds between two requests for a feed
SOONEST: Final = 60.0  # whatever was said, unless the feed is on this machine
APART: Final = 1.0  # seconds between two requests to one host
SEEN: Final = 1000  # items of a feed that are remembered at least
SLEEP: Final = 0.1  # seconds between two looks at the clock
AT_ONCE: Final = 8  # requests under way
PATIENT: Final = 2.0  # seconds that a read waits for requests under way: a stop waits no longer


class Feed:
    """A feed: what was seen of it, and when to ask for it again."""

    def __init__(self, url: str, every: float) -> None:
        self.url = url
        self.host = urlsplit(url).hostname or ""
        self.is_here = _is_here(self.host)
        self.every = every if self.is_here else max(every, SOONEST)
        self.begin({})

    def begin(self, known: Mapping[str, Any]) -> None:
        """Take up what a snapshot knows."""
        self.etag, self.modified = known.get("etag"), known.get("modified")
        self.at: str = known.get("at", self.url)
        self.seen = dict.fromkeys(known.get("seen", ()))
        self.failures, self.due, self.is_gone = 0, 0.0, False
        self.asking: Asking | None = None

    def position(self) -> dict[str, Any]:
        """What is to be known of it."""
        return {
            "etag": self.etag, "modified": self.modified, "at": self.at, "seen": list(self.seen),
        }  # fmt: skip

    def look(self, line: Line) -> Found:
        """Ask for it; in a thread of its own, so nothing is changed."""
        answer = fetch(self.at, self.etag, self.modified, line)
        items, ttl = ([], 0.0) if answer.content is None else parsed(self.url, answer)
        return Found(items, ttl, answer)

    def fail(self, error: FeedError) -> None:
        """Ask less often from now on."""
        self.failures += 1
        self.is_gone = error.is_gone
        wait = min(self.every * 2.0 ** min(self.failures, 10), DAY)
        self.due = time.monotonic() + max(wait, error.after)

    def take(self, found: Found) -> list[Item]:
        """Return the items that are new, the oldest first."""
        items = found.items
        self.failures = 0
        self.due = time.monotonic() + max(self.every, found.answer.fresh, found.ttl)
        for item in items:  # what is still there is remembered before what is not
            if item.key in self.seen:
                self.note(item.key)
        while len(self.seen) > max(SEEN, 2 * len(items)):
            del self.seen[next(iter(self.seen))]
        return [item for item in items if item.key not in self.seen]

    def note(self, key: str) -> None:
        """An item was delivered, or is still there."""
        self.seen.pop(key, None)
        self.seen[key] = None

    def accept(self, answer: Answer) -> None:
        """Every item of an answer was delivered: do not ask for them again."""
        self.etag, self.modified = answer.etag, answer.modified
        self.at = answer.moved or self.at


class Found(NamedTuple):
    """The items of a feed, when it wants to be asked again, and what else its server said."""

    items: list[Item]
    ttl: float
    answer: Answer


class Asking:
    """One request for a feed, in a thread of its own.

    Attributes
    ----------
    result : Found | FeedError | None
        What came of it; None while it is under way.
    """

    def __init__(self, feed: Feed, bell: threading.Condition) -> None:
        self.feed, self._bell, self._line = feed, bell, Line()
        self.result: Found | FeedError | None = None
        self.until = time.monotonic() + SECONDS
        self._thread = threading.Thread(target=self._run, name="clasher feed", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether its thread still runs."""
        return self._thread.is_alive()

    def give_up(self) -> None:
        """Cut the connection; the thread ends when it notices."""
        self._line.cut()

    def _run(self) -> None:
        result: Found | FeedError
        try:
            result = self.feed.look(self._line)
        except FeedError as error:
            result = error
        except BaseException as error:  # whatever it is, it is of this feed
            what = f"{type(error).__name__}: {error}"
            result = FeedError(f"{hidden(self.feed.url)}: {printable(what)}")
        with self._bell:
            self.result = result
            self._bell.notify_all()


class Delivery(NamedTuple):
    """An item on its way, and the answer that it is the last of."""

    feed: Feed
    item: Item
    answer: Answer | None


class FeedSource(Source):
    """One feed, or those of a list.

    Options, behind ``#`` of a web address, for its query belongs to the server: ``every=SECONDS``
    between two requests (900; not below 60, unless the feed is on this machine).
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["every"])
        self.name, self.fields = address.shown, fields
        every = address.number("every", EVERY)
        urls = _listed(address.path) if address.scheme == "feeds" else [address.target]
        self._feeds = {url: Feed(url, every) for url in urls}
        self._decoder = Decoder(self.name, fields)
        self._on_the_way: deque[Delivery] = deque()
        self._free_at: dict[str, float] = {}  # when hosts may be asked again
        self._asking: list[Asking] = []
        self._bell = threading.Condition()
        self._caller = Caller("")

    def open(self, position: Position, caller: Caller) -> None:
        """Go on with what was seen so far."""
        self._caller = caller
        self.close()
        self._on_the_way.clear()
        known = {} if position is None else position["feeds"]
        for url, feed in self._feeds.items():
            feed.begin(known.get(url, {}))

    @property
    def knows_end(self) -> bool:
        """Whether every feed that was asked has answered."""
        return not self._asking

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next items; feeds are asked for while there are none, as long as there is time."""
        until = time.monotonic() + seconds
        patient = max(until, time.monotonic() + PATIENT)
        self._ask()
        while True:
            self._hear()
            if self._on_the_way:
                return self._deliver(most)
            now = time.monotonic()
            left = (patient if self._asking else until) - now
            if left <= 0:
                return None
            if now < until:
                self._ask()
            with self._bell:
                if not any(asking.result for asking in self._asking):
                    self._bell.wait(min(SLEEP, left))

    def _ask(self) -> None:
        """Ask for the feeds whose turn it is, a few at a time."""
        while len(self._asking) < AT_ONCE and (feed := self._due()) is not None:
            feed.asking = Asking(feed, self._bell)
            self._asking.append(feed.asking)

    def _due(self) -> Feed | None:
        """The feed that waits longest, of those whose host may be asked."""
        now = time.monotonic()
        left = [feed for feed in self._feeds.values() if not feed.is_gone]
        if not left:
            raise StreamError(f"{self.name}: every feed is gone (410)")
        busy = {asking.feed.host for asking in self._asking if not asking.feed.is_here}
        undelivered = {delivery.feed.url for delivery in self._on_the_way}
        due = [
            feed
            for feed in left
            if feed.due <= now
            and (feed.asking is None or not feed.asking.is_alive)
            and feed.asking not in self._asking  # whose answer was not heard yet
            and feed.url not in undelivered  # the server would send these items once more
            and feed.host not in busy
            and self._free_at.get(feed.host, 0.0) <= now
        ]
        return min(due, key=lambda feed: feed.due, default=None)

    def _hear(self) -> None:
        """Take what has come of requests; give up those that take too long."""
        for asking in list(self._asking):
            result = asking.result
            if result is None and time.monotonic() >= asking.until:
                asking.give_up()
                said = f"took longer than {SECONDS:g} s"
                result = FeedError(f"{hidden(asking.feed.url)}: {said}")
            if result is not None:
                self._asking.remove(asking)
                self._take(asking.feed, result)

    def _take(self, feed: Feed, result: Found | FeedError) -> None:
        failures = feed.failures
        self._free_at[feed.host] = time.monotonic() + (0.0 if feed.is_here else APART)
        if isinstance(result, FeedError):
            feed.fail(result)
            if not failures or feed.is_gone:
                self._caller.tell(f"{result}; asking less often from now on")
            return
        if failures:
            self._caller.tell(f"{hidden(feed.url)} answers again")
        items = feed.take(result)
        if not items:
            feed.accept(result.answer)
        for item in items:
            answer = result.answer if item is items[-1] else None
            self._on_the_way.append(Delivery(feed, item, answer))

    def _deliver(self, most: int) -> Chunk:
        taken = [self._on_the_way.popleft() for _ in range(min(most, len(self._on_the_way)))]
        for feed, item, answer in taken:
            feed.note(item.key)
            if answer is not None:
                feed.accept(answer)
        position = {"feeds": {url: feed.position() for url, feed in self._feeds.items()}}
        records = [item.record for _, item, _ in taken]
        return self._decoder.chunk(records, [item.name for _, item, _ in taken], position)

    def close(self) -> None:
        """Give up the requests that are under way."""
        for asking in self._asking:
            asking.give_up()
        self._asking.clear()


def _listed(path: str) -> list[str]:
    """The feeds of a list: an address a line; what begins with # is a remark."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StreamError(f"{path} cannot be read: {error}") from error
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for url in urls:
        if not _is_web_address(url):
            raise SettingError(f"{path}: {hidden(url)!r} is no web address")
    if not urls:
        raise SettingError(f"{path}: there is no feed in it; write an address a line")
    return list(dict.fromkeys(urls))


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is read only when it is asked for
    except ValueError:
        return False
    return parts.scheme in WEB and bool(parts.hostname)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
