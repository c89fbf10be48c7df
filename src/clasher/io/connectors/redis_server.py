"""A Redis server: the connection, its failures in one line, and what runs on it in one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from clasher.errors import StreamError, UnreachableError
from clasher.io.addresses import Address

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
        """Run a script of ``clasher.io.connectors.redis_scripts``."""
        if script not in self._scripts:
            self._scripts[script] = self.client.register_script(script)
        return self._scripts[script](keys=keys, args=arguments)

    def close(self) -> None:
        """Let go of all connections."""
        self.client.close()
