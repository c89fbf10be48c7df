"""RSS and Atom feeds: their new items, the oldest first, as they appear.

An item is a record with the fields ``id``, ``title``, ``text`` (the title and what follows it,
without markup), ``link``, ``published``, ``feed``, and ``labels``: its categories, unlabelled where
it has none. Items are known again by their ids, of which a bounded number is remembered.
"""

from __future__ import annotations

import ipaddress
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from clasher.errors import SettingError, StreamError
from clasher.io.addresses import Address
from clasher.io.connectors.feed_fetching import DAY, Answer, FeedError, fetch
from clasher.io.connectors.feed_items import Item, parsed
from clasher.io.decoding import Decoder
from clasher.io.records import Fields
from clasher.io.streams import Caller, Chunk, Position, Source

EVERY: Final = 900.0  # seconds between two requests for a feed
SOONEST: Final = 60.0  # whatever was said, unless the feed is on this machine
APART: Final = 1.0  # seconds between two requests to one host
SEEN: Final = 1000  # items of a feed that are remembered at least
SLEEP: Final = 0.1  # seconds between two looks at the clock


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

    def position(self) -> dict[str, Any]:
        """What is to be known of it."""
        return {
            "etag": self.etag, "modified": self.modified, "at": self.at, "seen": list(self.seen),
        }  # fmt: skip

    def ask(self) -> tuple[list[Item], Answer]:
        """The items that are new, the oldest first, and what else the server said."""
        try:
            answer = fetch(self.at, self.etag, self.modified)
            items, ttl = ([], 0.0) if answer.content is None else parsed(self.url, answer)
        except FeedError as error:
            self.failures += 1
            self.is_gone = error.is_gone
            wait = min(self.every * 2.0 ** min(self.failures, 10), DAY)
            self.due = time.monotonic() + max(wait, error.after)
            raise
        self.failures = 0
        self.due = time.monotonic() + max(self.every, answer.fresh, ttl)
        for item in items:  # what is still there is remembered before what is not
            if item.key in self.seen:
                self.note(item.key)
        while len(self.seen) > max(SEEN, 2 * len(items)):
            del self.seen[next(iter(self.seen))]
        return [item for item in items if item.key not in self.seen], answer

    def note(self, key: str) -> None:
        """An item was delivered, or is still there."""
        self.seen.pop(key, None)
        self.seen[key] = None

    def accept(self, answer: Answer) -> None:
        """Every item of an answer was delivered: do not ask for them again."""
        self.etag, self.modified = answer.etag, answer.modified
        self.at = answer.moved or self.at


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
        self._caller = Caller("")

    def open(self, position: Position, caller: Caller) -> None:
        """Go on with what was seen so far."""
        self._caller = caller
        self._on_the_way.clear()
        known = {} if position is None else position["feeds"]
        for url, feed in self._feeds.items():
            feed.begin(known.get(url, {}))

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next items; feeds are asked for while there are none, as long as there is time."""
        until = time.monotonic() + seconds
        while not self._on_the_way:
            feed = self._due()
            if feed is not None:
                self._ask(feed)
            left = until - time.monotonic()
            if left <= 0 and not self._on_the_way:
                return None
            if feed is None:
                time.sleep(min(SLEEP, left))
        return self._deliver(most)

    def _due(self) -> Feed | None:
        """The feed that waits longest, of those whose host may be asked."""
        now = time.monotonic()
        left = [feed for feed in self._feeds.values() if not feed.is_gone]
        if not left:
            raise StreamError(f"{self.name}: every feed is gone (410)")
        due = [f for f in left if f.due <= now and self._free_at.get(f.host, 0.0) <= now]
        return min(due, key=lambda feed: feed.due, default=None)

    def _ask(self, feed: Feed) -> None:
        failures = feed.failures
        try:
            items, answer = feed.ask()
        except FeedError as error:
            if not failures or feed.is_gone:
                self._caller.tell(f"{error}; asking less often from now on")
            return
        finally:
            self._free_at[feed.host] = time.monotonic() + (0.0 if feed.is_here else APART)
        if failures:
            self._caller.tell(f"{feed.url} answers again")
        if not items:
            feed.accept(answer)
        for item in items:
            self._on_the_way.append(Delivery(feed, item, answer if item is items[-1] else None))

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
        """Nothing is held open between requests."""


def _listed(path: str) -> list[str]:
    """The feeds of a list: an address a line; what begins with # is a remark."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StreamError(f"{path} cannot be read: {error}") from error
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise SettingError(f"{path}: {url!r} is no web address")
    if not urls:
        raise SettingError(f"{path}: there is no feed in it; write an address a line")
    return list(dict.fromkeys(urls))


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
