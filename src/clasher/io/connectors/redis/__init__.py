"""Redis Streams: read from a position or in a group; written entry by entry.

An entry is a record: the JSON object in its field ``json`` (another with ``field=``), or else its
fields, whose values are text. Without ``group=`` reading changes nothing on the server and the
model keeps the position; with it, a snapshot and the acknowledgement of its entries are one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clasher.io.connectors.redis import scripts
from clasher.io.connectors.redis.group import RedisGroupSource
from clasher.io.connectors.redis.stream import FIELD, OPTIONS, RedisServer, StreamSource
from clasher.io.protocol import Caller, Output, Position, Sink, Source, portions
from clasher.io.records import Fields
from clasher.io.registry import Address

PIECE: Final = 1000  # entries added in one step
PIECE_BYTES: Final = 16 << 20  # and their bytes, unless a single entry has more


def redis_source(address: Address, fields: Fields) -> Source:
    """Make a source of a stream, or of the group that the address names."""
    return (RedisGroupSource if "group" in address.options else StreamSource)(address, fields)


class RedisSink(Sink):
    """Adds an entry for each output, a JSON text in one field.

    Options: ``field=`` names another field than ``json``; ``maxlen=N`` keeps about the last N
    entries; ``db=`` and those of TLS.
    """

    def __init__(self, address: Address) -> None:
        address.check_options(["field", "maxlen", *OPTIONS])
        self._server = RedisServer(address)
        self.name = self._server.name
        self._field = address.options.get("field", FIELD)
        self._most = int(address.number("maxlen", 0))

    def open(self, position: Position, caller: Caller) -> None:
        with self._server.answering() as client:
            client.ping()

    def write(self, outputs: Sequence[Output]) -> None:
        for some in portions(outputs, PIECE, PIECE_BYTES):
            values = [output.value for output in some]
            lengths = " ".join([str(len(value)) for value in values])
            arguments = [self._field, self._most, lengths, b"".join(values)]
            with self._server.answering():
                self._server.run(scripts.APPEND, [self._server.key], arguments)

    def room(self) -> int | None:
        return PIECE_BYTES

    def flush(self) -> Position:
        """Do nothing: the server has everything."""

    def close(self) -> None:
        self._server.client.close()
