"""A Redis stream, read without a group: its position is kept with the model alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from clasher.io.addresses import Address
from clasher.io.connectors import redis_scripts as scripts
from clasher.io.connectors.redis_identity import identity_of, is_same
from clasher.io.connectors.redis_server import OPTIONS, Server
from clasher.io.connectors.redis_standing import ZERO, Stand, order
from clasher.io.decoding import Decoder, Value
from clasher.io.judging import FaultError, invalid_utf8
from clasher.io.losses import TRIMMED, lost, set_back
from clasher.io.records import Batch, Fields
from clasher.io.streams import Caller, Chunk, Poison, Position, Source

READING: Final = ("start", "on_loss", "field")
FIELD: Final = "json"

Entry: TypeAlias = tuple[bytes, Sequence[bytes]]
"""The id of an entry, and its fields: names and values in turn; none where it was trimmed."""


class Entries:
    """Makes chunks of entries."""

    def __init__(self, name: str, fields: Fields, address: Address) -> None:
        self._decoder = Decoder(name, fields)
        self._field = address.options.get("field", FIELD).encode()
        self._required = "field" in address.options

    def chunk(
        self, entries: Sequence[Entry], position: Position, lost: Sequence[Poison] = ()
    ) -> Chunk:
        """Decode entries; those that are ``lost`` go to the dead letters."""
        values = [self._value(flat) for _, flat in entries]
        chunk = self._decoder.chunk(values, [own.decode() for own, _ in entries], position)
        return Chunk(chunk.records, position, [*lost, *chunk.poison]) if lost else chunk

    def _value(self, flat: Sequence[bytes]) -> Value:
        if flat[0] == self._field:
            return flat[1]
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        if self._field in fields:
            return fields[self._field]
        if self._required:
            return FaultError(f"it has no field {self._field.decode()!r}")
        try:
            return {name.decode(): value.decode() for name, value in fields.items()}
        except UnicodeDecodeError as error:
            raw = bytes(error.object)
            return FaultError(invalid_utf8(raw).problem, raw=raw)


def entries_of(answer: Any) -> list[Entry]:
    """What ``redis_scripts.READ`` gave.

    >>> entries_of([b"1-0 2-0", b"2 0", b"4 2", b"jsonok"])
    [(b'1-0', [b'json', b'ok']), (b'2-0', [])]
    """
    if isinstance(answer, Exception):
        raise answer
    ids, counts, lengths, content = answer
    texts, start = [], 0
    for length in map(int, lengths.split()):
        texts.append(content[start : start + length])
        start += length
    entries: list[Entry] = []
    at = 0
    for own, count in zip(ids.split(), map(int, counts.split()), strict=True):
        entries.append((own, texts[at : at + count]))
        at += count
    return entries


class StreamSource(Source):
    """Entries after a position.

    Options: ``start=end`` to begin with what is added from now on; ``on_loss=skip`` to go on where
    entries were trimmed before they were read; ``field=`` and those of ``redis_server``.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options([*READING, *OPTIONS])
        self._server = Server(address)
        self.name, self.fields = self._server.name, fields
        self._begins_at_end = address.choice("start", ["beginning", "end"]) == "end"
        self._skips = address.choice("on_loss", ["stop", "skip"]) == "skip"
        self._entries = Entries(self.name, fields, address)
        self._last, self._read, self._added = ZERO, 0, 0
        self._is_beginning = False

    def open(self, position: Position, caller: Caller) -> None:
        """Go on after the last entry that was read."""
        with self._server.answering():
            (answer,) = self._server.together(["XINFO STREAM", self._server.key])
            stand = Stand.of(answer, self.name)
            if position is None:
                stand = stand or Stand()
                self._last = stand.last if self._begins_at_end else ZERO
                self._read = stand.added - (0 if self._begins_at_end else stand.length)
                self._is_beginning = self._begins_at_end
                return
            self._last, self._read = position["last"], position["read"]
            if stand is None or order(stand.last) < order(self._last):
                raise set_back(self.name, self._last, "nothing" if stand is None else stand.last)
            self._check_count(stand)

    def _check_count(self, stand: Stand) -> None:
        """Refuse a stream with more entries after the last one than were added since: another."""
        expected = stand.added - self._read
        after = stand.length
        if order(stand.first) <= order(self._last):
            client, key = self._server.client, self._server.key
            if client.xrange(key, self._last, self._last):
                return
            after = len(client.xrange(key, f"({self._last}", count=max(1, expected + 1)))
        if after > expected:
            raise set_back(self.name, self._last, f"{after:,} or more entries after it")

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next entries."""
        if self._is_beginning:
            self._is_beginning = False
            return Chunk(Batch.empty(), self._position())
        with self._server.answering() as client:
            found, gone = self._take(most)
            if not found and not gone and seconds:
                milliseconds = max(1, int(seconds * 1000))
                client.xread({self._server.key: self._last}, count=1, block=milliseconds)
                found, gone = self._take(most)
        if not found and not gone:
            return None
        before = self._last
        self._last = found[-1][0].decode() if found else before
        self._read += gone + len(found)
        poison = [Poison(self.name, before, f"{gone:,} entries after it {TRIMMED}")] if gone else []
        return self._entries.chunk(found, self._position(), poison)

    def _position(self) -> Position:
        return {"last": self._last, "read": self._read}

    def _take(self, most: int) -> tuple[list[Entry], int]:
        """What is there, read in one step with a look at how many before it were trimmed."""
        key = self._server.key
        about, answer = self._server.together(
            ["XINFO STREAM", key], ["EVAL", scripts.READ, 1, key, most, self._last]
        )
        stand, found = Stand.of(about, self.name), entries_of(answer)
        if stand is None or order(stand.last) < order(self._last):
            if self._last == ZERO:
                return [], 0  # nobody has added anything yet
            raise set_back(self.name, self._last, "nothing" if stand is None else stand.last)
        gone = stand.trimmed(self._last, self._read)
        if gone and not self._skips:
            raise lost(self.name, gone)
        self._added = stand.added
        return found, gone

    def lag(self) -> int | None:
        """How many entries were added beyond those that were read."""
        return max(0, self._added - self._read)

    def close(self) -> None:
        """Let go of the connections."""
        self._server.close()

    def identity(self) -> str | None:
        """Return some entries of the stream."""
        return identity_of(self._server)

    def same(self, identity: str) -> bool:
        """Tell whether the stream has the entries that were kept."""
        return is_same(self._server, identity)
