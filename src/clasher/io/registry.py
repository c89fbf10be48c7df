"""Addresses of streams, and the connectors that open them.

An address is a path, ``-`` for standard input or output, ``file:path?options``, or
``scheme://host/name?options``; options of a web address follow ``#``.

A ``Connector`` names the classes of a scheme. Clasher's own are in ``CONNECTORS``; other packages
add theirs as entry points of the group ``clasher.connectors``, the name of the entry point being
the scheme. Nothing is imported before an address asks for it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from clasher.errors import MissingExtraError, SettingError
from clasher.io.protocol import Sink, Source
from clasher.io.records import Fields

STANDARD: Final = "-"
WEB: Final = ("http", "https")
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://|(file|feeds):", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """The address of a stream.

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
        """Parse an address."""
        if text == STANDARD:
            return cls(text, STANDARD, text)
        if not text:
            raise SettingError("the address of a stream must not be empty: name a file, or -")
        match = _URL.match(text)
        if match is None:
            return cls(text, "file", text)
        if match[2]:
            path, _, query = text[match.end() :].removeprefix("//").partition("?")
            return cls(text, match[2].lower(), path, options=_options(query, text))
        try:
            parts = urlsplit(text)
            hosts = parts.netloc.rpartition("@")[2]
            several = "," in hosts  # each with a port of its own
            port = None if several else parts.port
        except ValueError as error:
            raise SettingError(f"{hidden(text)}: is no address: {error}") from error
        path, host = unquote(parts.path.removeprefix("/")), hosts if several else parts.hostname
        user, password = (part and unquote(part) for part in (parts.username, parts.password))
        # The query of a web address belongs to its server.
        options = _options(parts.fragment if parts.scheme in WEB else parts.query, text)
        return cls(text, parts.scheme, path, host or "", port, user, password, options)

    @property
    def target(self) -> str:
        """A web address without our options, which follow ``#``."""
        return self.url.partition("#")[0]

    @property
    def shown(self) -> str:
        """The address without password and options, for messages."""
        if self.scheme in WEB:
            return hidden(self.target)
        return f"{self.scheme}://{self.server}/{self.path}" if self.host else self.path

    @property
    def server(self) -> str:
        """The host with its port, or several hosts as written.

        >>> Address.of("kafka://one:9092,two:9092/news").server, Address.of("redis://[::1]/a").server
        ('one:9092,two:9092', '[::1]')
        """
        port = "" if self.port is None else f":{self.port}"
        is_bare = ":" not in self.host or "," in self.host
        return f"{self.host if is_bare else f'[{self.host}]'}{port}"

    def check_options(self, known: Collection[str]) -> None:
        """Refuse unknown options.

        >>> Address.of("file:news.jsonl?folow=yes").check_options(["follow"])
        Traceback (most recent call last):
        clasher.errors.SettingError: news.jsonl: there is no option 'folow'; known are follow
        """
        for name in sorted(self.options.keys() - set(known)):
            listed = ", ".join(sorted(known)) or "none"
            raise SettingError(f"{self.shown}: there is no option {name!r}; known are {listed}")

    def flag(self, name: str) -> bool:
        """Return a yes-or-no option; no by default."""
        return self.choice(name, ["no", "yes"]) == "yes"

    def choice(self, name: str, known: Sequence[str]) -> str:
        """Return an option that is one of some words; the first by default."""
        value = self.options.get(name, known[0])
        if value not in known:
            raise SettingError(f"{self.shown}: {name}={value}: say {' or '.join(known)}")
        return value

    def number(self, name: str, default: float) -> float:
        """Return an option that is a number, 0 or above."""
        value = self.options.get(name, default)
        with suppress(ValueError):
            if 0 <= float(value) < float("inf"):
                return float(value)
        raise SettingError(f"{self.shown}: {name}={value}: say a number, 0 or above")

    @property
    def begins_at_end(self) -> bool:
        """Whether ``start=end`` asks a new reader to skip what is already there."""
        return self.choice("start", ["beginning", "end"]) == "end"

    @property
    def skips_losses(self) -> bool:
        """Whether ``on_loss=skip`` accepts that records are gone."""
        return self.choice("on_loss", ["stop", "skip"]) == "skip"

    @property
    def is_folder(self) -> bool:
        """Whether the path names a folder, or ends like one."""
        return self.path.endswith(os.sep) or os.path.isdir(self.path)


def hidden(url: str) -> str:
    """Hide user and password of a URL.

    >>> hidden("redis://ann:secret@host/news")
    'redis://…@host/news'
    """
    return re.sub(r"//[^/@]*@", "//…@", url)


def _options(query: str, url: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        form = "options are written ?name=value&name=value"
        raise SettingError(f"{hidden(url)}: {form}: {error}") from error
    options = dict(pairs)
    if len(options) < len(pairs):
        raise SettingError(f"{hidden(url)}: an option is given twice")
    return options


Kind: TypeAlias = Literal["source", "sink"]


@dataclass(frozen=True)
class Connector:
    """The classes of a scheme.

    Parameters
    ----------
    source, sink
        Called with an ``Address``, a source with ``Fields`` too: a class or function, or where to
        import it from, as ``"module:name"``, which keeps its imports out of the way until then.
        None: the scheme cannot be read, or written.
    extra
        The extra of the package that installs what ``source`` and ``sink`` import.

    Examples
    --------
    >>> Connector("clasher_mqtt.client:MqttSource", extra="tls").sink is None
    True
    """

    source: Callable[[Address, Fields], Source] | str | None = None
    sink: Callable[[Address], Sink] | str | None = None
    extra: str | None = None


def _own(module: str, source: str, sink: str | None = None, extra: str | None = None) -> Connector:
    path = f"clasher.io.connectors.{module}"
    return Connector(f"{path}:{source}", None if sink is None else f"{path}:{sink}", extra)


_FEEDS: Final = _own("feeds", "FeedSource", extra="feeds")
_REDIS: Final = _own("redis.stream", "redis_source", "RedisSink", extra="redis")

CONNECTORS: Final[Mapping[str, Connector]] = {
    "-": _own("files", "StandardInput", "StandardOutput"),
    "file": _own("files", "file_source", "FileSink"),
    "feeds": _FEEDS,
    "http": _FEEDS,
    "https": _FEEDS,
    "kafka": _own("kafka", "kafka_source", "KafkaSink", extra="kafka"),
    "nats": _own("nats", "NatsSource", "NatsSink", extra="nats"),
    "redis": _REDIS,
    "rediss": _REDIS,
}
"""Clasher's own connectors, by scheme."""


def source_at(
    url: str,
    fields: Fields | None = None,
    decoder: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Source:
    """Make the source that an address names, without opening it.

    ``decoder`` (``module:function``), ``delimiter`` and ``encoding`` set the options of these
    names.

    >>> source_at("news.jsonl").name.endswith("/news.jsonl")
    True
    """
    address = Address.of(url)
    given = {"decoder": decoder, "delimiter": delimiter, "encoding": encoding}
    options = {name: value for name, value in given.items() if value is not None}
    address = replace(address, options=address.options | options)
    return _load(address, "source")(address, fields or Fields())  # type: ignore[no-any-return]


def sink_at(url: str) -> Sink:
    """Make the sink that an address names, without opening it."""
    address = Address.of(url)
    return _load(address, "sink")(address)  # type: ignore[no-any-return]


def commit_as_one(documents: Source, sinks: Sequence[Sink]) -> None:
    """Have Kafka sinks show their outputs only when the snapshot that knows them counts."""
    try:
        from clasher.io.connectors.kafka import transactional
    except ImportError as error:
        raise MissingExtraError.of("Transactions", "kafka") from error
    transactional(documents, sinks)


def plugin_schemes() -> list[str]:
    """Return the schemes that other packages provide, without importing these."""
    return sorted(set(_plugins_on(tuple(sys.path))) - set(CONNECTORS))


def load_function(name: str) -> Callable[..., Any]:
    """Import a user's function by ``module:function``; also from the current folder."""
    module, _, path = name.partition(":")
    if not module or not path:
        raise SettingError(f"{name!r} is not of the form module:function.")
    sys.path.insert(0, os.getcwd())
    try:
        function: Callable[..., Any] = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(f"{name!r} cannot be imported: {error}.") from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(function):
        raise SettingError(f"{name!r} is no function.")
    return function


def _load(address: Address, kind: Kind) -> Any:
    scheme, own = address.scheme, CONNECTORS.get(address.scheme)
    plugins = _plugins_on(tuple(sys.path)).get(scheme, [])
    packages = [] if own is None else ["clasher"]
    packages += [f"{entry.dist.name} {entry.dist.version}" for entry in plugins if entry.dist]
    if len(packages) > 1:
        several = f"several packages provide {scheme!r}: {', '.join(packages)}"
        raise SettingError(f"{address.shown}: {several}; uninstall all but one")
    connector: Any = own or Connector()
    try:
        connector = plugins[0].load() if plugins else connector
        found = getattr(connector, kind) if isinstance(connector, Connector) else None
        found = resolve_name(found) if isinstance(found, str) else found
    except Exception as error:  # a package may raise anything while it is imported
        extra = getattr(connector, "extra", None)
        if own is not None:
            if extra is None or not isinstance(error, ImportError):
                raise
            raise MissingExtraError.of(f"{scheme}://", extra) from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "" if extra is None else f"; pip install '{packages[0].split()[0]}[{extra}]'"
        raise MissingExtraError(
            f"{scheme}://: the package {packages[0]} cannot be imported: {reason}{remedy}"
        ) from error
    if not isinstance(connector, Connector):
        named = f"the package {packages[0]} names {plugins[0].value} as its connector"
        raise SettingError(f"{scheme}://: {named}, which is no clasher.io.Connector")
    if found is None:
        schemes = {each for each, one in CONNECTORS.items() if getattr(one, kind) is not None}
        schemes = schemes.union(plugin_schemes()) - {STANDARD, scheme}
        known = ", ".join(["a path", STANDARD, *(f"{each}:" for each in sorted(schemes))])
        does = "reads from" if kind == "source" else "writes to"
        raise SettingError(f"{address.shown}: nothing {does} {scheme!r}; known are {known}")
    return found


@lru_cache(1)
def _plugins_on(_path: tuple[str, ...]) -> Mapping[str, Sequence[EntryPoint]]:
    """Find entry points by scheme; the search path is the key of the cache."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group="clasher.connectors"):
        found.setdefault(entry.name.lower(), []).append(entry)
    return found
