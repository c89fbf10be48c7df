"""Which connector an address asks for.

A connector is imported when it is asked for: what it needs may not be installed.

Functions of the user's own, named as ``module:function``.

Addresses of streams: a path, ``-``, or a URL whose query holds options.

==========================  ================================================================
``news.jsonl``, ``inbox/``  a file, or a folder that is watched for new ones
``-``                       standard input or output
``file:news.jsonl?…``       a file or folder with options; ``?`` and ``#`` may be in no name
``scheme://host/name?…``    what the scheme's connector makes of it; options of a web address
                            stand behind ``#``
==========================  ================================================================
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from clasher.errors import MissingExtraError, SettingError
from clasher.io.protocol import Sink, Source
from clasher.io.records import Fields


def load_function(name: str) -> Callable[..., Any]:
    """Import a function; the current folder counts.

    >>> load_function("json:loads")(b"[1]")
    [1]
    >>> load_function("json")
    Traceback (most recent call last):
    clasher.errors.SettingError: 'json' is not of the form module:function.
    """
    module, _, path = name.partition(":")
    if not module or not path:
        raise SettingError(f"{name!r} is not of the form module:function.")
    sys.path.insert(0, os.getcwd())
    try:
        function: Any = importlib.import_module(module)
        for part in path.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"{name!r} cannot be imported: {error}.") from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(function):
        raise SettingError(f"{name!r} is no function.")
    return function  # type: ignore[no-any-return]


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


class Connector(NamedTuple):
    """Where a scheme's classes are, and the extra that they need."""

    module: str
    source: str | None = None
    sink: str | None = None
    extra: str | None = None


CONNECTORS: Final[Mapping[str, Connector]] = {
    "-": Connector("standard", "StandardInput", "StandardOutput"),
    "file": Connector("files", "file_source", "FileSink"),
    "feeds": Connector("feeds", "FeedSource", extra="feeds"),
    "http": Connector("feeds", "FeedSource", extra="feeds"),
    "https": Connector("feeds", "FeedSource", extra="feeds"),
    "kafka": Connector("kafka", "kafka_source", "KafkaSink", extra="kafka"),
    "nats": Connector("nats", "NatsSource", "NatsSink", extra="nats"),
    "redis": Connector("redis", "redis_source", "RedisSink", extra="redis"),
    "rediss": Connector("redis", "redis_source", "RedisSink", extra="redis"),
}
"""By scheme. A connector's author adds a line here, and a file to ``clasher.io.connectors``."""


def source_at(
    url: str,
    fields: Fields | None = None,
    decoder: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Source:
    """The source that an address names; nothing is opened yet.

    A ``decoder``, as ``module:function``, is the option of that name: see ``kafka_messages``.
    ``delimiter`` and ``encoding`` are those of files.

    >>> source_at("news.jsonl").name.endswith("/news.jsonl")
    True
    """
    address = Address.of(url)
    said = {"decoder": decoder, "delimiter": delimiter, "encoding": encoding}
    options = {name: value for name, value in said.items() if value is not None}
    if options:
        address = replace(address, options=address.options | options)
    source: Source = _load(address, "source", "reads from")(address, fields or Fields())
    return source


def sink_at(url: str) -> Sink:
    """The sink that an address names; nothing is opened yet."""
    address = Address.of(url)
    sink: Sink = _load(address, "sink", "writes to")(address)
    return sink


def commit_as_one(documents: Source, sinks: Sequence[Sink]) -> None:
    """Have sinks show outputs when the snapshot counts that knows of them: Kafka ones can."""
    try:
        from clasher.io.connectors.kafka import transactional
    except ImportError as error:
        raise MissingExtraError.of("Transactions", "kafka") from error
    transactional(documents, sinks)


def _load(address: Address, kind: str, does: str) -> Any:
    connector = CONNECTORS.get(address.scheme)
    name = None if connector is None else getattr(connector, kind)
    if connector is None or name is None:
        known = [f"{scheme}:" for scheme, other in CONNECTORS.items() if getattr(other, kind)]
        listed = ", ".join(["a path", "-", *sorted(known)[1:]])
        raise SettingError(
            f"{address.shown}: nothing {does} {address.scheme!r}; known are {listed}"
        )
    try:
        module = import_module(f"clasher.io.connectors.{connector.module}")
    except ImportError as error:
        if connector.extra is None:
            raise
        raise MissingExtraError.of(f"{address.scheme}://", connector.extra) from error
    return getattr(module, name)
