"""Feeds over HTTP, asked for politely: only if they changed, not too often, not too much at once.

A feed that is unchanged costs its server a line (``ETag``, ``Last-Modified``). What a server says
about when to come again is heeded: ``Retry-After``, ``Cache-Control: max-age``, and ``ttl`` in the
feed. A feed that fails is asked less and less often.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
import zlib
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from clasher.errors import StreamError
from clasher.version import __version__

SECONDS: Final = 10.0  # that an answer may take
MOST_BYTES: Final = 10 * 2**20  # of a feed
DAY: Final = 86400.0
AGENT: Final = f"clasher/{__version__} (feed reader)"
FOR_GOOD: Final = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT)


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


def fetch(url: str, etag: str | None, modified: str | None) -> Answer:
    """Ask for a feed, if it changed."""
    headers = {"User-Agent": AGENT, "Accept-Encoding": "gzip", "Accept": "application/xml, */*"}
    if etag is not None:
        headers["If-None-Match"] = etag
    if modified is not None:
        headers["If-Modified-Since"] = modified
    ways = _Ways()
    opener = urllib.request.build_opener(ways)
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=SECONDS) as answer:
            content = _content(answer, answer.headers.get("Content-Encoding", ""))
            return _answer(content, answer.headers, ways.moved)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == HTTPStatus.NOT_MODIFIED:
                return _answer(None, error.headers, ways.moved, etag, modified)
            after = _seconds(error.headers.get("Retry-After"))
            raise FeedError(
                f"{url}: {error.code} {error.reason}", after, is_gone=error.code == HTTPStatus.GONE
            ) from error
    except (OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "reason", None) or error
        raise FeedError(f"{url}: {reason}") from error


class _Ways(urllib.request.HTTPRedirectHandler):
    """Follows a feed to where it is, and notes where it is for good."""

    def __init__(self) -> None:
        self.moved: str | None = None
        self._is_lasting = True

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.startswith(("http://", "https://")):
            raise FeedError(f"{req.full_url}: leads to {newurl[:80]}, which is no web address")
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
    if encoding.lower() == "gzip":
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        raw = unpacker.decompress(raw, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
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
