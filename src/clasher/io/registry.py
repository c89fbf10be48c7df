"""Which connector an address asks for.

A connector is imported when it is asked for: what it needs may not be installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, NamedTuple

from clasher.errors import MissingExtraError, SettingError
from clasher.io.addresses import Address
from clasher.io.records import Fields
from clasher.io.streams import Sink, Source


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
