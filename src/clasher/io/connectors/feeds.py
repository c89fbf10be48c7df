"""RSS and Atom feeds: their new items, the oldest first, as they appear.

An item is a record with the fields ``id``, ``title``, ``text`` (the title and what follows it,
without markup), ``link``, ``published``, ``feed``, and ``labels``: its categories, unlabelled where
it has none. Items are known again by their ids, of which a bounded number is remembered.

Each request has a thread of its own, and a time in which it must be done: a feed that fails, or is
slow to come, keeps no other waiting.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from clasher.errors import SettingError, StreamError
from clasher.io.addresses import WEB, Address, hidden
from clasher.io.connectors import feed_fetching
from clasher.io.connectors.feed_fetching import DAY, Answer, FeedError, Line, fetch, printable
from clasher.io.connectors.feed_items import Item, parsed
from clasher.io.decoding import Decoder
from clasher.io.records import Fields
from clasher.io.streams import Caller, Chunk, Position, Source

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
        self.until = time.monotonic() + feed_fetching.SECONDS
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
        due = [
            feed
            for feed in left
            if feed.due <= now
            and (feed.asking is None or not feed.asking.is_alive)
            and feed.asking not in self._asking  # whose answer was not heard yet
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
                said = f"took longer than {feed_fetching.SECONDS:g} s"
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
