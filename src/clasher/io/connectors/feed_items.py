"""The items of a feed as records."""

from __future__ import annotations

import io
from collections.abc import Mapping
from hashlib import blake2b
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple

import feedparser

from clasher.io.addresses import hidden
from clasher.io.connectors.feed_fetching import DAY, Answer, FeedError, printable

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
