"""NATS JetStream: messages of a stream after a position; each output appears once.

Reading changes nothing on the server: a temporary consumer begins after the position of the model.
Outputs carry an id (``Nats-Msg-Id``), by which the server drops those that are published again
within its duplicate window.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise
from threading import Thread
from typing import Any, Final, TypeVar

import nats
from nats.js import api, errors

from clasher.errors import StreamError, UnreachableError
from clasher.io import protocol
from clasher.io.jsonl import Decoder
from clasher.io.protocol import Caller, Chunk, Output, Poison, Position, Sink, Source
from clasher.io.records import Batch, Fields
from clasher.io.registry import Address

ANSWER: Final = 2.0  # seconds: a stop waits no longer
SILENCE: Final = 1.0  # seconds after the end of a request until the server counts as silent
IN_FLIGHT: Final = 256  # outputs
IN_FLIGHT_BYTES: Final = 1 << 20  # unless a single output has more
IDLE: Final = 300.0  # seconds after which the server forgets a consumer
HEADERS: Final = 512  # bytes: the headers of an output count as payload
MESSAGE_TOO_LARGE: Final = 10054  # JetStream's code for more than the stream's max_msg_size
CONSUMER_GONE: Final = 10014
HEARTBEAT: Final = api.StatusCode.CONTROL_MESSAGE

T = TypeVar("T")


class NatsServer:
    """A connection, opened on first use, in an event loop with a thread of its own."""

    def __init__(self, address: Address) -> None:
        self.name, self.path = address.shown, address.path
        if not self.path:
            raise StreamError(f"{self.name}: write nats://host/name, the stream or subject last")
        self._url = f"nats://{address.host or 'localhost'}:{address.port or 4222}"
        self._who = {"user": address.user, "password": address.password}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread()
        self._client: Any = None

    def run(self, work: Coroutine[Any, Any, T], seconds: float = ANSWER) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=self._loop.run_forever, name="clasher nats", daemon=True)
            self._thread.start()
        try:
            limited = asyncio.wait_for(work, seconds)
            return asyncio.run_coroutine_threadsafe(limited, self._loop).result()
        except (nats.errors.AuthorizationError, nats.errors.MaxPayloadError, ValueError) as error:
            raise StreamError(f"{self.name}: {error}") from error
        except (errors.NotFoundError, errors.NoStreamResponseError) as error:
            raise StreamError(f"{self.name}: there is no such stream") from error
        except (TimeoutError, nats.errors.Error, OSError) as error:
            if getattr(error, "err_code", None) == MESSAGE_TOO_LARGE:
                raise StreamError(
                    f"{self.name}: an output is larger than the stream takes; raise its "
                    f"max_msg_size, or leave out --include-text"
                ) from error
            self.close()
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"{self.name}: does not answer ({reason})") from error

    async def client(self) -> Any:
        if self._client is None:
            self._client = await nats.connect(
                self._url, name="clasher", allow_reconnect=False, connect_timeout=1,
                error_cb=_ignore, **self._who,
            )  # fmt: skip
        return self._client

    async def jetstream(self) -> Any:
        return (await self.client()).jetstream(timeout=ANSWER)

    async def stream(self) -> Any:
        return await (await self.jetstream()).stream_info(self.path)

    def close(self) -> None:
        loop, client = self._loop, self._client
        self._loop = self._client = None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(_end(client), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()


async def _end(client: Any) -> None:
    """Close a client and cancel the other tasks of its loop."""
    if client is not None:
        with suppress(nats.errors.Error, OSError, asyncio.TimeoutError):
            await asyncio.wait_for(client.close(), ANSWER)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _ignore(error: Exception) -> None:
    """Each call reports its own errors."""


class Pull:
    """A temporary consumer that gets one request at a time.

    ``fetch`` of ``nats.js`` cannot tell a silent server from a stream without news, sometimes
    returns an empty list, and drops messages with a header ``Status``.
    """

    def __init__(self, client: Any, stream: str, consumer: str) -> None:
        self._client, self._stream, self._consumer = client, stream, consumer
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self.inbox: Any = None
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        # The consumer is gone, or the server did not say that there is no more: make another one.
        self.is_lost = False

    @classmethod
    async def after(cls, client: Any, stream: str, seq: int, subject: str | None) -> Pull:
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=seq + 1,
            ack_policy=api.AckPolicy.NONE, inactive_threshold=IDLE, filter_subject=subject,
        )  # fmt: skip
        made = await client.jetstream(timeout=ANSWER).add_consumer(stream, config)
        pull = cls(client, stream, made.name)
        # No limit here: the client would drop messages past it. The size of a request is the limit.
        pull.inbox = await client.subscribe(
            client.new_inbox(), cb=pull._heard.put, pending_msgs_limit=0, pending_bytes_limit=0
        )
        return pull

    async def fetch(self, most: int, seconds: float) -> list[Any]:
        found = await self._ask({"batch": most, "no_wait": True}, SILENCE)
        if not found and seconds and not self.is_lost:
            request = {"batch": 1, "expires": int(seconds * 1e9)}
            found = await self._ask(request, seconds + SILENCE)
        return found

    async def _ask(self, request: dict[str, Any], seconds: float) -> list[Any]:
        found: list[Any] = []
        headers: dict[str, str] = {}
        await self._client.publish(self._next, json.dumps(request).encode(), self.inbox.subject)
        try:
            async with asyncio.timeout(seconds):
                while len(found) < request["batch"] and not headers:
                    message = await self._heard.get()
                    if message.reply:  # a message of the stream, whatever its headers say
                        found.append(message)
                    elif (about := message.headers or {}).get(api.Header.STATUS) != HEARTBEAT:
                        headers = about
        except TimeoutError:
            if not found:
                await self._explain_silence()
            # The rest may still arrive: a new inbox will not get it.
            self.is_lost = True
        else:
            status = headers.get(api.Header.STATUS)
            self.is_lost = status == "409"  # the consumer was deleted, or moves to another server
            # 404: no messages; 408: no more messages, or none in time
            if status not in (None, "404", "408", "409"):
                reason = headers.get(api.Header.DESCRIPTION) or "no reason given"
                raise nats.errors.Error(f"status {status}: {reason}")
        return found

    async def _explain_silence(self) -> None:
        """Raise the reason for silence, unless the consumer was deleted."""
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

    Options: ``subject=`` reads one subject only; ``start=end`` begins with messages that arrive
    from now on; ``on_loss=skip`` goes on if messages were removed before they were read.
    """

    knows_end = True  # the server itself said that there is nothing

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["subject", "start", "on_loss"])
        self._server = NatsServer(address)
        self.name, self.fields = self._server.name, fields
        self._subject = address.options.get("subject")
        self._begins_at_end, self._skips = address.begins_at_end, address.skips_losses
        self._decoder = Decoder(self.name, fields)
        self._pull: Pull | None = None
        self._lag: int | None = None
        self._is_beginning = False
        self._seq, self._digest = 0, ""

    def open(self, position: Position, caller: Caller) -> None:
        self._pull = None
        self._is_beginning = position is None and self._begins_at_end
        at = position or {"seq": 0, "digest": ""}
        self._seq, self._digest = at["seq"], at["digest"]
        self._server.run(self._look(position))

    async def _look(self, position: Position) -> None:
        state = (await self._server.stream()).state
        if position is None:
            self._seq = state.last_seq if self._begins_at_end else max(0, state.first_seq - 1)
            return
        if state.last_seq < self._seq:
            raise protocol.set_back(self.name, self._seq, state.last_seq)
        if self._digest and state.first_seq <= self._seq:
            with suppress(errors.NotFoundError):  # deleted by itself
                jetstream = await self._server.jetstream()
                message = await jetstream.get_msg(self._server.path, self._seq)
                if _digest(message.data) != self._digest:
                    now = f"another message {self._seq}"
                    raise protocol.set_back(self.name, self._seq, now)
        self._accept(int(state.first_seq) - self._seq - 1)

    def _accept(self, gone: int) -> None:
        if gone > 0 and not self._skips:
            raise protocol.lost(self.name, gone)

    def read(self, most: int, seconds: float) -> Chunk | None:
        if self._is_beginning:
            self._is_beginning = False
            return Chunk(Batch.empty(), self._position())
        try:
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
        self.knows_end = not pull.is_lost
        if pull.is_lost:
            self._pull = None
            await pull.inbox.unsubscribe()
        if not messages:
            return None
        numbers = [message.metadata.sequence.stream for message in messages]
        letters = await self._letters(numbers)
        self._seq, self._digest = numbers[-1], _digest(messages[-1].data)
        self._lag = messages[-1].metadata.num_pending
        values = [message.data for message in messages]
        return self._decoder.chunk(values, numbers, self._position(), lost=letters)

    async def _letters(self, numbers: Sequence[int]) -> list[Poison]:
        """Report messages that were removed before others; single deletions do not count."""
        if numbers[-1] - self._seq == len(numbers):
            return []
        first = (await self._server.stream()).state.first_seq
        pairs = pairwise([self._seq, *numbers])
        gone = {before: min(first, after) - before - 1 for before, after in pairs}
        gone = {before: count for before, count in gone.items() if count > 0}
        self._accept(sum(gone.values()))
        return [protocol.lost_letter(self.name, before, count) for before, count in gone.items()]

    def _position(self) -> Position:
        return {"seq": self._seq, "digest": self._digest}

    def lag(self) -> int | None:
        return self._lag

    def close(self) -> None:
        self._pull = None
        self._server.close()

    def identity(self) -> str | None:
        time = self._server.run(self._server.stream()).created
        return None if time is None else f"nats:{self._server.path}:{time.isoformat()}"


class NatsSink(Sink):
    """Publishes outputs to the subject of a stream."""

    def __init__(self, address: Address) -> None:
        address.check_options([])
        self._server = NatsServer(address)
        self.name = self._server.name
        self._caller = Caller("")
        self._written = 0
        self._room: int | None = None

    def open(self, position: Position, caller: Caller) -> None:
        self._caller = caller
        self._written = 0 if position is None else position["written"]
        self._room = self._server.run(self._look())

    async def _look(self) -> int:
        client = await self._server.client()
        most = int(client.max_payload)
        with suppress(nats.errors.TimeoutError):  # asking may be forbidden
            jetstream = client.jetstream(timeout=ANSWER / 4)
            stream = await jetstream.find_stream_name_by_subject(self._server.path)
            own = (await jetstream.stream_info(stream)).config.max_msg_size
            if own is not None and own > 0:
                most = min(most, own)
        return most - HEADERS

    def room(self) -> int | None:
        return self._room

    def write(self, outputs: Sequence[Output]) -> None:
        largest = max(outputs, key=lambda output: len(output.value))
        if self._room is not None and len(largest.value) > self._room:
            # The server would close the connection.
            raise StreamError(
                f"{self.name}: the output of document {str(largest.id)[:80]!r} has "
                f"{len(largest.value):,} bytes, and the limit is {self._room:,}; raise max_payload "
                f"of the server and max_msg_size of the stream, or leave out --include-text"
            )
        number = self._written
        for some in protocol.portions(outputs, IN_FLIGHT, IN_FLIGHT_BYTES):
            self._server.run(self._publish(some, number))
            number += len(some)
        self._written = number

    async def _publish(self, outputs: Sequence[Output], first: int) -> None:
        # After a crash a run writes the same outputs in the same order, so their numbers identify
        # them; ids of documents may repeat. The subject is part of it because a stream may keep
        # several, and the content because two streams read at once may interleave differently.
        publish, subject = (await self._server.jetstream()).publish, self._server.path
        sent = []
        for number, output in enumerate(outputs, first):
            what = f"{subject}\0{number}\0{output.id}\0".encode()
            own = f"{self._caller.id}/{_digest(what + output.value)}"
            sent.append(publish(subject, output.value, headers={"Nats-Msg-Id": own}))
        await asyncio.gather(*sent)

    def flush(self) -> Position:
        return {"written": self._written}

    def close(self) -> None:
        self._server.close()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=12).hexdigest()
