"""Addresses of streams: a path, ``-``, or a URL whose query holds options.

==========================  ================================================================
``news.jsonl``, ``inbox/``  a file, or a folder that is watched for new ones
``-``                       standard input or output
``file:news.jsonl?…``       a file or folder with options; ``?`` and ``#`` may be in no name
``scheme://host/name?…``    what the scheme's connector makes of it
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
            port = parts.port
        except ValueError as error:
            raise SettingError(f"{hidden(text)}: is no address: {error}") from error
        return cls(
            text,
            parts.scheme,
            unquote(parts.path.removeprefix("/")),
            parts.hostname or "",
            port,
            None if parts.username is None else unquote(parts.username),
            None if parts.password is None else unquote(parts.password),
            _options(parts.query, text),
        )

    @property
    def shown(self) -> str:
        """The address without a password and without options."""
        if self.scheme == STANDARD:
            return STANDARD
        if not self.host:
            return self.path
        port = "" if self.port is None else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{port}/{self.path}"

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
