"""Redis Streams: read from a position, or as one of a group; written entry by entry.

An entry is a record: the JSON object in its field ``json`` (another with ``field=``), or else its
fields themselves, whose values are text. Without ``group=`` nothing is changed on the server and
the position is kept with the model (``redis_stream``); with it, what was learnt and what is
acknowledged are one (``redis_group``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from clasher.io.connectors.redis import stream as scripts
from clasher.io.connectors.redis.group import GroupSource
from clasher.io.connectors.redis.stream import FIELD, OPTIONS, Server, StreamSource
from clasher.io.protocol import Caller, Output, Position, Sink, Source
from clasher.io.records import Fields
from clasher.io.registry import Address

PIECE: Final = 1000  # entries added in one step
PIECE_BYTES: Final = 16 << 20  # and bytes of them, unless a single entry has more


def redis_source(address: Address, fields: Fields) -> Source:
    """A stream, read as one of a group where the address names one."""
    return (GroupSource if "group" in address.options else StreamSource)(address, fields)


class RedisSink(Sink):
    """Adds an entry for each output, a JSON text in one field.

    Options: ``field=`` for another field than ``json``; ``maxlen=N`` to keep about the last N
    entries; those of ``redis_server``.
    """

    def __init__(self, address: Address) -> None:
        address.check_options(["field", "maxlen", *OPTIONS])
        self._server = Server(address)
        self.name = self._server.name
        self._field = address.options.get("field", FIELD)
        self._most = int(address.number("maxlen", 0))

    def open(self, position: Position, caller: Caller) -> None:
        """See that the server answers."""
        with self._server.answering() as client:
            client.ping()

    def write(self, outputs: Sequence[Output]) -> None:
        """Add entries; after a lost answer, some of them twice."""
        for values in _pieces(outputs):
            lengths = " ".join([str(len(value)) for value in values])
            arguments = [self._field, self._most, lengths, b"".join(values)]
            with self._server.answering():
                self._server.run(scripts.APPEND, [self._server.key], arguments)

    def room(self) -> int | None:
        """Return a size well below the server's own limit: 512 MB by default, for a piece."""
        return PIECE_BYTES

    def flush(self) -> Position:
        """The server has everything; how safe it is there is its own affair."""

    def close(self) -> None:
        """Let go of the connections."""
        self._server.close()


def _pieces(outputs: Sequence[Output]) -> Iterator[list[bytes]]:
    """Cut outputs into what is added in one step."""
    piece: list[bytes] = []
    size = 0
    for output in outputs:
        if piece and (len(piece) == PIECE or size + len(output.value) > PIECE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(output.value)
        size += len(output.value)
    if piece:
        yield piece
