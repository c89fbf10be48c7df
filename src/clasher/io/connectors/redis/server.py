"""A stream on a Redis server: the connection, its state, its groups and its identity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from clasher.errors import StreamError, UnreachableError
from clasher.io.registry import Address

CONNECT: Final = 1.0  # seconds
ANSWER: Final = 2.0  # seconds: a stop waits no longer
TLS: Final = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
OPTIONS: Final = ("db", *TLS)
ZERO: Final = "0-0"

_DENIED: Final = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_AWAY: Final = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)


class RedisServer:
    """One stream of a Redis server."""

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
        except _AWAY as error:
            reason = str(error).partition("\n")[0]
            raise UnreachableError(f"{self.name}: does not answer ({reason})") from error
        except redis.ResponseError as error:
            if str(error).startswith(("LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY ")):
                raise UnreachableError(f"{self.name}: does not answer ({error})") from error
            raise StreamError(f"{self.name}: {error}") from error

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

    def state(self) -> StreamState | None:
        (answer,) = self.together(["XINFO STREAM", self.key])
        return StreamState.of(answer, self.name)

    def close(self) -> None:
        self.client.close()


class GroupState(NamedTuple):
    """The last delivered entry of a group, and the numbers of read and unread entries."""

    last: str
    read: int | None
    lag: int | None

    @classmethod
    def of(cls, answer: Any, name: str) -> GroupState | None:
        for group in [] if isinstance(answer, redis.ResponseError) else answer:
            if group["name"] == name.encode():
                last = group["last-delivered-id"].decode()
                return cls(last, group.get("entries-read"), group.get("lag"))
        return None


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
        first = answer["first-entry"]
        return cls(
            answer["entries-added"],
            answer["length"],
            ZERO if first is None else first[0].decode(),
            answer["last-generated-id"].decode(),
        )

    def trimmed(self, last: str, read: int) -> int:
        """Count the missing entries after ``last``, up to which ``read`` entries were added."""
        if self.length and order(self.first) <= order(last):
            return 0  # none after an entry that is present was trimmed
        return max(0, self.added - read - self.length)

    def trimmed_from(self, group: GroupState) -> int:
        """Count the entries that were trimmed before a group delivered them."""
        return 0 if group.read is None else self.trimmed(group.last, group.read)


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


def identity_of(server: RedisServer, group: str | None = None) -> str | None:
    """Describe a stream; None if it has no entries yet."""
    with server.answering() as client:
        state = server.state()
        if state is None or not state.length:
            return None
        ends = [*client.xrange(server.key, count=1), *client.xrevrange(server.key, count=1)]
    entries = {own.decode(): _digest(fields) for own, fields in ends}
    found = Identity(server.name, group, state.added, state.last, entries)
    return msgspec.json.encode(found).decode()


def is_same(server: RedisServer, identity: str, group: str | None = None) -> bool:
    """Tell whether a stream is the described one."""
    kept = msgspec.json.decode(identity, type=Identity)
    with server.answering() as client:
        state = server.state()
        if kept.group != group or state is None or state.added < kept.added:
            return False
        if order(state.last) < order(kept.last):
            return False
        matches = [
            _digest(found[0][1]) == digest
            for own, digest in kept.entries.items()
            if (found := client.xrange(server.key, own, own))
        ]
    return all(matches) if matches else kept.name == server.name


def _digest(fields: Any) -> str:
    content = msgspec.msgpack.encode([*fields.items()])
    return blake2b(content, digest_size=16).hexdigest()
