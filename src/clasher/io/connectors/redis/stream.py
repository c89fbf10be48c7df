"""Redis Streams: read from a position or in a group; written entry by entry.

An entry is a record: the JSON object in its field ``json`` (another with ``field=``), or else its
fields, whose values are text. Without ``group=`` reading changes nothing on the server and the
model keeps the position.

In a group, learning and acknowledging are one step: when the snapshot that knows them is prepared,
a script on the server (``scripts.COMMIT``) acknowledges entries and stores the number of the
snapshot, only if all of them are still ours. The numbers are in a hash beside the stream, a field
for each model. A restart with the same folder gets entries again that were not acknowledged;
entries that others left pending for long are claimed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
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

from clasher.errors import CommitRefusedError, StreamError, UnreachableError
from clasher.io import protocol
from clasher.io.connectors.redis import scripts
from clasher.io.formats import Value
from clasher.io.jsonl import Decoder
from clasher.io.protocol import Caller, Chunk, Output, Party, Poison, Position, Sink, Source
from clasher.io.records import Batch, FaultError, Fields, invalid_utf8
from clasher.io.registry import Address

CONNECT: Final = 1.0  # seconds
ANSWER: Final = 2.0  # seconds: a stop waits no longer
TLS: Final = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
OPTIONS: Final = ("db", *TLS)
CLAIM: Final = 600.0  # seconds after which entries left pending by others are claimed
FIELD: Final = "json"
PIECE: Final = 1000  # entries added in one step
PIECE_BYTES: Final = 16 << 20  # and their bytes, unless a single entry has more
ZERO: Final = "0-0"

_DENIED: Final = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_AWAY: Final = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)

# The id of an entry, and its field names and values in turn; none if it was trimmed.
Entry: TypeAlias = tuple[bytes, Sequence[bytes]]


def redis_source(address: Address, fields: Fields) -> Source:
    """Make a source of a stream, or of the group that the address names."""
    return (RedisGroupSource if "group" in address.options else StreamSource)(address, fields)


class RedisServer:
    """The connection to one stream."""

    def __init__(self, address: Address) -> None:
        self.key, self.name = address.path, address.shown
        if not self.key or "/" in self.key:
            raise StreamError(f"{self.name}: write redis://host/stream, its name last")
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

    @contextmanager
    def answering(self) -> Iterator[Any]:
        try:
            yield self.client
        except _DENIED as error:
            raise StreamError(f"{self.name}: denies access: {error}") from error
        except (*_AWAY, redis.ResponseError) as error:
            if str(error).startswith("NOGROUP"):
                raise CommitRefusedError(f"{self.name}: the group was deleted") from error
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
        return self.client.register_script(script)(keys=keys, args=arguments)


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
        """Return the id a new reader starts after, and the number of entries up to it."""
        return (self.last, self.added) if at_end else (ZERO, self.added - self.length)

    def trimmed(self, last: str, read: int) -> int:
        """Count the missing entries after ``last``, up to which ``read`` entries were added."""
        if self.length and order(self.first) <= order(last):
            return 0  # none after an entry that is present was trimmed
        return max(0, self.added - read - self.length)


def order(entry: bytes | str) -> tuple[int, int]:
    """Return the sort key of an entry's id."""
    text = entry if isinstance(entry, str) else entry.decode()
    stamp, _, number = text.partition("-")
    return int(stamp), int(number or 0)


class Identity(msgspec.Struct):
    """A stream at some moment, known by digests of its first and last entry.

    The id of a server changes when it restarts, the id of its replication when another takes over;
    entries stay. A stream that has one of the kept entries is the same, under any address. A stream
    with other entries at these ids is a different one. If all were trimmed, the address decides.
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
                self._last, self._read = (state or StreamState()).start(at_end=self._begins_at_end)
            else:
                self._last, self._read = position["last"], position["read"]
                self._check_count(self._checked(state))

    def _state(self) -> StreamState | None:
        (answer,) = self._server.together(["XINFO STREAM", self._key])
        return StreamState.of(answer, self.name)

    def _checked(self, state: StreamState | None) -> StreamState:
        if state is None or order(state.last) < order(self._last):
            raise protocol.set_back(
                self.name, self._last, "nothing" if state is None else state.last
            )
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
            raise protocol.set_back(self.name, self._last, f"{after:,} or more entries after it")

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


class RedisGroupSource(StreamSource, Party):
    """Entries of a group; each model folder is a consumer.

    Options: ``group=`` its name; ``claim=SECONDS`` after which entries that others left pending
    are claimed (600); and those of ``StreamSource``.
    """

    options = (*StreamSource.options, "group", "claim")
    _group: str

    def __init__(self, address: Address, fields: Fields) -> None:
        super().__init__(address, fields)
        self.party, self._lag = self, None
        self._claim = address.number("claim", CLAIM)
        self._markers = f"clasher:{{{self._key}}}:{self._group}"
        self._lock = threading.Lock()  # pending entries are not read while they are acknowledged
        self._begin(None, "")

    def _begin(self, position: Position, consumer: str) -> None:
        at = position or {"last": ZERO, "read": None, "through": 0}
        self._consumer = consumer
        self._last, self._read, self._through = at["last"], at["read"], at["through"]
        self._acknowledged: int = at["through"]
        self._unacknowledged: deque[bytes] = deque()  # in the order of delivery
        self._in_order = True  # claimed entries are not
        self._pending_after: str | None = ZERO  # None: nothing is pending any more
        self._claimed_at = 0.0

    def committed(self, caller: Caller) -> int:
        with self._server.answering() as client:
            return int(client.hget(self._markers, caller.id) or 0)

    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        through = self._acknowledged if position is None else position["through"]
        with self._lock, self._server.answering():
            mine = list(islice(self._unacknowledged, through - self._acknowledged))
            ascending = mine if self._in_order else sorted(mine, key=order)
            arguments = [self._group, caller.id, number, after, b" ".join(ascending)]
            keys = [self._key, self._markers]
            outcome, detail = self._server.run(scripts.COMMIT, keys, arguments)
            if outcome == b"lost":
                what = f"entry {detail.decode()} was given to another consumer"
                raise CommitRefusedError(f"{self.name}: {what}")
            if outcome == b"set back":
                raise StreamError(
                    f"{self.name}: was reset: it has snapshot {int(detail)} of this model, not "
                    f"{after}. Restore the server, or begin a new folder and a new group with "
                    f"this model: --initial-model"
                )
            for _ in mine:
                self._unacknowledged.popleft()
            self._acknowledged = through
            self._in_order = self._in_order or not self._unacknowledged
            if detail > len(self._unacknowledged):
                # A late command of a dead process delivered something.
                self._pending_after = ZERO

    def open(self, position: Position, caller: Caller) -> None:
        self._begin(position, caller.id)
        with self._server.answering() as client:
            about, groups = self._server.together(
                ["XINFO STREAM", self._key], ["XINFO GROUPS", self._key]
            )
            state, group, gone = self._states(about, groups)
            if group is not None:
                last = group["last-delivered-id"].decode()
                if order(last) < order(self._last):
                    raise protocol.set_back(self.name, self._last, last)
                self._accept(gone)
            elif not self._create(state, position):
                self.open(position, caller)
                return
            client.xgroup_createconsumer(self._key, self._group, self._consumer)

    def _states(self, about: Any, groups: Any) -> tuple[StreamState, dict[str, Any] | None, int]:
        """Return the stream, the group if it exists, and how many entries it lost unread."""
        state = StreamState.of(about, self.name) or StreamState()
        for group in [] if isinstance(groups, redis.ResponseError) else groups:
            if group["name"] == self._group.encode():
                read = group.get("entries-read")
                last = group["last-delivered-id"].decode()
                return state, group, 0 if read is None else state.trimmed(last, read)
        return state, None, 0

    def _create(self, state: StreamState, position: Position) -> bool:
        """Create the group, or recreate a deleted one; False if somebody else was faster."""
        if position is None:
            last, read = state.start(at_end=self._begins_at_end)
        else:
            last, read = self._last, self._read
            others = set(self._server.client.hkeys(self._markers)) - {self._consumer.encode()}
            if others:
                raise StreamError(
                    f"{self.name}: the group was deleted, and {len(others)} more have read with "
                    f"it, so their unread entries are unknown. Create it again at the entry that "
                    f"all had reached: XGROUP CREATE {self._key} {self._group} ID"
                )
            if order(state.last) < order(last):
                raise protocol.set_back(self.name, last, state.last)
            if read is not None and (gone := state.trimmed(last, read)):
                raise protocol.lost(self.name, gone)
        counted = [] if read is None else ["ENTRIESREAD", read]
        try:
            self._server.client.execute_command(
                "XGROUP CREATE", self._key, self._group, last, "MKSTREAM", *counted
            )
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
            return False
        return True

    def read(self, most: int, seconds: float) -> Chunk | None:
        try:
            return super().read(most, seconds)
        except UnreachableError:
            # A lost answer may have delivered something, which is pending now.
            self._pending_after = ZERO
            raise

    def _next(self, most: int) -> Chunk | None:
        with self._lock:
            return self._pending(most) or self._left_by_others(most) or self._new(most)

    def _pending(self, most: int) -> Chunk | None:
        """Read entries that were delivered before, and that we do not hold."""
        while self._pending_after is not None:
            arguments = [most, self._pending_after, self._group, self._consumer]
            page = self._entries(self._server.run(scripts.READ, [self._key], arguments))
            self._pending_after = page[-1][0].decode() if page else None
            in_hand = set(self._unacknowledged)
            found = [entry for entry in page if entry[0] not in in_hand]
            gone = [own for own, flat in found if not flat]
            self._accept(len(gone), protocol.TRIMMED_PENDING)
            if found:
                entries = [entry for entry in found if entry[1]]
                return self._delivered(entries, gone, self._trimmed_letters(gone))
        return None

    def _left_by_others(self, most: int) -> Chunk | None:
        """Claim entries that others got long ago and have not acknowledged."""
        now = time.monotonic()
        if now - self._claimed_at < self._claim / 4:
            return None
        self._claimed_at = now
        arguments = [self._group, self._consumer, int(self._claim * 1000), most]
        taken, gone = self._server.run(scripts.CLAIM, [self._key], arguments)
        self._accept(len(gone), protocol.TRIMMED_PENDING)
        if gone:
            self._server.client.xack(self._key, self._group, *gone)
        # We still hold entries taken from us and claimed back; nobody else can commit them.
        in_hand = set(self._unacknowledged)
        entries = [(own, flat) for own, flat in taken if own not in in_hand]
        if not entries and not gone:
            return None
        return self._delivered(entries, [], self._trimmed_letters(gone))

    def _new(self, most: int) -> Chunk | None:
        """Read new entries, and count in the same step how many before them were trimmed."""
        about, groups, answer = self._server.together(
            ["XINFO STREAM", self._key], ["XINFO GROUPS", self._key],
            ["EVAL", scripts.READ, 1, self._key, most, ">", self._group, self._consumer],
        )  # fmt: skip
        entries = self._entries(answer)
        state, group, gone = self._states(about, groups)
        assert group is not None
        self._accept(gone)
        if gone:
            self._server.run(scripts.REBASE, [self._key], [self._group, gone])
        lag, read, last = group.get("lag"), group.get("entries-read"), group["last-delivered-id"]
        self._end = state.last
        self._lag = None if lag is None else max(0, lag - len(entries))
        self._read = None if read is None else read + gone + len(entries)
        if not entries and not gone:
            return None
        letters = [protocol.lost_letter(self.name, last.decode(), gone)] if gone else []
        return self._delivered(entries, [], letters)

    def _delivered(self, entries: list[Entry], gone: list[bytes], letters: list[Poison]) -> Chunk:
        """Note the ids to acknowledge, also those of entries that are gone."""
        ids = [*gone, *(own for own, _ in entries)]
        self._unacknowledged.extend(ids)
        self._through += len(ids)
        if ids:
            newest = max([*gone[-1:], ids[-1]], key=order).decode()
            self._in_order = self._in_order and not gone and order(ids[0]) > order(self._last)
            self._last = max(self._last, newest, key=order)
        return self._chunk(entries, letters)

    def _position(self) -> Position:
        return super()._position() | {"through": self._through}

    def _trimmed_letters(self, gone: Sequence[bytes]) -> list[Poison]:
        return [
            Poison(self.name, own.decode(), "it was trimmed before it was learnt") for own in gone
        ]


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
        for some in protocol.portions(outputs, PIECE, PIECE_BYTES):
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


def _digest(fields: Any) -> str:
    content = msgspec.msgpack.encode([*fields.items()])
    return blake2b(content, digest_size=16).hexdigest()
