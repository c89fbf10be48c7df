"""A Redis stream, read without a group: the model alone keeps the position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from clasher.io.connectors.redis import scripts
from clasher.io.connectors.redis.server import (
    OPTIONS,
    ZERO,
    RedisServer,
    StreamState,
    identity_of,
    is_same,
    order,
)
from clasher.io.jsonl import Decoder, Value
from clasher.io.protocol import Caller, Chunk, Poison, Position, Source, lost, lost_letter, set_back
from clasher.io.records import Batch, FaultError, Fields, invalid_utf8
from clasher.io.registry import Address

READ_OPTIONS: Final = ("start", "on_loss", "field")
FIELD: Final = "json"

# The id of an entry, and its field names and values in turn; none if it was trimmed.
Entry: TypeAlias = tuple[bytes, Sequence[bytes]]


class Entries:
    """Turns entries into chunks."""

    def __init__(self, name: str, fields: Fields, address: Address) -> None:
        self._decoder = Decoder(name, fields)
        self._field = address.options.get("field", FIELD).encode()
        self._required = "field" in address.options

    def chunk(
        self, entries: Sequence[Entry], position: Position, lost: Sequence[Poison] = ()
    ) -> Chunk:
        values = [self._value(flat) for _, flat in entries]
        places = [own.decode() for own, _ in entries]
        return self._decoder.chunk(values, places, position, lost=lost)

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
    """Parse the answer of ``scripts.READ``."""
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

    Options: ``start=end`` begins with entries added from now on; ``on_loss=skip`` goes on if
    entries were trimmed before they were read; ``field=``; ``db=`` and those of TLS.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options([*READ_OPTIONS, *OPTIONS])
        self._server = RedisServer(address)
        self.name, self.fields = self._server.name, fields
        self._begins_at_end, self._skips = address.begins_at_end, address.skips_losses
        self._entries = Entries(self.name, fields, address)
        self._last, self._read, self._added = ZERO, 0, 0
        self._is_beginning = False

    def open(self, position: Position, caller: Caller) -> None:
        with self._server.answering():
            state = self._server.state()
            if position is None:
                state = state or StreamState()
                self._last = state.last if self._begins_at_end else ZERO
                self._read = state.added - (0 if self._begins_at_end else state.length)
                self._is_beginning = self._begins_at_end
                return
            self._last, self._read = position["last"], position["read"]
            self._check_count(self._checked(state))

    def _checked(self, state: StreamState | None) -> StreamState:
        if state is None or order(state.last) < order(self._last):
            raise set_back(self.name, self._last, "nothing" if state is None else state.last)
        return state

    def _check_count(self, state: StreamState) -> None:
        """Refuse another stream: it has more entries after the last one than were added since."""
        expected = state.added - self._read
        after = state.length
        if order(state.first) <= order(self._last):
            client, key = self._server.client, self._server.key
            if client.xrange(key, self._last, self._last):
                return
            after = len(client.xrange(key, f"({self._last}", count=max(1, expected + 1)))
        if after > expected:
            raise set_back(self.name, self._last, f"{after:,} or more entries after it")

    def read(self, most: int, seconds: float) -> Chunk | None:
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
        letters = [lost_letter(self.name, self._last, gone)] if gone else []
        self._last = found[-1][0].decode() if found else self._last
        self._read += gone + len(found)
        return self._entries.chunk(found, self._position(), letters)

    def _position(self) -> Position:
        return {"last": self._last, "read": self._read}

    def _take(self, most: int) -> tuple[list[Entry], int]:
        """Read entries, and count in the same step how many before them were trimmed."""
        key = self._server.key
        about, answer = self._server.together(
            ["XINFO STREAM", key], ["EVAL", scripts.READ, 1, key, most, self._last]
        )
        state, found = StreamState.of(about, self.name), entries_of(answer)
        if state is None and self._last == ZERO:
            return [], 0  # nobody has added anything yet
        state = self._checked(state)
        gone = state.trimmed(self._last, self._read)
        if gone and not self._skips:
            raise lost(self.name, gone)
        self._added = state.added
        return found, gone

    def lag(self) -> int | None:
        return max(0, self._added - self._read)

    def close(self) -> None:
        self._server.close()

    def identity(self) -> str | None:
        return identity_of(self._server)

    def same(self, identity: str) -> bool:
        return is_same(self._server, identity)
