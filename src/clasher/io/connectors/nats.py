"""NATS JetStream: messages of a stream after a position; outputs that appear once each.

Reading changes nothing on the server: a consumer is made for as long as it lasts, and begins after
the position that is kept with the model. Outputs carry an id by which the server passes over those
that are published again (``Nats-Msg-Id``), within its duplicate window.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, TypeVar

import nats
from nats.js import api, errors

from clasher.errors import StreamError, UnreachableError
from clasher.io.jsonl import Decoder
from clasher.io.protocol import (
    TRIMMED,
    Caller,
    Chunk,
    Output,
    Poison,
    Position,
    Sink,
    Source,
    lost,
    set_back,
)
from clasher.io.records import Batch, Fields
from clasher.io.registry import Address

ANSWER: Final = 2.0  # seconds: a stop waits no longer
SILENCE: Final = 1.0  # seconds past the end of a request after which the server is silent
TOGETHER: Final = 256  # outputs in flight
IN_FLIGHT: Final = 1 << 20  # bytes of them, unless a single output has more
IDLE: Final = 300.0  # seconds after which the server forgets a consumer
HEADERS: Final = 512  # bytes: the headers of an output count as payload
MESSAGE_TOO_LARGE: Final = 10054  # JetStream's code where the stream's max_msg_size is exceeded
CONSUMER_GONE: Final = 10014

# What a server says in place of messages.
ENDED: Final = ("404", "408")  # no messages; all that there were, or none in time
CONFLICT: Final = "409"  # the consumer was deleted, or moves to another server

T = TypeVar("T")


class Loop:
    """An event loop in a thread of its own, for those who wait for each answer."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="clasher nats", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self, client: Any) -> None:
        """End it, with the client that lives in it."""

        async def end() -> None:
            if client is not None:
                with suppress(nats.errors.Error, OSError, asyncio.TimeoutError):
                    await asyncio.wait_for(client.close(), ANSWER)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


class Server:
    """A connection, in a loop of its own; it is made when it is needed."""

    def __init__(self, address: Address) -> None:
        self.name, self.path = address.shown, address.path
        if not self.path:
            raise StreamError(f"{self.name}: write nats://host/name, the stream or subject last")
        self._url = f"nats://{address.host or 'localhost'}:{address.port or 4222}"
        self._who = {"user": address.user, "password": address.password}
        self._loop: Loop | None = None
        self._client: Any = None

    @contextmanager
    def answering(self) -> Iterator[None]:
        """What goes wrong is told in one line; then the connection is given up."""
        try:
            yield
        except (nats.errors.AuthorizationError, nats.errors.MaxPayloadError, ValueError) as error:
            raise StreamError(f"{self.name}: {error}") from error
        except (errors.NotFoundError, errors.NoStreamResponseError) as error:
            raise StreamError(f"{self.name}: there is no such stream") from error
        except (TimeoutError, nats.errors.Error, OSError) as error:
            if getattr(error, "err_code", None) == MESSAGE_TOO_LARGE:
                raise StreamError(
                    f"{self.name}: an output is larger than the stream takes; raise its "
                    f"max_msg_size, or leave out --texts"
                ) from error
            self.close()
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"{self.name}: does not answer ({reason})") from error

    def run(self, work: Coroutine[Any, Any, T], seconds: float = ANSWER) -> T:
        """Run something in the loop."""
        if self._loop is None:
            self._loop = Loop()
        return self._loop.run(asyncio.wait_for(work, seconds))

    async def client(self) -> Any:
        """Return the connection, opened on first use."""
        if self._client is None:
            self._client = await nats.connect(
                self._url, name="clasher", allow_reconnect=False, connect_timeout=1,
                error_cb=_say_nothing, **self._who,
            )  # fmt: skip
        return self._client

    async def jetstream(self) -> Any:
        """The streams of the server."""
        return (await self.client()).jetstream(timeout=ANSWER)

    def close(self) -> None:
        """Let go of the connection, and end the loop."""
        loop, client = self._loop, self._client
        self._loop = self._client = None
        if loop is not None:
            loop.close(client)


async def _say_nothing(error: Exception) -> None:
    """What matters is told where it is asked for."""


class Pull:
    """An ephemeral consumer, asked for messages one request at a time.

    ``nats.js`` has a ``fetch`` of its own. It cannot tell silence from a stream without news,
    answers an empty list now and then, and drops messages with a header ``Status``.

    Attributes
    ----------
    is_sure : bool
        Whether the server itself said, in answer to the last request, that there is no more.
    is_lost : bool
        Whether the consumer is gone; make another one, after the last message.
    """

    def __init__(self, client: Any, stream: str, consumer: str) -> None:
        self._client, self._stream, self._consumer = client, stream, consumer
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox: Any = None
        self._found: list[Any] = []
        self._said: dict[str, str] = {}
        self._most = 0
        self._is_answered = asyncio.Event()
        self.is_sure, self.is_lost = True, False

    @classmethod
    async def after(cls, client: Any, stream: str, seq: int, subject: str | None) -> Pull:
        """Make a consumer of the messages after ``seq``."""
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=seq + 1,
            ack_policy=api.AckPolicy.NONE, inactive_threshold=IDLE, filter_subject=subject,
        )  # fmt: skip
        made = await client.jetstream(timeout=ANSWER).add_consumer(stream, config)
        pull = cls(client, stream, made.name)
        # No limit: past one, the client would drop messages. The size of a request is the limit.
        pull._inbox = await client.subscribe(
            client.new_inbox(), cb=pull._hear, pending_msgs_limit=0, pending_bytes_limit=0
        )
        return pull

    async def leave(self) -> None:
        """Hear no more of it."""
        await self._inbox.unsubscribe()

    async def _hear(self, message: Any) -> None:
        """Take a message, or a status: the end of an answer, except for heartbeats."""
        if message.reply:  # a message of the stream, whatever its headers say
            self._found.append(message)
            if len(self._found) == self._most:
                self._is_answered.set()
            return
        said = message.headers or {}
        if said.get(api.Header.STATUS) != api.StatusCode.CONTROL_MESSAGE:
            self._said = said
            self._is_answered.set()

    async def fetch(self, most: int, seconds: float) -> list[Any]:
        """Return the messages that are there; if there are none, wait for one."""
        found = await self._ask({"batch": most, "no_wait": True}, most, SILENCE)
        if not found and seconds and not self.is_lost:
            wish = {"batch": 1, "expires": int(seconds * 1e9)}
            found = await self._ask(wish, 1, seconds + SILENCE)
        return found

    async def _ask(self, wish: dict[str, Any], most: int, seconds: float) -> list[Any]:
        """Send one request and hear its answer to the end, so that nothing of it is left over."""
        self._found, self._most, self._said = [], most, {}
        self._is_answered.clear()
        await self._client.publish(self._next, json.dumps(wish).encode(), self._inbox.subject)
        try:
            async with asyncio.timeout(seconds):
                await self._is_answered.wait()
        except TimeoutError:
            if not self._found:
                await self._explain_silence()
            # The rest may still come: another inbox gets nothing of it.
            self.is_sure, self.is_lost = False, True
        else:
            self._judge(self._said)
        return self._found

    def _judge(self, said: dict[str, str]) -> None:
        """Note what a status means; raise one that nobody expects."""
        status = said.get(api.Header.STATUS)
        self.is_lost = status == CONFLICT
        self.is_sure = not self.is_lost
        if status not in (None, CONFLICT, *ENDED):
            reason = said.get(api.Header.DESCRIPTION) or "no reason given"
            raise nats.errors.Error(f"status {status}: {reason}")

    async def _explain_silence(self) -> None:
        """Raise what keeps the server silent, unless it is that the consumer was deleted."""
        try:
            jetstream = self._client.jetstream(timeout=SILENCE)
            await jetstream.consumer_info(self._stream, self._consumer)
        except errors.NotFoundError as error:
            if error.err_code != CONSUMER_GONE:
                raise
        else:
            raise nats.errors.TimeoutError


class NatsSource(Source):
    """The messages of a stream.

    Options: ``subject=`` for those of a subject only; ``start=end`` to begin with what comes from
    now on; ``on_loss=skip`` to go on where messages were removed before they were read.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["subject", "start", "on_loss"])
        self._server = Server(address)
        self.name, self.fields = self._server.name, fields
        self._subject = address.options.get("subject")
        self._begins_at_end = address.choice("start", ["beginning", "end"]) == "end"
        self._skips = address.choice("on_loss", ["stop", "skip"]) == "skip"
        self._decoder = Decoder(self.name, fields)
        self._pull: Pull | None = None
        self._is_sure = True
        self._lag: int | None = None
        self._is_beginning = False
        self._seq, self._digest = 0, ""

    def open(self, position: Position, caller: Caller) -> None:
        """Go on after the last message that was read."""
        self._pull = None
        self._is_beginning = position is None and self._begins_at_end
        at = position or {"seq": 0, "digest": ""}
        self._seq, self._digest = at["seq"], at["digest"]
        with self._server.answering():
            self._server.run(self._look(position))

    async def _look(self, position: Position) -> None:
        jetstream = await self._server.jetstream()
        state = (await jetstream.stream_info(self._server.path)).state
        if position is None:
            self._seq = state.last_seq if self._begins_at_end else max(0, state.first_seq - 1)
            return
        if state.last_seq < self._seq:
            raise set_back(self.name, self._seq, state.last_seq)
        if self._digest and state.first_seq <= self._seq:
            await self._compare(jetstream)
        self._count_lost(state)

    async def _compare(self, jetstream: Any) -> None:
        """Refuse a stream whose message of the last number is another one."""
        try:
            message = await jetstream.get_msg(self._server.path, self._seq)
        except errors.NotFoundError:  # deleted by itself
            return
        if _digest(message.data) != self._digest:
            raise set_back(self.name, self._seq, f"another message {self._seq}")

    def _count_lost(self, state: Any) -> None:
        gone = max(0, int(state.first_seq) - self._seq - 1)
        if gone and not self._skips:
            raise lost(self.name, gone)

    @property
    def knows_end(self) -> bool:
        """Whether the server said that there is nothing, the last time that nothing came."""
        return self._is_sure

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next messages."""
        if self._is_beginning:
            self._is_beginning = False
            return Chunk(Batch.empty(), self._position())
        try:
            with self._server.answering():
                return self._server.run(self._fetch(most, seconds), 2 * ANSWER + seconds)
        except UnreachableError:
            self._pull = None
            raise

    async def _fetch(self, most: int, seconds: float) -> Chunk | None:
        client = await self._server.client()
        if self._pull is None:
            self._pull = await Pull.after(client, self._server.path, self._seq, self._subject)
        pull = self._pull
        messages = await pull.fetch(most, seconds)
        self._is_sure = pull.is_sure
        if pull.is_lost:
            self._pull = None
            await pull.leave()
        if not messages:
            return None
        numbers = [message.metadata.sequence.stream for message in messages]
        letters = await self._letters(client.jetstream(timeout=ANSWER), numbers)
        self._seq, self._digest = numbers[-1], _digest(messages[-1].data)
        self._lag = messages[-1].metadata.num_pending
        chunk = self._decoder.chunk([m.data for m in messages], numbers, self._position())
        return Chunk(chunk.records, chunk.position, [*letters, *chunk.poison])

    async def _letters(self, jetstream: Any, numbers: Sequence[int]) -> list[Poison]:
        """Say what is missing between messages, where that was not deleted one by one."""
        if numbers[-1] - self._seq == len(numbers):
            return []
        first = (await jetstream.stream_info(self._server.path)).state.first_seq
        pairs = pairwise([self._seq, *numbers])
        gone = {before: min(first, after) - before - 1 for before, after in pairs}
        gone = {before: count for before, count in gone.items() if count > 0}
        if gone and not self._skips:
            raise lost(self.name, sum(gone.values()))
        return [
            Poison(self.name, before, f"{count:,} entries after it {TRIMMED}")
            for before, count in gone.items()
        ]

    def _position(self) -> Position:
        return {"seq": self._seq, "digest": self._digest}

    def lag(self) -> int | None:
        """How many messages were left when it last got some."""
        return self._lag

    def close(self) -> None:
        """Let go of the connection."""
        self._pull = None
        self._server.close()

    def identity(self) -> str | None:
        """Return the name of the stream and when it was made: one made again is another."""
        with self._server.answering():
            return self._server.run(self._identity())

    async def _identity(self) -> str | None:
        jetstream = await self._server.jetstream()
        info = await jetstream.stream_info(self._server.path)
        if info.created is None:
            return None
        return f"nats:{self._server.path}:{info.created.isoformat()}"


class NatsSink(Sink):
    """Publishes each output to a subject that a stream keeps."""

    def __init__(self, address: Address) -> None:
        address.check_options([])
        self._server = Server(address)
        self.name = self._server.name
        self._caller = Caller("")
        self._written = 0
        self._room: int | None = None

    def open(self, position: Position, caller: Caller) -> None:
        """See that the server answers, and go on counting where the snapshot was."""
        self._caller = caller
        self._written = 0 if position is None else position["written"]
        with self._server.answering():
            self._room = self._server.run(self._look())

    async def _look(self) -> int:
        """Return how much the server and the stream take at a time."""
        client = await self._server.client()
        most = int(client.max_payload)
        with suppress(nats.errors.TimeoutError):  # not everybody may ask
            jetstream = client.jetstream(timeout=ANSWER / 4)
            stream = await jetstream.find_stream_name_by_subject(self._server.path)
            own = (await jetstream.stream_info(stream)).config.max_msg_size
            if own is not None and own > 0:
                most = min(most, own)
        return most - HEADERS

    def room(self) -> int | None:
        """Return what the server said when it was opened."""
        return self._room

    def write(self, outputs: Sequence[Output]) -> None:
        """Publish outputs; the stream passes over those that it has."""
        self._check_sizes(outputs)
        for some in _portions(outputs):
            with self._server.answering():
                self._server.run(self._publish(outputs, some))
        self._written += len(outputs)

    def _check_sizes(self, outputs: Sequence[Output]) -> None:
        """Refuse what the server would cut the connection for, again and again."""
        largest = max(outputs, key=lambda output: len(output.value))
        if self._room is not None and len(largest.value) > self._room:
            raise StreamError(
                f"{self.name}: the output of document {str(largest.id)[:80]!r} has "
                f"{len(largest.value):,} bytes, and {self._room:,} are taken; raise max_payload of "
                f"the server and max_msg_size of the stream, or leave out --texts"
            )

    async def _publish(self, outputs: Sequence[Output], some: range) -> None:
        jetstream = await self._server.jetstream()
        await asyncio.gather(
            *(
                jetstream.publish(
                    self._server.path, outputs[at].value,
                    headers={"Nats-Msg-Id": self._name(outputs[at], self._written + at)},
                )
                for at in some
            )
        )  # fmt: skip

    def _name(self, output: Output, number: int) -> str:
        """Return what the server knows an output by when it is published again.

        A run that goes on after a crash writes the same outputs in the same order, so their number
        tells them apart; ids of documents need not. The subject belongs to it because a stream
        may keep several, and the content because two streams read at once may change places.
        """
        what = f"{self._server.path}\0{number}\0{output.id}\0".encode()
        return f"{self._caller.id}/{_digest(what + output.value)}"

    def flush(self) -> Position:
        """The stream has everything; return how many outputs that are."""
        return {"written": self._written}

    def close(self) -> None:
        """Let go of the connection."""
        self._server.close()


def _portions(outputs: Sequence[Output]) -> Iterator[range]:
    """Cut outputs into portions that the server can answer in time.

    >>> list(_portions([Output(1, b"x" * IN_FLIGHT), Output(2, b"y"), Output(3, b"z")]))
    [range(0, 1), range(1, 3)]
    """
    start = size = 0
    for at, output in enumerate(outputs):
        if at > start and (at - start == TOGETHER or size + len(output.value) > IN_FLIGHT):
            yield range(start, at)
            start, size = at, 0
        size += len(output.value)
    if outputs:
        yield range(start, len(outputs))


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=12).hexdigest()
