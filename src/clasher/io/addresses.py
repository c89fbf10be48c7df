"""Addresses of streams: a path, ``-``, or a URL whose query holds options.

==========================  ================================================================
``news.jsonl``, ``inbox/``  a file, or a folder that is watched for new ones
``-``                       standard input or output
``file:news.jsonl?…``       a file or folder with options; ``?`` and ``#`` may be in no name
``scheme://host/name?…``    what the scheme's connector makes of it; options of a web address
                            stand behind ``#``
==========================  ================================================================
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from clasher.errors import SettingError

STANDARD: Final = "-"
WEB: Final = ("http", "https")
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://|(file|feeds):", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """Where a stream is.

    Examples
    --------
    >>> address = Address.of("redis://ann:secret@localhost:6379/news?group=desk")
    >>> address.scheme, address.path, address.options, address.shown
    ('redis', 'news', {'group': 'desk'}, 'redis://localhost:6379/news')
    >>> Address.of("news.jsonl").scheme, Address.of("-").scheme
    ('file', '-')
    """

    url: str
    scheme: str
    path: str
    host: str = ""
    port: int | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address as people write it."""
        if text == STANDARD:
            return cls(text, STANDARD, text)
        if not text:
            raise SettingError("the address of a stream must not be empty: name a file, or - ")
        match = _URL.match(text)
        if match is None:
            return cls(text, "file", text)
        if match[2]:
            path, _, query = text[match.end() :].removeprefix("//").partition("?")
            return cls(text, match[2].lower(), path, options=_options(query, text))
        return cls._of_url(text)

    @classmethod
    def _of_url(cls, text: str) -> Address:
        try:
            parts = urlsplit(text)
            hosts = parts.netloc.rpartition("@")[2]
            several = "," in hosts  # each with a port of its own
            port = None if several else parts.port
        except ValueError as error:
            raise SettingError(f"{hidden(text)}: is no address: {error}") from error
        return cls(
            text,
            parts.scheme,
            unquote(parts.path.removeprefix("/")),
            hosts if several else parts.hostname or "",
            port,
            None if parts.username is None else unquote(parts.username),
            None if parts.password is None else unquote(parts.password),
            # The query of a web address belongs to its server.
            _options(parts.fragment if parts.scheme in WEB else parts.query, text),
        )

    @property
    def target(self) -> str:
        """A web address without what is said to us only.

        >>> Address.of("https://example.org/feed?lang=en#every=3600").target
        'https://example.org/feed?lang=en'
        """
        return self.url.partition("#")[0]

    @property
    def shown(self) -> str:
        """The address without a password and without options."""
        if self.scheme == STANDARD:
            return STANDARD
        if self.scheme in WEB:
            return hidden(self.target)
        return f"{self.scheme}://{self.server}/{self.path}" if self.host else self.path

    @property
    def server(self) -> str:
        """The host, with its port where there is one; several of them as they were written.

        >>> Address.of("kafka://one:9092,two:9092/news").server, Address.of("redis://[::1]/a").server
        ('one:9092,two:9092', '[::1]')
        """
        port = "" if self.port is None else f":{self.port}"
        is_bare = ":" not in self.host or "," in self.host
        return f"{self.host if is_bare else f'[{self.host}]'}{port}"

    def check_options(self, known: Collection[str]) -> None:
        """Refuse options that mean nothing here.

        >>> Address.of("file:news.jsonl?folow=yes").check_options(["follow"])
        Traceback (most recent call last):
        clasher.errors.SettingError: news.jsonl: there is no option 'folow'; known are follow
        """
        for name in self.options:
            if name not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise SettingError(f"{self.shown}: there is no option {name!r}; known are {listed}")

    def flag(self, name: str) -> bool:
        """An option that is yes or no; no, where it is not there.

        >>> Address.of("file:news.jsonl?follow=yes").flag("follow")
        True
        """
        return self.choice(name, ["no", "yes"]) == "yes"

    def choice(self, name: str, known: Sequence[str]) -> str:
        """An option that is one of some words; the first, where it is not there.

        >>> Address.of("redis://host/news?on_loss=skip").choice("on_loss", ["stop", "skip"])
        'skip'
        """
        value = self.options.get(name, known[0])
        if value not in known:
            raise SettingError(f"{self.shown}: {name}={value}: say {' or '.join(known)}")
        return value

    def number(self, name: str, default: float) -> float:
        """An option that is a number, not below 0.

        >>> Address.of("file:inbox?settle=0.5").number("settle", 1)
        0.5
        """
        value = self.options.get(name)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise SettingError(f"{self.shown}: {name}={value}: say a number, 0 or above")
        return number

    @property
    def is_folder(self) -> bool:
        """Whether a path names a folder, or ends as one."""
        return self.path.endswith(os.sep) or os.path.isdir(self.path)


def hidden(url: str) -> str:
    """A URL in which passwords cannot be seen.

    >>> hidden("redis://ann:secret@host/news")
    'redis://…@host/news'
    """
    return re.sub(r"//[^/@]*@", "//…@", url)


def _options(query: str, url: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise SettingError(
            f"{hidden(url)}: options are written ?name=value&name=value: {error}"
        ) from error
    options = dict(pairs)
    if len(options) < len(pairs):
        raise SettingError(f"{hidden(url)}: an option is given twice")
    return options
