"""What a Redis stream says of itself: some of its entries, which stay what they are wherever it is.

The id of a server changes when it restarts, and that of its replication when another takes over.
Entries do neither. Those at both ends of the stream are kept as digests: a stream that has one of
them is the same, also under another address or on another server; one that has something else in
their place is another. Where all of them were trimmed, only the same address tells.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from clasher.io.connectors.redis_server import Server
from clasher.io.connectors.redis_standing import Stand, order

DIGEST: Final = 16  # bytes


class Identity(msgspec.Struct):
    """A stream at some moment.

    Attributes
    ----------
    name : str
        Its address.
    group : str | None
        The group with which it was read: each has read another part.
    added, last
        How many entries were ever added, and the id of the last one.
    entries : dict
        Digests of entries, by id.
    """

    name: str
    group: str | None
    added: int
    last: str
    entries: dict[str, str]


def identity_of(server: Server, group: str | None = None) -> str | None:
    """Describe a stream; None where it has no entries yet."""
    with server.answering() as client:
        stand = _stand(server)
        if stand is None or not stand.length:
            return None
        ends = [*client.xrange(server.key, count=1), *client.xrevrange(server.key, count=1)]
    entries = {own.decode(): _digest(fields) for own, fields in ends}
    found = Identity(server.name, group, stand.added, stand.last, entries)
    return msgspec.json.encode(found).decode()


def is_same(server: Server, identity: str, group: str | None = None) -> bool:
    """Tell whether a stream is the one that was described."""
    kept = msgspec.json.decode(identity, type=Identity)
    with server.answering() as client:
        stand = _stand(server)
        if kept.group != group or stand is None or _went_back(stand, kept):
            return False
        there = [
            _digest(found[0][1]) == digest
            for own, digest in kept.entries.items()
            if (found := client.xrange(server.key, own, own))
        ]
    return all(there) if there else kept.name == server.name


def _stand(server: Server) -> Stand | None:
    (answer,) = server.together(["XINFO STREAM", server.key])
    return Stand.of(answer, server.name)


def _went_back(stand: Stand, kept: Identity) -> bool:
    return stand.added < kept.added or order(stand.last) < order(kept.last)


def _digest(fields: Any) -> str:
    content = msgspec.msgpack.encode([*fields.items()])
    return blake2b(content, digest_size=DIGEST).hexdigest()
