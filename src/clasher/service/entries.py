"""What the log holds: everything that was said, complete, so that it can be done again."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct

from clasher.service.structs import Action, Labels


class Taught(Struct, array_like=True, frozen=True):
    """A document of a learn call; without labels its words are counted only."""

    text: str
    labels: Labels = None
    id: str | None = None


class Learn(Struct, tag="learn", frozen=True):
    """Documents that came with their labels."""

    documents: list[Taught]


class Feedback(Struct, tag="feedback", frozen=True, kw_only=True, omit_defaults=True):
    """Labels for a document that was predicted: ``after`` in place of ``before``.

    ``before`` is what people had said of it, None where nobody had; ``after`` None takes that back.
    ``is_judged`` says whether the prediction counts in the quality: one that was picked for being
    uncertain does not. ``version`` is of the model that predicted, ``undoes`` of what is undone.
    """

    id: str
    text: str
    predicted: list[str]
    before: Labels = None
    after: Labels = None
    is_judged: bool = True
    version: int = 0
    undoes: int | None = None


class Relabel(Struct, tag="label", frozen=True, kw_only=True, omit_defaults=True):
    """Something is done to a label; ``into`` is its new name, or the label it becomes one with."""

    action: Action
    label: str
    into: str | None = None


class Replace(Struct, tag="model", frozen=True):
    """Another model in place of this one; its file is named by its digest."""

    digest: str


Body: TypeAlias = Learn | Feedback | Relabel | Replace


class Entry(Struct, frozen=True):
    """An entry of the log: its number, when, who, and what was said."""

    seq: int
    at: float
    who: str
    body: Body


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Body)


def encode(body: Body) -> bytes:
    """The bytes of what was said."""
    return _encoder.encode(body)


def decode(raw: bytes) -> Body:
    """What was said, from its bytes.

    >>> decode(encode(Relabel(action="retire", label="obsolete"))).label
    'obsolete'
    """
    body: Body = _decoder.decode(raw)
    return body
