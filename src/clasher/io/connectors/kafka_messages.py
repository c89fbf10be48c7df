"""What a message says: JSON, or what a decoder of the user's own makes of it.

A field named ``kafka.key``, ``kafka.headers.NAME``, ``kafka.timestamp``, ``kafka.partition`` or
``kafka.offset`` is not of the value but of the message: ``--id kafka.key``; ``kafka.value`` is the
value itself, for messages that are plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Message

from clasher.io.decoding import Decoder, Value
from clasher.io.jsonl import decode_object
from clasher.io.judging import FaultError, invalid_utf8
from clasher.io.records import Fields
from clasher.io.streams import Chunk, Poison, Position

ABOUT: Final = "kafka"
VALUE: Final = "kafka.value"


class Messages:
    """Makes chunks of messages.

    Parameters
    ----------
    source
        The name of the stream, for dead letters.
    fields
        Which fields of a record hold what.
    decode
        Makes an object of the bytes of a value; None: they are JSON.
    """

    def __init__(
        self, source: str, fields: Fields, decode: Callable[[bytes], Any] | None = None
    ) -> None:
        self._decoder = Decoder(source, fields)
        self._decode = decode
        wanted = [fields.text or "", fields.labels, fields.id or ""]
        self._looks_at_message = any(name.startswith(f"{ABOUT}.") for name in wanted)
        self._is_text = VALUE in wanted

    def chunk(
        self, messages: Sequence[Message], position: Position, lost: Sequence[Poison] = ()
    ) -> Chunk:
        """Decode messages; those that are ``lost`` go to the dead letters."""
        values: list[Value] = [self._value(message) for message in messages]
        places = [place(message) for message in messages]
        chunk = self._decoder.chunk(values, places, position)
        if not chunk.poison and not lost:
            return chunk
        raw = dict(zip(places, messages, strict=True))  # what came, not what was made of it
        poison = [one._replace(raw=raw[str(one.place)].value()) for one in chunk.poison]
        return Chunk(chunk.records, position, [*lost, *poison])

    def _value(self, message: Message) -> Value:
        raw = message.value()
        if raw is None:
            return FaultError("it has no value: it deletes what has its key")
        if self._decode is None and not self._looks_at_message:
            return raw
        try:
            return self._object(raw, message)
        except FaultError as fault:
            return fault

    def _object(self, raw: bytes, message: Message) -> Mapping[str, Any]:
        found: Any = {}
        if self._decode is not None:
            found = self._decoded(raw)
        elif not self._is_text:
            found = decode_object(raw)
        if self._looks_at_message:
            found = {**found, ABOUT: self._about(raw, message)}
        return found  # type: ignore[no-any-return]

    def _decoded(self, raw: bytes) -> Mapping[str, Any]:
        assert self._decode is not None
        try:
            found = self._decode(raw)
        except Exception as error:  # a decoder may raise whatever it likes
            raise FaultError(f"the decoder: {type(error).__name__}: {error}") from error
        if not isinstance(found, Mapping):
            raise FaultError(f"the decoder made a {type(found).__name__} of it, not a mapping")
        return found

    def _about(self, raw: bytes, message: Message) -> Mapping[str, Any]:
        key = message.key()
        headers: Any = message.headers() or []
        about: dict[str, Any] = {
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": message.timestamp()[1],
            "headers": {name: _text(value) for name, value in headers},
            "key": _text(key),
        }
        return about | ({"value": _whole_text(raw)} if self._is_text else {})


def place(message: Message) -> str:
    """Where a message stands, which is the id of a record that has none."""
    return f"{message.partition()}:{message.offset()}"


def _text(raw: bytes | str | None) -> str | None:
    """What is said beside the value: any bytes can be had as text, the same ones as the same."""
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw


def _whole_text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise invalid_utf8(raw) from None
