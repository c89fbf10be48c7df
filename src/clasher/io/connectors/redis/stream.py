"""A stream on a Redis server, read without a group: the model alone keeps the position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from clasher.errors import StreamError, UnreachableError
from clasher.io import protocol
from clasher.io.connectors.redis import scripts
from clasher.io.jsonl import Decoder, Value
from clasher.io.protocol import Caller, Chunk, Poison, Position, Source, set_back
from clasher.io.records import Batch, FaultError, Fields, invalid_utf8
from clasher.io.registry import Address

CONNECT: Final = 1.0  # seconds
ANSWER: Final = 2.0  # seconds: a stop waits no longer
TLS: Final = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
OPTIONS: Final = ("db", *TLS)
FIELD: Final = "json"
ZERO: Final = "0-0"

_DENIED: Final = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_AWAY: Final = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)

# The id of an entry, and its field names and values in turn; none if it was trimmed.
Entry: TypeAlias = tuple[bytes, Sequence[bytes]]


class RedisServer:
    """The connection to one stream."""

    def __init__(self, address: Address) -> None:
        self.key, self.name = address.path, address.shown
        if not self.key or "/" in self.key:
            raise StreamError(
                f"{self.name}: write redis://host/stream, the name of the stream last"
            )
        db = int(address.number("db", 0))
        if db:
            self.name += f"?db={db}"
        tls: dict[str, Any] = {}
        if address.scheme == "rediss":
            known = address.options
            tls = {"ssl": True} | {TLS[name]: known[name] for name in TLS if name in known}
        # The client must not retry by itself: entries of a lost answer would be skipped.
        self.client: Any = redis.Redis(
            host=address.host or "localhost", port=address.port or 6379, db=db,
            username=address.user, password=address.password,
            socket_connect_timeout=CONNECT, socket_timeout=ANSWER, retry=Retry(NoBackoff(), 0),
            client_name="clasher", protocol=2, **tls,
        )  # fmt: skip
        self._scripts: dict[str, Any] = {}

    @contextmanager
    def answering(self) -> Iterator[Any]:
        try:
            yield self.client
        except _DENIED as error:
            raise StreamError(f"{self.name}: denies access: {error}") from error
        except (*_AWAY, redis.ResponseError) as error:
            busy = ("LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY ")
            if not isinstance(error, _AWAY) and not str(error).startswith(busy):
                raise StreamError(f"{self.name}: {error}") from error
            reason = str(error).partition("\n")[0]
            raise UnreachableError(f"{self.name}: does not answer ({reason})") from error

    def together(self, *commands: Sequence[Any]) -> list[Any]:
        """Run commands in one atomic step; return their answers or errors."""
        pipe: Any = self.client.pipeline(transaction=True)
        for command in commands:
            pipe.execute_command(*command)
        answers: list[Any] = pipe.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, _AWAY + _DENIED):
                raise answer
        return answers

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        if script not in self._scripts:
            self._scripts[script] = self.client.register_script(script)
        return self._scripts[script](keys=keys, args=arguments)


class StreamState(NamedTuple):
    """The state of a stream."""

    added: int = 0  # entries ever
    length: int = 0  # entries present
    first: str = ZERO  # the first entry present
    last: str = ZERO  # the last ever added

    @classmethod
    def of(cls, answer: Any, name: str) -> StreamState | None:
        if isinstance(answer, redis.ResponseError) and "no such key" in str(answer).lower():
            return None
        if isinstance(answer, Exception):
            raise answer
        if "entries-added" not in answer:
            raise StreamError(f"{name}: is a Redis before 7.0, which does not count its entries")
        first = ZERO if answer["first-entry"] is None else answer["first-entry"][0].decode()
        last = answer["last-generated-id"].decode()
        return cls(answer["entries-added"], answer["length"], first, last)

    def start(self, *, at_end: bool) -> tuple[str, int]:
        """Return what a new reader begins after, and the number of entries up to there."""
        return (self.last, self.added) if at_end else (ZERO, self.added - self.length)

    def trimmed(self, last: str, read: int) -> int:
        """Count the missing entries after ``last``, up to which ``read`` entries were added."""
        if self.length and order(self.first) <= order(last):
            return 0  # none after an entry that is present was trimmed
        return max(0, self.added - read - self.length)


def order(entry: bytes | str) -> tuple[int, int]:
    """Return the sort key of an entry's id."""
    text = entry if isinstance(entry, str) else entry.decode()
    time, _, number = text.partition("-")
    return int(time), int(number or 0)


class Identity(msgspec.Struct):
    """A stream at some moment, known by digests of its first and last entry.

    The id of a server changes when it restarts, the id of its replication when another takes over;
    entries stay. A stream that has one of the kept entries is the same, under any address. One that
    has something else in their place is another. If all were trimmed, only the address tells.
    """

    name: str
    group: str | None  # each group reads another part
    added: int
    last: str
    entries: dict[str, str]  # digests by id


class StreamSource(Source):
    """Entries after a position.

    Options: ``start=end`` begins with entries added from now on; ``on_loss=skip`` goes on if
    entries were trimmed before they were read; ``field=``; ``db=`` and those of TLS.
    """

    options: tuple[str, ...] = ("start", "on_loss", "field", *OPTIONS)

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(self.options)
        self._server, self._group = RedisServer(address), address.options.get("group")
        self._key, self.name = self._server.key, self._server.name
        if self._group is not None:
            self.name += f", group {self._group}"
        self.fields, self._decoder = fields, Decoder(self.name, fields)
        self._begins_at_end, self._skips = address.begins_at_end, address.skips_losses
        self._field = address.options.get("field", FIELD).encode()
        self._is_field_required = "field" in address.options
        self._last, self._end = ZERO, ZERO  # of the entries read, and of all
        self._read: Any = 0  # the number of entries up to the last one; None: unknown
        self._lag: int | None = 0
        self._is_beginning = False

    def open(self, position: Position, caller: Caller) -> None:
        with self._server.answering():
            state = self._state()
            self._is_beginning = position is None and self._begins_at_end
            if position is None:
                state = state or StreamState()
                self._last, self._read = state.start(at_end=self._begins_at_end)
                return
            self._last, self._read = position["last"], position["read"]
            self._check_count(self._checked(state))

    def _state(self) -> StreamState | None:
        (answer,) = self._server.together(["XINFO STREAM", self._key])
        return StreamState.of(answer, self.name)

    def _checked(self, state: StreamState | None) -> StreamState:
        if state is None or order(state.last) < order(self._last):
            raise set_back(self.name, self._last, "nothing" if state is None else state.last)
        return state

    def _check_count(self, state: StreamState) -> None:
        """Refuse another stream: it has more entries after the last one than were added since."""
        expected = state.added - self._read
        after = state.length
        if order(state.first) <= order(self._last):
            client = self._server.client
            if client.xrange(self._key, self._last, self._last):
                return
            after = len(client.xrange(self._key, f"({self._last}", count=max(1, expected + 1)))
        if after > expected:
            raise set_back(self.name, self._last, f"{after:,} or more entries after it")

    def read(self, most: int, seconds: float) -> Chunk | None:
        if self._is_beginning:
            self._is_beginning = False
            return Chunk(Batch.empty(), self._position())
        with self._server.answering() as client:
            chunk = self._next(most)
            if chunk is None and seconds:
                milliseconds = max(1, int(seconds * 1000))
                client.xread({self._key: self._end}, count=1, block=milliseconds)
                chunk = self._next(most)
            return chunk

    def _next(self, most: int) -> Chunk | None:
        """Read entries, and count in the same step how many before them were trimmed."""
        about, answer = self._server.together(
            ["XINFO STREAM", self._key], ["EVAL", scripts.READ, 1, self._key, most, self._last]
        )
        state, found = StreamState.of(about, self.name), self._entries(answer)
        if state is None and self._last == ZERO:
            self._end = ZERO
            return None  # nobody has added anything yet
        state = self._checked(state)
        gone = state.trimmed(self._last, self._read)
        self._accept(gone)
        letters = [protocol.lost_letter(self.name, self._last, gone)] if gone else []
        self._last = found[-1][0].decode() if found else self._last
        self._read += gone + len(found)
        self._end, self._lag = state.last, max(0, state.added - self._read)
        return self._chunk(found, letters) if found or gone else None

    def _entries(self, answer: Any) -> list[Entry]:
        """Parse the answer of ``scripts.READ``."""
        if isinstance(answer, Exception):
            raise answer
        ids, counts, lengths, content = answer
        texts, start = [], 0
        for length in map(int, lengths.split()):
            texts.append(content[start : start + length])
            start += length
        rest = iter(texts)
        counted = zip(ids.split(), map(int, counts.split()), strict=True)
        return [(own, list(islice(rest, count))) for own, count in counted]

    def _accept(self, gone: int, what: str = protocol.TRIMMED) -> None:
        if gone and not self._skips:
            raise protocol.lost(self.name, gone, what)

    def _chunk(self, entries: Sequence[Entry], letters: Sequence[Poison]) -> Chunk:
        values = [self._value(flat) for _, flat in entries]
        places = [own.decode() for own, _ in entries]
        return self._decoder.chunk(values, places, self._position(), lost=letters)

    def _value(self, flat: Sequence[bytes]) -> Value:
        if flat[0] == self._field:
            return flat[1]
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        if self._field in fields:
            return fields[self._field]
        if self._is_field_required:
            return FaultError(f"it has no field {self._field.decode()!r}")
        try:
            return {name.decode(): value.decode() for name, value in fields.items()}
        except UnicodeDecodeError as error:
            raw = bytes(error.object)
            return FaultError(invalid_utf8(raw).problem, raw=raw)

    def _position(self) -> Position:
        return {"last": self._last, "read": self._read}

    def lag(self) -> int | None:
        return self._lag

    def close(self) -> None:
        self._server.client.close()

    def identity(self) -> str | None:
        with self._server.answering() as client:
            state = self._state()
            if state is None or not state.length:
                return None
            ends = [*client.xrange(self._key, count=1), *client.xrevrange(self._key, count=1)]
        entries = {own.decode(): _digest(fields) for own, fields in ends}
        found = Identity(self._server.name, self._group, state.added, state.last, entries)
        return msgspec.json.encode(found).decode()

    def same(self, identity: str) -> bool:
        kept = msgspec.json.decode(identity, type=Identity)
        with self._server.answering() as client:
            state = self._state()
            if kept.group != self._group or state is None or state.added < kept.added:
                return False
            if order(state.last) < order(kept.last):
                return False
            matches = [
                _digest(found[0][1]) == digest
                for own, digest in kept.entries.items()
                if (found := client.xrange(self._key, own, own))
            ]
        return all(matches) if matches else kept.name == self._server.name


def _digest(fields: Any) -> str:
    content = msgspec.msgpack.encode([*fields.items()])
    return blake2b(content, digest_size=16).hexdigest()
