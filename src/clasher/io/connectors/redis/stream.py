"""A Redis stream, read without a group: its position is kept with the model alone.

What runs on a Redis server in one step, where nobody can come in between.

A Redis server: the connection, its failures in one line, and what runs on it in one step.

What a Redis stream says of itself: some of its entries, which stay what they are wherever it is.

The id of a server changes when it restarts, and that of its replication when another takes over.
Entries do neither. Those at both ends of the stream are kept as digests: a stream that has one of
them is the same, also under another address or on another server; one that has something else in
their place is another. Where all of them were trimmed, only the same address tells.

How a Redis stream and its groups stand, and whether anything of it is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from clasher.errors import StreamError, UnreachableError
from clasher.io.jsonl import Decoder, Value
from clasher.io.protocol import TRIMMED, Caller, Chunk, Poison, Position, Source, lost, set_back
from clasher.io.records import Batch, FaultError, Fields, invalid_utf8
from clasher.io.registry import Address

READ: Final = """
-- Read entries and return them in four texts: clients take long over many small answers.
-- KEYS: the stream
-- ARGV: how many at most, after which id, and where there is one the group and the consumer
-- Returns the ids, how many texts each entry has, how long these are, and all of them together.
local answer
if ARGV[3] then
  answer = redis.pcall('XREADGROUP', 'GROUP', ARGV[3], ARGV[4], 'COUNT', ARGV[1],
                       'STREAMS', KEYS[1], ARGV[2])
else
  answer = redis.pcall('XREAD', 'COUNT', ARGV[1], 'STREAMS', KEYS[1], ARGV[2])
end
if answer and answer.err then return answer end
local ids, counts, lengths, texts = {}, {}, {}, {}
for _, entry in ipairs(answer and answer[1][2] or {}) do
  local flat = entry[2] or {}
  ids[#ids + 1] = entry[1]
  counts[#counts + 1] = #flat
  for _, text in ipairs(flat) do
    lengths[#lengths + 1] = #text
    texts[#texts + 1] = text
  end
end
return {table.concat(ids, ' '), table.concat(counts, ' '), table.concat(lengths, ' '),
        table.concat(texts)}
"""

COMMIT: Final = """
-- Acknowledge entries, if all of them are still ours, and store the number of the snapshot.
-- KEYS: the stream, the hash of markers
-- ARGV: group, consumer, number, number before, ids in ascending order with blanks between them
-- Returns what became of it, and how many entries of ours are still pending, or what is amiss.
local group, consumer, number, before = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local page = 1000
local ids = {}
for id in string.gmatch(ARGV[5], '%S+') do ids[#ids + 1] = id end
local pending, summary = 0, redis.pcall('XPENDING', KEYS[1], group)
if summary.err then
  if #ids > 0 then return summary end  -- without a group there is nothing to acknowledge
else
  for _, one in ipairs(summary[4] or {}) do
    if one[1] == consumer then pending = tonumber(one[2]) end
  end
end
local said = redis.call('HGET', KEYS[2], consumer) or '0'
if said == number then return {'done', pending} end
if said ~= before then return {'set back', said} end
local at, from = 1, ids[1]
while at <= #ids do
  local found = redis.call('XPENDING', KEYS[1], group, from, ids[#ids], page, consumer)
  for _, entry in ipairs(found) do
    if entry[1] == ids[at] then at = at + 1 end
  end
  if #found < page then break end
  from = '(' .. found[page][1]
end
if at <= #ids then return {'lost', ids[at]} end
for first = 1, #ids, page do
  redis.call('XACK', KEYS[1], group, unpack(ids, first, math.min(first + page - 1, #ids)))
end
redis.call('HSET', KEYS[2], consumer, number)
return {'done', pending - #ids}
"""

CLAIM: Final = """
-- Take over entries that others have left pending for long.
-- KEYS: the stream
-- ARGV: group, consumer, milliseconds, how many at most
-- Returns the entries, and the ids of those that are pending and no longer there, left as they are.
local group, consumer, idle, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local taken, gone = {}, {}
local from, page = '-', 100
while #taken < most do
  local found = redis.call('XPENDING', KEYS[1], group, 'IDLE', idle, from, '+', page)
  for _, pending in ipairs(found) do
    local id = pending[1]
    if pending[2] ~= consumer and #taken < most then
      if #redis.call('XRANGE', KEYS[1], id, id) == 0 then
        gone[#gone + 1] = id
      else
        taken[#taken + 1] = redis.call('XCLAIM', KEYS[1], group, consumer, idle, id)[1]
      end
    end
  end
  if #found < page then break end
  from = '(' .. found[page][1]
end
return {taken, gone}
"""

REBASE: Final = """
-- Count entries that were trimmed unread as read: the loss of them is accepted.
-- KEYS: the stream
-- ARGV: group, how many
for _, flat in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local info = {}
  for at = 1, #flat, 2 do info[flat[at]] = flat[at + 1] end
  if info['name'] == ARGV[1] and info['entries-read'] then
    redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], info['last-delivered-id'],
               'ENTRIESREAD', info['entries-read'] + ARGV[2])
  end
end
"""

APPEND: Final = """
-- Add an entry for each value; they come as one text, for clients take long over many small ones.
-- KEYS: the stream
-- ARGV: field, how many entries to keep (0: all), how long the values are, all of them together
local start = 1
for length in string.gmatch(ARGV[3], '%d+') do
  local stop = start + tonumber(length)
  local value = string.sub(ARGV[4], start, stop - 1)
  start = stop
  if ARGV[2] == '0' then
    redis.call('XADD', KEYS[1], '*', ARGV[1], value)
  else
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', ARGV[1], value)
  end
end
"""


CONNECT: Final = 1.0  # seconds
ANSWER: Final = 2.0  # seconds: a stop waits no longer
TLS: Final = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
OPTIONS: Final = ("db", *TLS)

_DENIED: Final = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_AWAY: Final = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)


class Server:
    """One stream of a Redis server.

    Attributes
    ----------
    name : str
        Where it is, in messages and snapshots.
    key : str
        The key of the stream.
    """

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
        # The client must not repeat commands by itself: what an answer that got lost had delivered
        # would be passed over.
        self.client: Any = redis.Redis(
            host=address.host or "localhost", port=address.port or 6379, db=db,
            username=address.user, password=address.password,
            socket_connect_timeout=CONNECT, socket_timeout=ANSWER, retry=Retry(NoBackoff(), 0),
            client_name="clasher", protocol=2, **tls,
        )  # fmt: skip
        self._scripts: dict[str, Any] = {}

    @contextmanager
    def answering(self) -> Iterator[Any]:
        """The client; what goes wrong is told in one line."""
        try:
            yield self.client
        except _DENIED as error:
            raise StreamError(f"{self.name}: lets nobody in: {error}") from error
        except _AWAY as error:
            reason = str(error).partition("\n")[0]
            raise UnreachableError(f"{self.name}: does not answer ({reason})") from error
        except redis.ResponseError as error:
            if str(error).startswith(("LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY ")):
                raise UnreachableError(f"{self.name}: does not answer ({error})") from error
            raise StreamError(f"{self.name}: {error}") from error

    def together(self, *commands: Sequence[Any]) -> list[Any]:
        """Run commands in one step, without others in between; their answers, or errors."""
        pipe: Any = self.client.pipeline(transaction=True)
        for command in commands:
            pipe.execute_command(*command)
        answers: list[Any] = pipe.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, _AWAY + _DENIED):
                raise answer
        return answers

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run a script of ``clasher.io.connectors.redis.stream``."""
        if script not in self._scripts:
            self._scripts[script] = self.client.register_script(script)
        return self._scripts[script](keys=keys, args=arguments)

    def close(self) -> None:
        """Let go of all connections."""
        self.client.close()


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


ZERO: Final = "0-0"


class Group(NamedTuple):
    """How a group stands: the last entry that was delivered, how many were, how many will be."""

    last: str
    read: int | None
    lag: int | None

    @classmethod
    def of(cls, answer: Any, name: str) -> Group | None:
        """Read what ``XINFO GROUPS`` says; None where there is no such group."""
        groups = [] if isinstance(answer, redis.ResponseError) else answer
        for group in groups:
            if group["name"] == name.encode():
                last = group["last-delivered-id"].decode()
                return cls(last, group.get("entries-read"), group.get("lag"))
        return None


class Stand(NamedTuple):
    """How a stream stands.

    Attributes
    ----------
    added : int
        Entries that were ever added to it.
    length : int
        Entries that are there.
    first, last : str
        The first that is there, and the last that was ever added; ``0-0`` where there is none.
    """

    added: int = 0
    length: int = 0
    first: str = ZERO
    last: str = ZERO

    @classmethod
    def of(cls, answer: Any, name: str) -> Stand | None:
        """Read what ``XINFO STREAM`` says; None where there is no stream."""
        if is_missing(answer):
            return None
        if isinstance(answer, Exception):
            raise answer
        if "entries-added" not in answer:
            raise StreamError(f"{name}: is a Redis before 7.0, which does not count its entries")
        first = answer["first-entry"]
        return cls(
            answer["entries-added"],
            answer["length"],
            ZERO if first is None else first[0].decode(),
            answer["last-generated-id"].decode(),
        )

    def trimmed(self, last: str, read: int) -> int:
        """How many entries after ``last``, of which ``read`` were added up to it, are gone.

        As long as an entry up to ``last`` is there, none after it was trimmed.

        >>> Stand(added=10, length=4, first="7-0", last="10-0").trimmed("5-0", read=5)
        1
        """
        if self.length and order(self.first) <= order(last):
            return 0
        return max(0, self.added - read - self.length)

    def trimmed_from(self, group: Group) -> int:
        """How many entries were trimmed before anybody of a group was given them."""
        return 0 if group.read is None else self.trimmed(group.last, group.read)


def is_missing(answer: object) -> bool:
    """Whether there is no such stream."""
    return isinstance(answer, redis.ResponseError) and "no such key" in str(answer).lower()


def has_no_group(answer: object) -> bool:
    """Whether there is no such group."""
    return isinstance(answer, redis.ResponseError) and str(answer).startswith("NOGROUP")


def order(entry: bytes | str) -> tuple[int, int]:
    """The order of the ids of entries.

    >>> order("1700000000000-7") < order("1700000000001-0")
    True
    """
    text = entry if isinstance(entry, str) else entry.decode()
    time, _, number = text.partition("-")
    return int(time), int(number or 0)


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
            ["XINFO STREAM", key], ["EVAL", READ, 1, key, most, self._last]
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
